"""Run a measurement in a process of its own, so that its memory is its own."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def in_own_process(task: Callable[..., T], *arguments: object) -> T:
    """What `task(*arguments)` returns in a fresh interpreter; the task is a function of a module.

    Raises:
        BrokenProcessPool: if the process was killed, for instance for want of memory.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(task, *arguments).result()
