"""Ctrl-C while the command line starts, which is mostly the import of large packages."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130


@contextmanager
def ending_at_once() -> Iterator[None]:
    """End the process on Ctrl-C inside the block, which only imports.

    An exception is not enough: half-imported packages replace it by others. Where Ctrl-C is ignored, for example under
    nohup, it stays ignored.
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
