"""Ctrl-C while the command line is starting, most of which is the import of large packages."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130


@contextmanager
def ending_at_once() -> Iterator[None]:
    """End the process on Ctrl-C inside the block, which does nothing but import.

    An exception would not do: packages that are half imported turn it into others. Where Ctrl-C is ignored, as by
    nohup, it stays so.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
