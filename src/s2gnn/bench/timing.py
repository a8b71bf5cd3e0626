"""Time alternatives in interleaved rounds, and measure the rates of the machine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.benchmark import Timer

from s2gnn.resources import available_bytes

MIN_RUN_TIME = 0.05  # seconds of one way in one round


@dataclass(frozen=True)
class Way:
    """One alternative.

    Attributes:
        needs: estimated memory in bytes.
        make: function that prepares it and returns the function to time; raises `ImportError` if its library is not
            installed.
    """

    needs: int
    make: Callable[[], Callable[[], object]]


def race(ways: Mapping[str, Way], rounds: int) -> dict[str, dict[str, Any]]:
    """Time every alternative that is installed and fits into the remaining memory.

    Returns:
        For each alternative the minimum `milliseconds` over all rounds, or `None` and the reason `not_run` ("memory" or
        "not installed"); and its memory `needs` in bytes.
    """
    refused: dict[str, str] = {}
    runs: dict[str, Callable[[], object]] = {}
    for name, way in ways.items():
        if way.needs > available_bytes():
            refused[name] = "memory"
            continue
        try:
            runs[name] = way.make()
        except ImportError:
            refused[name] = "not installed"
    best = fastest(runs, rounds)
    return {
        name: {
            "milliseconds": 1e3 * best[name] if name in best else None,
            "needs": way.needs,
            "not_run": refused.get(name),
        }
        for name, way in ways.items()
    }


def fastest(ways: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the minimum seconds of each alternative over interleaved rounds.

    In each round an alternative first runs once untimed, so that caches and allocator are in the same state as between
    epochs. Fast alternatives are timed in several blocks of runs, by the mean of a block.
    """
    threads = torch.get_num_threads()
    timers = {name: Timer("run()", globals={"run": run}, num_threads=threads) for name, run in ways.items()}
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, timer in timers.items():
            best[name] = min(best[name], *timer.blocked_autorange(min_run_time=MIN_RUN_TIME).times)
    return best


def measure_machine(
    floats: int = 2**26, order: int = 2048, rounds: int = 5, device: torch.device | str = "cpu"
) -> dict[str, float]:
    """Measure the memory bandwidth and matrix-product rate of a device; on the CPU with torch's threads.

    Args:
        floats: length of the float32 arrays, which must be much larger than the caches.
        order: order of the square float32 matrices.
        rounds: number of rounds; the fastest one is reported.
        device: the device to measure.

    Returns:
        bandwidth: bytes per second of the faster of a copy and a triad a = b + 3c, counting every array once.
        gemm: floating-point operations per second of a matrix product.
    """
    a, b, c = (torch.ones(floats, device=device) for _ in range(3))
    left, right = (torch.randn(order, order, device=device) for _ in range(2))
    ways: dict[str, Callable[[], object]] = {
        "copy": lambda: a.copy_(b),
        "triad": lambda: torch.add(b, c, alpha=3, out=a),
        "gemm": lambda: torch.mm(left, right),
    }
    seconds = fastest(ways, rounds)
    bandwidth = 4 * floats * max(2 / seconds["copy"], 3 / seconds["triad"])
    return {"bandwidth": bandwidth, "gemm": 2 * order**3 / seconds["gemm"]}
