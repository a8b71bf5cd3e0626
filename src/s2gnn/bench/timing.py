"""Time several ways to do one thing in one run: alternating, the minimum of several repetitions."""

import time
from collections.abc import Callable, Mapping


def fastest(ways: Mapping[str, Callable[[], object]], repetitions: int) -> dict[str, float]:
    """The least seconds that each way took, after one run to warm up; the ways take turns."""
    for run in ways.values():
        run()
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(repetitions):
        for name, run in ways.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best
