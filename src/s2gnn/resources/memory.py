"""The time that a function takes, and the memory of this machine and its processes in bytes."""

import ctypes
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path

from s2gnn.errors import InputError

_OWN = Path("/proc/self/status")


def least_seconds(run: Callable[[], object], most: int = 10, patience: float = 1.0) -> float:
    """The minimum seconds of `run` over at most `most` runs, none of which starts after `patience` seconds."""
    taken: list[float] = []
    while not taken or (len(taken) < most and sum(taken) < patience):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def available_bytes() -> int:
    """The memory that a program can allocate without swapping, as the system estimates it; Linux only."""
    return _field(Path("/proc/meminfo"), "MemAvailable:")


def resident_bytes() -> int:
    """The resident memory of this process now; Linux only."""
    return _field(_OWN, "VmRSS:")


def settled_bytes() -> int:
    """The resident memory of this process after freed blocks are returned to the system; Linux only."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return resident_bytes()


def peak_bytes() -> int:
    """The peak resident memory of this process, since the last `forget_peak` if there was one.

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


def resident_bytes_of(pid: int) -> int:
    """The resident memory of another process now, 0 if it has ended; Linux only."""
    try:
        return _field(Path(f"/proc/{pid}/status"), "VmRSS:")
    except (InputError, ProcessLookupError):
        resident_bytes()  # raises on systems without such files
        return 0


def _field(path: Path, field: str) -> int:
    """A field of a file in /proc, in bytes; 0 where it is missing, as for a process that has just ended."""
    if not path.is_file():
        raise InputError(f"memory is measured with {path}, which {sys.platform} does not have: use Linux for this")
    line = next((line for line in path.read_text().splitlines() if line.startswith(field)), f"{field} 0 kB")
    return 1024 * int(line.split()[1])
