"""Run a cell: train the seeds that have no record yet, and sum up those that have."""

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial, singledispatch
from types import MappingProxyType

import numpy as np
import torch

from s2gnn import provenance
from s2gnn.data import GraphCollection, collection_graphs, dataset_graph, load_collection, load_dataset
from s2gnn.data.catalogue import entry
from s2gnn.data.dataset import Dataset
from s2gnn.data.splits import Split, dataset_split, fold_split
from s2gnn.graphs import DisjointUnion, Graph
from s2gnn.learning.epochs import FitResult
from s2gnn.learning.many import Run, RunConfig, RunData, fit_many, threads_per_run
from s2gnn.learning.metrics import Confidence, accuracy, bootstrap_confidence, macro_f1, mean_roc_auc
from s2gnn.learning.records import Record, Records
from s2gnn.learning.seeding import seeded
from s2gnn.learning.training_run import History
from s2gnn.learning.yardsticks import YARDSTICKS
from s2gnn.studies.cell import Cell

# What is classified: the nodes of one graph, or many graphs.
Data = Dataset | GraphCollection
Graphs = Graph | DisjointUnion


@dataclass(frozen=True)
class CellProgress:
    """Where a cell stands.

    Attributes:
        cell: which.
        running: the seeds in training.
        finished: number of seeds with a record.
        seconds_left: until all seeds are done, by the runs so far; `None` before the first is done.
    """

    cell: Cell
    running: tuple[int, ...]
    finished: int
    seconds_left: float | None


