"""Train one configuration with many seeds, in processes that share the data."""

import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from s2gnn.data.splits import Split
from s2gnn.errors import InputError, SeedError
from s2gnn.learning.config import FitConfig
from s2gnn.learning.epochs import FitResult
from s2gnn.learning.fit import train_network
from s2gnn.learning.pool import failure, in_processes
from s2gnn.learning.sharing import Shared
from s2gnn.nn.arguments import positive_integer
from s2gnn.nn.inputs import NetworkInput
from s2gnn.nn.network import GraphNetwork
from s2gnn.operators import GraphOperator


@dataclass(frozen=True)
class RunConfig:
    """What to train and how.

    Attributes:
        model: makes a new model. With several processes it must be something that can be pickled, for instance
            `functools.partial(S2GNN, 38, 32, 2, alpha=6)`.
        fit: how to train it.
    """

    model: Callable[[], GraphNetwork]
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

    x: NetworkInput
    op: GraphOperator | None
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
            with computing_with(threads):
                outcome = _fit_seed(config, data, seed, split)
        except Exception as error:
            raise SeedError(failure(_title((seed, split)), error)) from error
        yield _as_run(outcome)


@contextmanager
def computing_with(threads: int) -> Iterator[None]:
    """Let torch compute with so many threads inside the block."""
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
    trained = train_network(config.model, data.x, data.op, data.y, split.train, split.val, config=config.fit, seed=seed)
    state = {name: tensor.cpu().numpy() for name, tensor in trained.network.state_dict().items()}
    return _Outcome(seed, state, trained.logits.cpu().numpy(), trained.result)


def _as_run(outcome: _Outcome) -> Run:
    state = {name: torch.as_tensor(array) for name, array in outcome.state.items()}
    return Run(outcome.seed, state, torch.as_tensor(outcome.logits), outcome.result)


def _fit_in_processes(
    config: RunConfig, data: RunData, seeds: Iterator[tuple[int, Split]], jobs: int, threads: int
) -> Generator[Run, None, None]:
    work = _SharedWork(Shared((config, data.x, data.op, data.y)))
    with closing(in_processes(work, seeds, jobs, threads, title=_title)) as outcomes:
        for outcome in outcomes:
            yield _as_run(outcome)


@dataclass(frozen=True, eq=False)
class _SharedWork:
    """Trains one seed after the other on what all processes share."""

    shared: Shared

    def __call__(self, task: tuple[int, Split]) -> _Outcome:
        config, x, op, y = self.shared.value
        return _fit_seed(config, RunData(x, op, y, {}), *task)


def _title(task: tuple[int, Split]) -> str:
    return f"the run with seed {task[0]}"
