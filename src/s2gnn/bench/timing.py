"""Time several ways to do one thing in one run, in interleaved rounds, and the rates of the machine they ran on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch.utils.benchmark import Timer

MIN_RUN_TIME = 0.05  # seconds of one way in one round


@dataclass(frozen=True)
class Way:
    """One way to do the thing.

    Attributes:
        needs: estimated bytes of memory.
        make: prepares it and returns the function to time; raises `ImportError` if its library is not installed.
    """

    needs: int
    make: Callable[[], Callable[[], object]]


@dataclass(frozen=True)
class Outcome:
    """The time of one way.

    Attributes:
        milliseconds: the minimum over all rounds; `None` if it was not run.
        needs: estimated bytes of memory.
        not_run: why it was not run, "memory" or "not installed".
    """

    milliseconds: float | None
    needs: int
    not_run: str | None = None

    def __str__(self) -> str:
        return f"not run ({self.not_run})" if self.milliseconds is None else f"{self.milliseconds:.2f} ms"


def race(ways: Mapping[str, Way], rounds: int, available: Callable[[], int]) -> dict[str, Outcome]:
    """Time every way that is installed and fits into the `available()` bytes left by the ways before it."""
    refused: dict[str, str] = {}
    runs: dict[str, Callable[[], object]] = {}
    for name, way in ways.items():
        if way.needs > available():
            refused[name] = "memory"
            continue
        try:
            runs[name] = way.make()
        except ImportError:
            refused[name] = "not installed"
    best = fastest(runs, rounds)
    return {
        name: Outcome(1e3 * best[name] if name in best else None, way.needs, refused.get(name))
        for name, way in ways.items()
    }


def fastest(ways: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The minimum seconds of each way over `rounds` in which the ways alternate.

    In each round a way first runs untimed, so that it finds the caches and the allocator as it leaves them itself,
    which is how epochs follow each other. Fast ways run in several blocks of runs, and the mean of a block counts.
    """
    threads = torch.get_num_threads()
    timers = {name: Timer("run()", globals={"run": run}, num_threads=threads) for name, run in ways.items()}
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, timer in timers.items():
            best[name] = min(best[name], *timer.blocked_autorange(min_run_time=MIN_RUN_TIME).times)
    return best


@dataclass(frozen=True)
class Machine:
    """Rates with the threads that torch uses.

    Attributes:
        bandwidth: bytes per second of the faster of a copy and a triad a = b + 3c, counting every array once.
        gemm: floating-point operations per second of a large square float32 matrix product.
    """

    bandwidth: float
    gemm: float


def measure_machine(floats: int = 2**26, order: int = 2048, rounds: int = 5) -> Machine:
    """Measure on arrays of `floats` float32, which must be far larger than the caches, and matrices of `order`."""
    a, b, c = (torch.ones(floats) for _ in range(3))
    left, right = torch.randn(order, order), torch.randn(order, order)
    ways: dict[str, Callable[[], object]] = {
        "copy": lambda: a.copy_(b),
        "triad": lambda: torch.add(b, c, alpha=3, out=a),
        "gemm": lambda: torch.mm(left, right),
    }
    seconds = fastest(ways, rounds)
    array = 4 * floats
    return Machine(max(2 * array / seconds["copy"], 3 * array / seconds["triad"]), 2 * order**3 / seconds["gemm"])
