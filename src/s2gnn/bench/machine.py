"""What this machine can do: free memory, memory bandwidth, dense arithmetic."""

import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from s2gnn.bench.timing import fastest
from s2gnn.errors import InputError


@dataclass(frozen=True)
class Machine:
    """Rates measured in the same run as the benchmark, with the threads that torch uses.

    Attributes:
        bandwidth: bytes a second of the better of a copy and a triad a = b + 3c, every array counted once.
        gemm: floating-point operations a second of a square float32 matrix product.
    """

    bandwidth: float
    gemm: float


def measure_machine(floats: int = 2**26, order: int = 2048, repetitions: int = 5) -> Machine:
    """Measure the rates on arrays of `floats` float32 and matrices of `order`.

    The arrays must be far larger than the caches: 2^26 floats are 256 MiB each.
    """
    a, b, c = (torch.ones(floats) for _ in range(3))
    left, right = torch.randn(order, order), torch.randn(order, order)
    ways = {
        "copy": lambda: a.copy_(b),
        "triad": lambda: torch.add(b, c, alpha=3, out=a),
        "gemm": lambda: torch.mm(left, right),
    }
    seconds = fastest(ways, repetitions)
    array = 4 * floats
    return Machine(max(2 * array / seconds["copy"], 3 * array / seconds["triad"]), 2 * order**3 / seconds["gemm"])


def available_bytes() -> int:
    """The memory that a program may still take without swapping, as the system estimates it; Linux only."""
    return _kilobytes(Path("/proc/meminfo"), "MemAvailable:")


def resident_bytes() -> int:
    """The resident memory of this process now; Linux only."""
    return _kilobytes(Path("/proc/self/status"), "VmRSS:")


def peak_bytes() -> int:
    """The largest resident memory that this process has had.

    Linux hands `ru_maxrss` on from the process that started this one, so the high-water mark of /proc comes first.
    """
    status = Path("/proc/self/status")
    if status.is_file() or sys.platform == "win32":
        return _kilobytes(status, "VmHWM:")
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _kilobytes(path: Path, field: str) -> int:
    if not path.is_file():
        raise InputError(f"memory is measured with {path}, which {sys.platform} does not have: use Linux for this")
    line = next(line for line in path.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])