@dataclass(frozen=True)
class CellResult:
    """The records of a cell, by seed in the order of the cell's seeds."""

    cell: Cell
    records: Mapping[int, Record]

    @property
    def complete(self) -> bool:
        """Whether every seed has a record."""
        return len(self.records) == len(self.cell.seeds)

    @property
    def metric(self) -> str:
        """The score that counts, see `Record`; accuracy when no seed is finished."""
        return next((record.metric for record in self.records.values()), "test_accuracy")

    @property
    def confidence(self) -> Confidence | None:
        """Mean and 95 % half-width of the score over seeds; `None` when no seed is finished."""
        scores = [record.metrics[self.metric] for record in self.records.values()]
        return bootstrap_confidence(scores) if scores else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the folds of a cross-validation; `None` of seeds, or when none is finished."""
        if self.cell.protocol.folds is None or not self.records:
            return None
        return float(np.std([record.metrics[self.metric] for record in self.records.values()]))

    @property
    def seconds(self) -> float | None:
        """The mean time of training one seed."""
        return float(np.mean([record.seconds for record in self.records.values()])) if self.records else None


def cell_result(cell: Cell, records: Records) -> CellResult:
    """What is on record of a cell."""
    finished = records.finished(cell.config_hash)
    return CellResult(cell, {seed: finished[seed] for seed in cell.seeds if seed in finished})


def run_cell(
    cell: Cell,
    records: Records,
    jobs: int = 1,
    minutes: float | None = None,
    on_progress: Callable[[CellProgress], None] | None = None,
    *,
    threads: int | None = None,
    budget: Mapping[str, str | int] = MappingProxyType({}),
    expected: float = 0.0,
) -> CellResult:
    """Train every seed of `cell` that has no record, and append a record as each is done.

    Interrupted in any way, it is called again and goes on after the last record. What is in training when Ctrl-C comes
    is lost; its processes end at once.

    Args:
        cell: what to run.
        records: where results are looked up and put.
        jobs: number of runs at the same time, see `fit_many`.
        minutes: start no run that would not be done after so long, judging by `expected` and by the longest run so far;
            `None` for no limit.
        on_progress: called when a run starts and when one is done.
        threads: of each run, see `fit_many`.
        budget: what the records say about their budget beside epochs and threads.
        expected: seconds that a run is thought to take.
    """
    clock = _Clock(None if minutes is None else time.monotonic() + 60 * minutes, jobs, longest=expected)
    finished = records.finished(cell.config_hash)
    missing = [seed for seed in cell.seeds if seed not in finished]
    if not missing or clock.is_over():
        return cell_result(cell, records)
    threads = threads_per_run(jobs, threads)
    commit = provenance.commit()

    def report() -> None:
        if on_progress is not None:
            unfinished = len(missing) - clock.done
            finished = len(cell.seeds) - unfinished
            on_progress(CellProgress(cell, tuple(clock.started), finished, clock.estimate(unfinished)))

    def seeds_in_time() -> Iterator[int]:
        for seed in missing:
            if clock.is_over():
                return
            clock.start(seed)
            report()
            yield seed

    cost = {"epochs": cell.protocol.epochs, "threads": threads, **budget}
    with closing(scored_runs(cell, seeds_in_time(), jobs, threads)) as runs:
        for run in runs:
            clock.finish(run.seed)
            record = Record(
                config_hash=cell.config_hash,
                seed=run.seed,
                config=cell.config,
                metrics=run.metrics,
                seconds=run.seconds,
                budget=cost,
                finished=datetime.now(UTC).isoformat(timespec="seconds"),
                commit=commit,
                versions=provenance.versions(),
            )
            records.append(record)
            report()
    return cell_result(cell, records)


@dataclass
class _Clock:
    """When runs started, how long the longest took, and whether there is time for another before `end`."""

    end: float | None
    jobs: int
    started: dict[int, float] = field(default_factory=dict)
    longest: float = 0.0
    done: int = 0

    def is_over(self) -> bool:
        return self.end is not None and time.monotonic() + self.longest >= self.end

    def start(self, seed: int) -> None:
        self.started[seed] = time.monotonic()

    def finish(self, seed: int) -> None:
        self.longest = max(self.longest, time.monotonic() - self.started.pop(seed))
        self.done += 1

    def estimate(self, unfinished: int) -> float | None:
        return self.longest * math.ceil(unfinished / self.jobs) if self.done else None


@dataclass(frozen=True)
class ScoredRun:
    """What a record keeps of one seed: its scores by name, and the seconds that training took."""

    seed: int
    metrics: dict[str, float]
    seconds: float


@singledispatch
def scored_runs(
    cell: Cell, seeds: Iterable[int], jobs: int = 1, threads: int | None = None
) -> Generator[ScoredRun, None, None]:
    """Train `cell` with each of `seeds` and score it, in the order of finishing; other kinds of cell have other ways.

    The arguments are those of `fit_many`.
    """
    dataset, graph = data_of(cell)
    with closing(runs_of(cell, dataset, graph, seeds, jobs, threads)) as runs:
        for run in runs:
            yield ScoredRun(run.seed, _metrics(cell, dataset, run), run.result.seconds)


def dataset_of(cell: Cell) -> tuple[Dataset, Graph]:
    """The data set of `cell`, whose nodes are classified, on its graph, which is built or taken from the cache."""
    return dataset_graph(load_dataset(cell.data), cell.graph, cell.k)


def data_of(cell: Cell) -> tuple[Data, Graphs]:
    """The data set of `cell` on its graph or, where graphs are classified, the graphs of its data set."""
    if entry(cell.data).task == "graphs":
        return collection_graphs(load_collection(cell.data), cell.graph)
    return dataset_of(cell)


def split_of(cell: Cell, dataset: Data, seed: int) -> Split:
    """The nodes or graphs of one seed of `cell`, or of one fold where its protocol has folds."""
    if cell.protocol.folds is not None:
        return fold_split(dataset.y, seed, cell.protocol.folds)
    return dataset_split(dataset, seed, cell.share)


def runs_of(
    cell: Cell, dataset: Data, graph: Graphs, seeds: Iterable[int], jobs: int = 1, threads: int | None = None
) -> Generator[Run, None, None]:
    """Train `cell` with each of `seeds`, see `fit_many`; a yardstick is over at once and takes no other process."""
    if cell.model in YARDSTICKS and isinstance(graph, Graph):
        return _fit_yardstick(cell, dataset, graph, seeds)
    return fit_many(*materials(cell, dataset, graph), seeds, jobs, threads=threads)


def _fit_yardstick(cell: Cell, dataset: Data, graph: Graph, seeds: Iterable[int]) -> Generator[Run, None, None]:
    """Runs of a single epoch, whose logits are the scores of the yardstick."""
    yardstick = cell.new_yardstick()
    for seed in seeds:
        split = split_of(cell, dataset, seed)
        start = time.perf_counter()
        scores = yardstick.fit_predict(dataset.x, graph, dataset.y, split.train, seed)
        seconds = time.perf_counter() - start
        val_accuracy = accuracy(dataset.y[split.val], scores[split.val].argmax(axis=1))
        history = History(val_accuracy=[val_accuracy])
        yield Run(seed, {}, torch.as_tensor(scores), FitResult(history, 0, seconds))


def materials(cell: Cell, dataset: Data, graph: Graphs) -> tuple[RunConfig, RunData]:
    """What is trained for `cell`, and what on, given its data set and graph or graphs."""
    chosen = cell.hyperparameters
    fit_config = cell.protocol.fit_config(chosen.lr, chosen.weight_decay, several_labels=dataset.several_labels)
    new_model = cell.model_factory(dataset.x.shape[1], len(dataset.class_names))
    with seeded(0):
        x, op = new_model().prepare(dataset.x, graph)  # type: ignore[arg-type]
    split = partial(split_of, cell, dataset)
    return RunConfig(new_model, fit_config), RunData(x, op, dataset.y, split)


def _metrics(cell: Cell, dataset: Data, run: Run) -> dict[str, float]:
    """The scores of a run on the test nodes or graphs, and of its epoch on those for validation.

    Where another share of the nodes trains than the paper's, also how many that are; and ε, where it was learned.
    """
    split = split_of(cell, dataset, run.seed)
    y, logits, history = dataset.y[split.test], run.logits[split.test].numpy(), run.result.history
    epoch = run.result.best_epoch
    scores: dict[str, float]
    if dataset.several_labels:
        scores = {"test_roc_auc": mean_roc_auc(y, logits), "val_roc_auc": history.val_auc[epoch]}
    else:
        predicted = logits.argmax(axis=1)
        scores = {
            "test_accuracy": accuracy(y, predicted),
            "test_macro_f1": macro_f1(y, predicted),
            "val_accuracy": history.val_accuracy[epoch],
        }
    scores["epoch"] = epoch
    if cell.share is not None:
        scores["train_nodes"] = len(split.train)
    for name, value in run.state.items():
        if name.endswith("epsilon.log"):
            scores["epsilon"] = float(value.double().exp())
    return scores
