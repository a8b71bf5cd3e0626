"""Measure the time and memory of computations, and run computations in a separate process."""

import ctypes
import gc
import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from s2gnn.errors import InputError
from s2gnn.processes import StartMethod, end_with_parent, how_it_ended, start_process

T = TypeVar("T")
_LOOK = 0.05  # seconds between two checks of the memory of a process
_OWN = Path("/proc/self/status")


def least_seconds(run: Callable[[], object], most: int = 10, patience: float = 1.0) -> float:
    """Return the fastest of at most `most` runs in seconds; none starts after `patience` seconds."""
    taken: list[float] = []
    while not taken or (len(taken) < most and sum(taken) < patience):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def available_bytes() -> int:
    """Return the memory that a program can allocate without swapping, as the system estimates it; Linux only."""
    return _field(Path("/proc/meminfo"), "MemAvailable:")


def resident_bytes() -> int:
    """Return the resident memory of this process now; Linux only."""
    return _field(_OWN, "VmRSS:")


def settled_bytes() -> int:
    """Return the resident memory of this process after freed blocks are returned to the system; Linux only."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return resident_bytes()


def peak_bytes() -> int:
    """Return the peak resident memory of this process, since the last `forget_peak` if there was one.

    On Linux `ru_maxrss` is inherited from the parent process, so the high-water mark of /proc is preferred.
    """
    if _OWN.is_file() or sys.platform == "win32":
        return _field(_OWN, "VmHWM:")
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def forget_peak() -> None:
    """Reset `peak_bytes` to the current memory of this process; Linux only."""
    path = Path("/proc/self/clear_refs")
    try:
        path.write_text("5")
    except OSError as error:
        raise InputError(
            f"peak memory is measured with {path}, which cannot be written here ({error.strerror}): use Linux for this"
        ) from error


def _resident_bytes_of(pid: int) -> int:
    """Return the resident memory of another process now, 0 if it has ended; Linux only."""
    try:
        return _field(Path(f"/proc/{pid}/status"), "VmRSS:")
    except (InputError, ProcessLookupError):
        resident_bytes()  # raises on systems without such files
        return 0


def _field(path: Path, field: str) -> int:
    """Return a field of a file in /proc, in bytes; 0 where it is missing, as for a process that has just ended."""
    if not path.is_file():
        raise InputError(f"memory is measured with {path}, which {sys.platform} does not have: use Linux for this")
    line = next((line for line in path.read_text().splitlines() if line.startswith(field)), f"{field} 0 kB")
    return 1024 * int(line.split()[1])


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
    """Return the result of `task(*arguments)` in a separate process, which is killed on Ctrl-C and on any error here.

    Args:
        task: a function of a module.
        *arguments: picklable, as is the result.
        limits: the process is killed when it exceeds them; default: none.
        preloaded: if possible, fork an interpreter that has imported these modules instead of starting a new one, which
            takes seconds; the first call decides which modules.

    Raises:
        LimitError: at a limit.
        DeadProcessError: if the process was killed, for example out of memory.
        Exception: raised by the task.
    """
    method: StartMethod = "spawn"
    if preloaded and sys.platform != "win32":
        multiprocessing.get_context("forkserver").set_forkserver_preload(list(preloaded))
        method = "forkserver"
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = start_process(_run, there, task, arguments, method=method)
    there.close()
    try:
        result: T
        result, error = _outcome(process, here, limits or Limits())
    finally:
        process.kill()
        process.join()
        here.close()
    if error is not None:
        raise error
    return result


def _outcome(process: BaseProcess, connection: Connection, limits: Limits) -> Any:
    end = None if limits.seconds is None else time.monotonic() + limits.seconds
    look = None if end is None and limits.resident is None else _LOOK
    while not wait([connection], look):
        if end is not None and time.monotonic() > end:
            raise LimitError(f"more than {limits.seconds:g} s")
        if limits.resident is not None and _resident_bytes_of(process.pid or 0) > limits.resident:
            raise LimitError(f"more than {limits.resident / 2**30:.3g} GiB")
    try:
        return connection.recv()
    except EOFError:
        raise DeadProcessError(f"the process of the measurement {how_it_ended(process, 'measure less')}") from None


def _run(connection: Connection, task: Callable[..., object], arguments: tuple[object, ...]) -> None:
    end_with_parent()
    gc.freeze()  # imported objects are not garbage; scanning them would take longer than a small measurement
    try:
        connection.send((task(*arguments), None))
    except Exception as error:  # noqa: BLE001  the parent raises it
        connection.send((None, error))
