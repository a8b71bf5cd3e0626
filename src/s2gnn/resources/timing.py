"""The minimum time of several runs."""

import time
from collections.abc import Callable


def least_seconds(run: Callable[[], object], most: int = 10, patience: float = 1.0) -> float:
    """The minimum seconds of `run` over at most `most` runs, none of which starts after `patience` seconds."""
    taken: list[float] = []
    while not taken or (len(taken) < most and sum(taken) < patience):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)
