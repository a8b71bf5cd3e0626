"""Run many cells in several processes, and say before how long that takes."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from s2gnn.learning.many import threads_per_run
from s2gnn.learning.pool import in_processes
from s2gnn.learning.records import Record, Records
from s2gnn.learning.yardsticks import YARDSTICKS
from s2gnn.studies.cell import Cell
from s2gnn.studies.run import cell_result, run_cell, scored_runs

# A process reads the data anew for every part of a cell; so many seeds make that cheap, and still divide the work well.
_SEEDS_A_PART = 5
_TIMED_EPOCHS = 5


@dataclass(frozen=True)
class Job:
    """A cell to run.

    Attributes:
        cell: which.
        budget: its name, which the records keep.
        seconds: that a seed is expected to take, so that none is started that would not be done in time.
    """

    cell: Cell
    budget: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Finished:
    """A part of a cell that is done.

    Attributes:
        cell: with the seeds of this part.
        done: how many of them have a record.
        failure: why it could not be run; `None` if it was.
    """

    cell: Cell
    done: int
    failure: str | None = None


def unfinished(jobs: Sequence[Job], records: Records) -> list[Job]:
    """What has no record yet, in parts of a few seeds: the first of every cell, then the second, and so on."""
    known = {(record.config_hash, record.seed) for record in records.read()}
    parts: list[tuple[int, Job]] = []
    seen: set[tuple[str, int]] = set()
    for job in jobs:
        name = job.cell.config_hash
        missing = [seed for seed in job.cell.seeds if (name, seed) not in known and (name, seed) not in seen]
        seen.update((name, seed) for seed in missing)
        for start in range(0, len(missing), _SEEDS_A_PART):
            seeds = tuple(missing[start : start + _SEEDS_A_PART])
            parts.append((start, replace(job, cell=replace(job.cell, seeds=seeds))))
    return [part for _, part in sorted(parts, key=lambda found: found[0])]


def run_jobs(
    parts: Sequence[Job],
    records: Records,
    processes: int = 1,
    end: float | None = None,
    on_start: Callable[[Job], None] | None = None,
) -> Iterator[Finished]:
    """Run what `unfinished` gave, and yield every part when it is done.

    Each process has its share of the threads and trains one seed after the other. A part that fails is reported and
    does not stop the others. Ctrl-C loses what is in training, nothing else.

    Args:
        parts: to run.
        records: where results go.
        processes: that work at the same time.
        end: start no seed that would not be done by this time, in seconds since the epoch.
        on_start: called when a part starts.
    """
    threads = threads_per_run(processes)
    work = _RunPart(records, end, threads)

    def in_time() -> Iterator[Job]:
        for part in parts:
            if end is not None and time.time() >= end:
                return
            if on_start is not None:
                on_start(part)
            yield part

    if processes == 1:
        yield from map(work, in_time())
        return
    with closing(in_processes(work, in_time(), processes, threads, title=_title)) as done:
        yield from done


def _title(job: Job) -> str:
    return job.cell.title


@dataclass(frozen=True)
class _RunPart:
    """Runs parts; what a process is given once."""

    records: Records
    end: float | None
    threads: int

    def __call__(self, job: Job) -> Finished:
        minutes = None if self.end is None else max(0.0, self.end - time.time()) / 60
        try:
            result = run_cell(
                job.cell,
                self.records,
                minutes=minutes,
                threads=self.threads,
                budget={"name": job.budget},
                expected=job.seconds,
            )
        except Exception as error:  # noqa: BLE001  one failure must not cost the other cells their time
            done = len(cell_result(job.cell, self.records).records)
            return Finished(job.cell, done, f"{job.cell.title}: {type(error).__name__}: {error}")
        return Finished(job.cell, len(result.records))


class Estimates:
    """How long cells take to train, by records of the same model on the same graph, or else by a few epochs."""

    def __init__(self, records: Records, threads: int) -> None:
        self._seconds: dict[tuple[object, ...], list[float]] = {}
        self._threads = threads
        for record in records.read():
            if record.budget.get("threads") == threads:
                self._seconds.setdefault(_costs_like(record.config), []).append(record.seconds / trained_epochs(record))

    def seconds(self, cell: Cell) -> float:
        """Of all seeds of `cell`, one after the other, if none stops early."""
        like = _costs_like(cell.config)
        if like not in self._seconds:
            self._seconds[like] = [_seconds_an_epoch(cell, self._threads)]
        known = self._seconds[like]
        return sum(known) / len(known) * _epochs(cell.config) * len(cell.seeds)


def _costs_like(config: dict[str, Any]) -> tuple[object, ...]:
    chosen = config["hyperparameters"]["model"]
    sizes = ("hidden_channels", "num_layers", "alpha", "heads", "K", "powers")
    place = ("data", "graph", "k", "model", "recipe")
    task, steps = ("decoder", "channels"), ("batch_size", "folds")  # of links, of graphs
    return (
        *(config[name] for name in place),
        *(config.get(name) for name in task),
        *(chosen.get(name) for name in sizes),
        *(config["protocol"].get(name) for name in steps),
    )


def _epochs(config: dict[str, Any]) -> int:
    """At most so many are trained; a yardstick counts as one."""
    return 1 if config["model"] in YARDSTICKS else int(config["protocol"]["epochs"])


def trained_epochs(record: Record) -> int:
    """The number of epochs that a run took."""
    epochs, patience = _epochs(record.config), record.config["protocol"].get("patience")
    return int(epochs if patience is None else min(epochs, record.metrics["epoch"] + 1 + patience))


def _seconds_an_epoch(cell: Cell, threads: int) -> float:
    short = replace(cell, protocol=replace(cell.protocol, epochs=_TIMED_EPOCHS, patience=None))
    _, timed = scored_runs(short, [cell.seeds[0]] * 2, 1, threads)  # the first warms up
    return timed.seconds / _epochs(short.config)
