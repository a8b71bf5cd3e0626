"""Time several ways to do one thing in one run: alternating, the minimum of several repetitions."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """One way to do the thing.

    Attributes:
        needs: bytes of memory that it takes, made and running.
        make: prepares it and gives the function to time; an ImportError says that its library is not installed.
    """

    needs: int
    make: Callable[[], Callable[[], object]]


@dataclass(frozen=True)
class Outcome:
    """How a way fared.

    Attributes:
        milliseconds: the least that it took; `None` if it was not run.
        needs: bytes of memory that it takes, by estimate.
        not_run: why it was not run, "memory" or "not installed".
    """

    milliseconds: float | None
    needs: int
    not_run: str | None = None

    @property
    def text(self) -> str:
        """The time, or why there is none."""
        return f"not run ({self.not_run})" if self.milliseconds is None else f"{self.milliseconds:.2f} ms"


def race(ways: Mapping[str, Way], repetitions: int, available: Callable[[], int]) -> dict[str, Outcome]:
    """Time every way that is installed and fits into the memory there is when its turn to be made comes.

    Args:
        ways: by name, the most important first: the later ones find what memory the earlier ones left.
        repetitions: turns of each.
        available: gives the free bytes.
    """
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
    best = fastest(runs, repetitions)
    return {
        name: Outcome(1e3 * best[name] if name in best else None, way.needs, refused.get(name))
        for name, way in ways.items()
    }


def fastest(ways: Mapping[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """The least seconds that each way took, after one run to warm up; the ways take turns of two runs.

    The second run of a turn finds the caches and the allocator as the way itself leaves them, which is how epochs
    follow each other, and not as another way did.
    """
    for run in ways.values():
        run()
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(turns):
        for name, run in ways.items():
            for _ in range(2):
                start = time.perf_counter()
                run()
                best[name] = min(best[name], time.perf_counter() - start)
    return best
