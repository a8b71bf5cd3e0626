"""Train one configuration with many seeds, in processes that share the data."""

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from s2gnn.data.splits import Split
from s2gnn.errors import InputError, SeedError
from s2gnn.learning.fit import FitConfig, FitResult, fit, predict_logits
from s2gnn.learning.seeding import seeded
from s2gnn.learning.sharing import Shared
from s2gnn.nn.arguments import positive_integer
from s2gnn.operators import kernel


@dataclass(frozen=True)
class RunConfig:
    """What to train and how.

    Attributes:
        model: makes a new model. With several processes it must be something that can be pickled, for instance
            `functools.partial(S2GNN, 38, 32, 2, alpha=6)`.
        fit: how to train it.
    """

    model: Callable[[], nn.Module]
    fit: FitConfig


@dataclass(frozen=True, eq=False)
class RunData:
    """What all seeds have in common.

    Attributes:
        x: what the model is called with, prepared once: `x, op = model.prepare(features, graph)`.
        op: the second thing that the model is called with.
        y: labels as `fit` wants them, (N,) or (N, L).
        split: the nodes of each seed, by a function or by a mapping.
    """

    x: Any
    op: Any
    y: ArrayLike | Tensor
    split: Callable[[int], Split] | Mapping[int, Split]


@dataclass(frozen=True, eq=False)
class Run:
    """One trained seed.

    Attributes:
        seed: which.
        state: the parameters and buffers that `fit` chose, by name.
        logits: of all nodes under these, (N, C).
        result: what `fit` returned.
    """

    seed: int
    state: dict[str, Tensor]
    logits: Tensor
    result: FitResult


def fit_many(
    config: RunConfig, data: RunData, seeds: Iterable[int], jobs: int = 1, *, threads: int | None = None
) -> Generator[Run, None, None]:
    """Train `config` once for each seed, and yield each run as it finishes.

    The order is that of finishing; a run says its seed. Every run computes with `threads` threads, and its weights and
    logits have the bits of `fit` on its own with so many threads, whatever `jobs` is.

    With `jobs > 1` the runs take place in so many spawned processes, which read the features, the operator and the
    labels from shared memory; as always with spawned processes, a script must start its work under
    `if __name__ == "__main__":`. Ctrl-C, closing the iterator and the death of this process end them at once.

    Args:
        config: what to train and how.
        data: what to train it on.
        seeds: of the initial parameters, of dropout and of the split. The next one is asked for when a process is free,
            so that a generator can decide late whether there is time for another.
        jobs: number of runs at the same time; 1 trains in this process.
        threads: of each run; torch.get_num_threads() // jobs, at least 1, if left out.

    Raises:
        SeedError: when a run fails, or its process is killed; the text names the seed. The other runs are stopped.
    """
    threads = threads_per_run(jobs, threads)
    seeds_and_splits = _with_splits(data, seeds)
    if jobs == 1:
        return _fit_here(config, data, seeds_and_splits, threads)
    try:
        pickle.dumps(config)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"the model cannot be handed to another process ({error}): make it with functools.partial of a class or "
            "function that a module defines, or take jobs=1"
        ) from error
    return _fit_in_processes(config, data, seeds_and_splits, jobs, threads)


