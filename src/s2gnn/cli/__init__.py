"""The command line: `s2gnn COMMAND`."""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from s2gnn.errors import InputError, LostProcessError, NonFiniteLossError, SeedError

FAILED = 1
BAD_INPUT = 2
DEFECT = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130


def main() -> None:
    """Run the command line.

    Every error and Ctrl-C print one sentence. The exit code is 2 for bad input, 70 for an unexpected error, 130 for
    Ctrl-C and 1 for any other failure. With --debug, anywhere on the command line, the traceback is printed first.
    """
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        with _warnings_in_a_line():
            with ending_at_once():
                from s2gnn.cli.commands import command
            try:
                command(arguments)
            finally:
                _flush_output()
    except KeyboardInterrupt:
        print("s2gnn: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001  the last resort
        if len(arguments) < len(sys.argv) - 1:
            traceback.print_exc()
        code, text = _outcome(error)
        print(f"s2gnn: {_one_line(text)}", file=sys.stderr)
        sys.exit(code)


def _outcome(error: Exception) -> tuple[int, str]:
    """Return the exit code and the message of an error."""
    if isinstance(error, InputError):
        return BAD_INPUT, str(error)
    if isinstance(error, OSError | SeedError | LostProcessError | NonFiniteLossError):
        return FAILED, str(error)
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):  # torch raises a RuntimeError
        return FAILED, f"not enough memory ({str(error) or 'an allocation failed'}): use less data or a smaller network"
    first = (str(error).splitlines() or [""])[0]
    return DEFECT, (
        f"this is a defect of s2gnn ({type(error).__name__}: {first}): please report it with the command and the "
        "traceback, which --debug prints"
    )


def _one_line(text: str) -> str:
    """Remove line breaks and control characters, which names and values in a file may contain."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Print each warning once, as one line on standard error."""
    printed: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = _one_line(str(message))
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

    An exception is not enough: half-imported packages replace it with other exceptions. Where Ctrl-C is ignored,
    for example under nohup, it stays ignored.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:
        yield
        return

    def end(*_: Any) -> None:
        os.write(2, b"s2gnn: interrupted\n")
        os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
