"""What this machine can do: memory bandwidth, dense arithmetic."""

from dataclasses import dataclass

import torch

from s2gnn.bench.timing import fastest


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
