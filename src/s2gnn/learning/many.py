"""Train one configuration with many seeds, in processes that share the data."""

import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import torch
from numpy.typing import ArrayLike
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
from s2gnn.threads import computing_with


@dataclass(frozen=True)
class RunConfig:
    """The model and its training configuration.

    Attributes:
        model: function that creates a model; it must be picklable for several processes, e.g.
            `functools.partial(S2GNN, 38, 32, 2, alpha=6)`.
        fit: training configuration.
    """

    model: Callable[[], GraphNetwork]
    fit: FitConfig


@dataclass(frozen=True, eq=False)
class RunData:
    """The data that all seeds share.

    Attributes:
        x: first argument of the model, prepared once: `x, op = model.prepare(features, graph)`.
        op: second argument of the model.
        y: labels, (N,) or (N, L), see `fit`.
        split: function or mapping from a seed to its split.
    """

    x: NetworkInput
    op: GraphOperator | None
    y: ArrayLike | Tensor
    split: Callable[[int], Split] | Mapping[int, Split]


@dataclass(frozen=True, eq=False)
class Run:
    """The result of one seed.

    Attributes:
        seed: the seed.
        state: the `state_dict` of the trained model.
        logits: logits of all nodes, (N, C).
        result: the result of `fit`.
    """

    seed: int
    state: dict[str, Tensor]
    logits: Tensor
    result: FitResult


def fit_many(
    config: RunConfig, data: RunData, seeds: Iterable[int], jobs: int = 1, *, threads: int | None = None
) -> Generator[Run, None, None]:
    """Train `config` once for each seed, and yield each run as it finishes.

    Runs are yielded in the order in which they finish. Weights and logits are bitwise those of a single `fit` with
    `threads` threads, for any `jobs`.

    With `jobs > 1` runs are trained in spawned processes, which share the features, the operator and the labels in
    memory; a script must therefore be protected by `if __name__ == "__main__":`. The processes end on Ctrl-C, when the
    iterator is closed, and when this process ends.

    Args:
        config: model and training configuration.
        data: the data that all seeds share.
        seeds: random seeds of the initial parameters, of dropout and of the split; an iterator is advanced when a
            process is free.
        jobs: number of parallel runs; 1 trains in this process.
        threads: number of threads per run; default: torch.get_num_threads() // jobs, at least 1.

    Raises:
        SeedError: if a run fails or its process is killed; the message names the seed. The other runs are stopped.
    """
    threads = threads_per_run(jobs, threads)
    tasks = _with_splits(data, seeds)
    if jobs == 1:
        return _fit_here(config, data, tasks, threads)
    try:
        pickle.dumps(config)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"the model cannot be sent to another process ({error}): use functools.partial of a class or "
            "function that a module defines, or take jobs=1"
        ) from error
    work = partial(_fit_shared, Shared((config, replace(data, split={}))))
    return in_processes(work, partial(next, tasks, None), jobs, threads, title=_title)


def threads_per_run(jobs: int, threads: int | None = None) -> int:
    """Return the number of threads of each run of `fit_many`."""
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
    config: RunConfig, data: RunData, tasks: Iterable[tuple[int, Split]], threads: int
) -> Generator[Run, None, None]:
    for task in tasks:
        try:
            with computing_with(threads):
                run = _fit_seed(config, data, *task)
        except Exception as error:
            raise SeedError(f"{_title(task)} failed: {failure(error)}") from error
        yield run


def _fit_seed(config: RunConfig, data: RunData, seed: int, split: Split) -> Run:
    trained = train_network(config.model, data.x, data.op, data.y, split.train, split.val, config=config.fit, seed=seed)
    state = {name: tensor.cpu() for name, tensor in trained.network.state_dict().items()}
    return Run(seed, state, trained.logits.cpu(), trained.result)


def _fit_shared(shared: Shared, task: tuple[int, Split]) -> Run:
    config, data = shared.value
    return _fit_seed(config, data, *task)


def _title(task: tuple[int, Split]) -> str:
    return f"the run with seed {task[0]}"
