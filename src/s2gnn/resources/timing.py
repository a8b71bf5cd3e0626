"""How long something takes: the least of several runs, of as many as there is patience for."""

import time
from collections.abc import Callable


def least_seconds(run: Callable[[], object], most: int = 10, patience: float = 1.0) -> float:
    """The least time that `run` took, of at most `most` runs and none after `patience` seconds; at least of one."""
    taken: list[float] = []
    while not taken or (len(taken) < most and sum(taken) < patience):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)
