"""Run a measurement in a separate process, whose memory is its own, and end it at a limit."""

import gc
import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from s2gnn.processes import StartMethod, end_with_parent, how_it_ended, start_process
from s2gnn.resources.memory import resident_bytes_of

T = TypeVar("T")
_LOOK = 0.05  # seconds between two checks of the memory of a process


class LimitError(Exception):
    """A process was ended because it exceeded a limit."""


class DeadProcessError(RuntimeError):
    """A process ended without a result."""


@dataclass(frozen=True)
class Limits:
    """Limits of a process: seconds, and bytes of resident memory (Linux only); `None` for no limit."""

    seconds: float | None = None
    resident: int | None = None


def in_own_process(
    task: Callable[..., T], *arguments: object, limits: Limits | None = None, preloaded: Sequence[str] = ()
) -> T:
    """The result of `task(*arguments)` in a separate process, which Ctrl-C and any error here end.

    Args:
        task: a function of a module.
        *arguments: picklable, as is the result.
        limits: beyond which the process is ended; default: none.
        preloaded: if possible, fork an interpreter that has imported these modules instead of starting a new one, which
            takes seconds; the first call decides which modules.

    Raises:
        LimitError: at a limit.
        DeadProcessError: if the process was killed, for example out of memory.
        Exception: what the task raised.
    """
    method: StartMethod = "spawn"
    if preloaded and sys.platform != "win32":
        multiprocessing.get_context("forkserver").set_forkserver_preload(list(preloaded))
        method = "forkserver"
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = start_process(_run, there, task, arguments, method=method)
    there.close()
    try:
        result, error = _outcome(process, here, limits or Limits())
    finally:
        process.kill()
        process.join()
        here.close()
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]


def _outcome(process: BaseProcess, connection: Connection, limits: Limits) -> Any:
    end = None if limits.seconds is None else time.monotonic() + limits.seconds
    look = None if end is None and limits.resident is None else _LOOK
    while not wait([connection], look):
        if end is not None and time.monotonic() > end:
            raise LimitError(f"more than {limits.seconds:g} s")
        if limits.resident is not None and resident_bytes_of(process.pid or 0) > limits.resident:
            raise LimitError(f"more than {limits.resident / 2**30:.3g} GiB")
    try:
        return connection.recv()
    except EOFError:
        raise DeadProcessError(f"the process of the measurement {how_it_ended(process, 'measure less')}") from None


def _run(connection: Connection, task: Callable[..., object], arguments: tuple[object, ...]) -> None:
    end_with_parent()
    gc.freeze()  # imported objects are no garbage; scanning them would take longer than a small measurement
    try:
        connection.send((task(*arguments), None))
    except Exception as error:  # noqa: BLE001  the parent raises it
        connection.send((None, error))
