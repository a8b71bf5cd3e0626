"""The command line: `s2gnn COMMAND`."""

import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from s2gnn.errors import InputError, LostProcessError, NonFiniteLossError, SeedError

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130


def main() -> None:
    """Run the command line.

    Bad input ends with one sentence and exit code 2, another failure with 1, Ctrl-C with 130 at any time.
    """
    try:
        with _warnings_in_a_line():
            with ending_at_once():
                from s2gnn.cli.commands import command
            try:
                command()
            finally:
                _flush_output()
    except InputError as error:
        print(f"s2gnn: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except (OSError, SeedError, LostProcessError, NonFiniteLossError) as error:
        print(f"s2gnn: {error}", file=sys.stderr)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Print a warning as one line of standard error, and each text once."""
    printed: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in printed:
            printed.add(text)
            print(f"warning: {text}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _flush_output() -> None:
    """Write what is left in the buffer of standard output; if that fails, drop it, or exiting would fail again."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


@contextmanager
def ending_at_once() -> Iterator[None]:
    """End the process on Ctrl-C inside the block, which only imports large packages.

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
