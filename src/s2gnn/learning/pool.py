"""Run tasks in spawned processes that end with Ctrl-C, with this process, and with the first failure."""

import multiprocessing
import pickle
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar, cast

from s2gnn.errors import SeedError
from s2gnn.operators import kernel
from s2gnn.processes import end_with_parent, how_it_ended, start_process
from s2gnn.threads import computing_with

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


def in_processes(
    work: Callable[[Task], Outcome],
    next_task: Callable[[], Task | None],
    jobs: int,
    threads: int,
    *,
    title: Callable[[Task], str],
) -> Generator[Outcome, None, None]:
    """Yield `work(task)` for every task, in the order in which they finish.

    Args:
        work: a picklable function, sent to every process once.
        next_task: function called when a process is free; `None` means that no task can start before another ends.
        jobs: number of processes.
        threads: number of threads of each process.
        title: function that names a task in errors, e.g. "the run with seed 7".

    Raises:
        SeedError: if a task fails or its process is killed; the message names the task. The others are stopped.
    """
    workers: dict[Connection, BaseProcess] = {}
    busy: dict[Connection, Task] = {}
    try:
        while True:
            while len(busy) < jobs and (task := next_task()) is not None:
                free = next((connection for connection in workers if connection not in busy), None)
                if free is None:
                    free, process = _start_worker(work, threads)
                    workers[free] = process
                busy[free] = task
                with _named(title(task), workers[free]):
                    free.send(task)
            if not busy:
                return
            connection = cast(Connection, wait(list(busy))[0])
            name = title(busy.pop(connection))
            with _named(name, workers[connection]):
                outcome = connection.recv()
            if isinstance(outcome, SeedError):
                raise SeedError(f"{name} failed: {outcome}")
            yield outcome
    finally:
        for process in workers.values():
            process.kill()
        for connection, process in workers.items():
            process.join()
            connection.close()


@contextmanager
def _named(title: str, process: BaseProcess) -> Iterator[None]:
    """Report the end of `process` during its task."""
    try:
        yield
    except (EOFError, OSError):
        raise SeedError(f"the process of {title} {how_it_ended(process)}") from None


def _start_worker(work: Callable[[Any], Any], threads: int) -> tuple[Connection, BaseProcess]:
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = start_process(_work, there, work, threads, kernel.chosen())
    there.close()
    return here, process


def _work(connection: Connection, work: Callable[[Any], Any], threads: int, kernel_name: str) -> None:
    """Run the tasks that come through the pipe until it is closed."""
    end_with_parent()
    with kernel.use(kernel_name), computing_with(threads):
        while True:
            try:
                task = connection.recv()
            except EOFError:
                return
            try:
                outcome = work(task)
            except Exception as error:  # noqa: BLE001  whatever it is, the parent raises it
                outcome = failure(error)
            # Plain pickle copies tensors; Connection.send would share the memory of a process that may end.
            connection.send_bytes(pickle.dumps(outcome))


def failure(error: Exception) -> SeedError:
    """Return the type and message of a task's error, as text that can be sent to another process."""
    return SeedError(f"{type(error).__name__}: {error}")