def threads_per_run(jobs: int, threads: int | None = None) -> int:
    """The threads that each run of `fit_many` computes with."""
    jobs = positive_integer(jobs, "jobs")
    return max(1, torch.get_num_threads() // jobs) if threads is None else positive_integer(threads, "threads")


def _with_splits(data: RunData, seeds: Iterable[int]) -> Iterator[tuple[int, Split]]:
    for seed in seeds:
        if isinstance(data.split, Mapping):
            if seed not in data.split:
                raise InputError(f"there is no split for seed {seed}: `split` has the seeds {sorted(data.split)}")
            yield seed, data.split[seed]
        else:
            yield seed, data.split(seed)


def _fit_here(
    config: RunConfig, data: RunData, seeds: Iterable[tuple[int, Split]], threads: int
) -> Generator[Run, None, None]:
    for seed, split in seeds:
        try:
            with _computing_with(threads):
                outcome = _fit_seed(config, data, seed, split)
        except Exception as error:
            raise SeedError(_failure(seed, error)) from error
        yield _as_run(outcome)


@contextmanager
def _computing_with(threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, eq=False)
class _Outcome:
    """A run as it travels between processes: arrays, which are pickled by value and outlive the process."""

    seed: int
    state: dict[str, NDArray[Any]]
    logits: NDArray[np.floating[Any]]
    result: FitResult


def _fit_seed(config: RunConfig, data: RunData, seed: int, split: Split) -> _Outcome:
    with seeded(seed):
        model = config.model()
    result = fit(model, data.x, data.op, data.y, split.train, split.val, config=config.fit, seed=seed)
    state = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    return _Outcome(seed, state, predict_logits(model, data.x, data.op).cpu().numpy(), result)


def _as_run(outcome: _Outcome) -> Run:
    state = {name: torch.as_tensor(array) for name, array in outcome.state.items()}
    return Run(outcome.seed, state, torch.as_tensor(outcome.logits), outcome.result)


def _failure(seed: int, error: Exception) -> str:
    return f"the run with seed {seed} failed: {type(error).__name__}: {error}"


@dataclass(frozen=True, eq=False)
class _Worker:
    """A process that trains one seed after the other, and this end of the pipe to it."""

    process: SpawnProcess
    connection: Connection


def _fit_in_processes(
    config: RunConfig, data: RunData, seeds: Iterator[tuple[int, Split]], jobs: int, threads: int
) -> Generator[Run, None, None]:
    shared = Shared((config, data.x, data.op, data.y))
    workers: list[_Worker] = []
    busy: dict[Connection, tuple[_Worker, int]] = {}
    try:
        while True:
            while len(busy) < jobs and (task := next(seeds, None)) is not None:
                idle = [worker for worker in workers if worker.connection not in busy]
                if not idle:
                    workers.append(_start_worker(shared, threads))
                    idle = workers[-1:]
                busy[idle[0].connection] = idle[0], task[0]
                _send(idle[0], task)
            if not busy:
                return
            ready = wait(list(busy))[0]
            worker, seed = busy.pop(ready)  # type: ignore[call-overload]
            yield _as_run(_received(worker, seed))
    finally:
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.process.join()
            worker.connection.close()


def _start_worker(shared: Shared, threads: int) -> _Worker:
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_work, args=(there, shared, threads, kernel.chosen()), daemon=True
    )
    # Starting the resource tracker, which the first child would need, unblocks the signal: it must be running before.
    resource_tracker.ensure_running()
    with _interrupts_later():
        process.start()
    there.close()
    return _Worker(process, here)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Keep a Ctrl-C until the block is left, and from the processes that are started in it.

    The terminal sends Ctrl-C to all processes at once. A child inherits the blocked signal and leaves the matter to
    this process. Here the mask of one thread is not enough: another thread of the process would take the signal, and
    the interrupt be raised while a child is half started.
    """
    waiting: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number)) if main else None
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if main:
            signal.signal(signal.SIGINT, handler)
    if waiting:
        signal.raise_signal(waiting[0])


def _send(worker: _Worker, task: tuple[int, Split]) -> None:
    try:
        worker.connection.send(task)
    except OSError:
        raise SeedError(_death(worker, task[0])) from None


def _received(worker: _Worker, seed: int) -> _Outcome:
    """The outcome that is waiting in the pipe; an error if the process failed or died."""
    try:
        outcome = worker.connection.recv()
    except (EOFError, OSError):
        raise SeedError(_death(worker, seed)) from None
    if isinstance(outcome, str):
        raise SeedError(outcome)
    assert isinstance(outcome, _Outcome)
    return outcome


def _death(worker: _Worker, seed: int) -> str:
    worker.process.join()
    code = worker.process.exitcode or 0
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    hint = ", as the system does when memory runs out: lower jobs" if code == -signal.SIGKILL else ""
    return f"the process of the run with seed {seed} {how}{hint}"


def _work(connection: Connection, shared: Shared, threads: int, kernel_name: str) -> None:
    """Train the seeds that come through the pipe until it is closed."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    config, x, op, y = shared.value
    data = RunData(x, op, y, {})
    with kernel.use(kernel_name):
        while True:
            try:
                seed, split = connection.recv()
            except EOFError:
                return
            try:
                outcome: _Outcome | str = _fit_seed(config, data, seed, split)
            except Exception as error:  # noqa: BLE001  whatever it is, the parent raises it
                outcome = _failure(seed, error)
            connection.send(outcome)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
