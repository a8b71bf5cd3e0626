"""Work off tasks in spawned processes that end with Ctrl-C, with this process, and with the first failure."""

import multiprocessing
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

import torch

from s2gnn.errors import SeedError
from s2gnn.operators import kernel
from s2gnn.processes import end_with_parent, how_it_ended, start_process

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


@dataclass(frozen=True, eq=False)
class _Worker:
    """A process that works off one task after the other, and this end of the pipe to it."""

    process: BaseProcess
    connection: Connection


@dataclass(frozen=True)
class _Failure:
    """What a process sends in place of an outcome."""

    text: str


def in_processes(
    work: Callable[[Task], Outcome],
    tasks: Iterator[Task],
    jobs: int,
    threads: int,
    *,
    title: Callable[[Task], str],
) -> Generator[Outcome, None, None]:
    """Yield `work(task)` for every task, in the order of finishing.

    Args:
        work: something that can be pickled; every process gets it once.
        tasks: the next one is asked for when a process is free.
        jobs: number of processes.
        threads: that each computes with.
        title: what an error calls a task, such as "the run with seed 7".

    Raises:
        SeedError: when a task fails or its process is killed; the text names it. The others are stopped.
    """
    workers: list[_Worker] = []
    busy: dict[Connection, tuple[_Worker, Task]] = {}
    try:
        while True:
            while len(busy) < jobs and (task := next(tasks, None)) is not None:
                idle = [worker for worker in workers if worker.connection not in busy]
                if not idle:
                    workers.append(_start_worker(work, title, threads))
                    idle = workers[-1:]
                busy[idle[0].connection] = idle[0], task
                _send(idle[0], task, title(task))
            if not busy:
                return
            ready = wait(list(busy))[0]
            worker, task = busy.pop(ready)  # type: ignore[call-overload]
            yield _received(worker, title(task))
    finally:
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.process.join()
            worker.connection.close()


def failure(title: str, error: Exception) -> str:
    """The text of the error when a task fails."""
    return f"{title} failed: {type(error).__name__}: {error}"


def _start_worker(work: Callable[[Any], Any], title: Callable[[Any], str], threads: int) -> _Worker:
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = start_process(_work, there, work, title, threads, kernel.chosen())
    there.close()
    return _Worker(process, here)


def _send(worker: _Worker, task: Any, title: str) -> None:
    try:
        worker.connection.send(task)
    except OSError:
        raise SeedError(f"the process of {title} {how_it_ended(worker.process)}") from None


def _received(worker: _Worker, title: str) -> Any:
    """The outcome that is waiting in the pipe; an error if the process failed or died."""
    try:
        outcome = worker.connection.recv()
    except (EOFError, OSError):
        raise SeedError(f"the process of {title} {how_it_ended(worker.process)}") from None
    if isinstance(outcome, _Failure):
        raise SeedError(outcome.text)
    return outcome


def _work(
    connection: Connection,
    work: Callable[[Any], Any],
    title: Callable[[Any], str],
    threads: int,
    kernel_name: str,
) -> None:
    """Work off the tasks that come through the pipe until it is closed."""
    end_with_parent()
    torch.set_num_threads(threads)
    with kernel.use(kernel_name):
        while True:
            try:
                task = connection.recv()
            except EOFError:
                return
            try:
                outcome = work(task)
            except Exception as error:  # noqa: BLE001  whatever it is, the parent raises it
                outcome = _Failure(failure(title(task), error))
            connection.send(outcome)
