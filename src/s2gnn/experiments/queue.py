"""Order the jobs of experiments, with or without a search before each experiment."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

import torch

from s2gnn.devices import CPU
from s2gnn.errors import InputError
from s2gnn.experiments.experiment import Experiment
from s2gnn.experiments.jobs import Job, Report, expected_seconds
from s2gnn.experiments.protocols import Budget
from s2gnn.experiments.records import Record, Records, search_records

if TYPE_CHECKING:
    from s2gnn.experiments.halving import Search

# The first seeds of every experiment run before the next ones of any, so that an unfinished study covers all cells.
_SEEDS_A_ROUND = 5


def missing_jobs(experiments: Iterable[Experiment], records: Records) -> list[Job]:
    """Return the runs without a record, each once, the first seeds of every experiment first."""
    known = {(record.key, record.seed) for record in records.read() if record.search is None}
    queue: list[tuple[int, Job]] = []
    for experiment in experiments:
        key = experiment.key
        missing = [seed for seed in experiment.seeds if (key, seed) not in known]
        known.update((key, seed) for seed in missing)
        queue += [(place // _SEEDS_A_ROUND, Job(experiment, seed)) for place, seed in enumerate(missing)]
    return [job for _, job in sorted(queue, key=lambda found: found[0])]


class Queue:
    """Runs in the order in which they start.

    Attributes:
        total: number of runs.
        seconds: expected total time.
        recorded: number of runs that have a record so far.
        failed_trials: why trials failed, one line each.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.total, self.seconds, self.recorded = len(jobs), sum(job.seconds for job in jobs), 0
        self.failed_trials: list[str] = []
        self._jobs = iter(jobs)

    def next(self) -> Job | None:
        """Return the next run to start; `None` if none can start before another one ends."""
        return next(self._jobs, None)

    def take(self, job: Job, record: Record) -> None:
        """Receive the result of a run."""
        self.recorded += 1
        if record.error is not None:
            self.failed_trials.append(f"{job.title}: {record.error}")


class SearchQueue(Queue):
    """Searches and the test seeds of what they find: an experiment starts when those before it wait for a result."""

    def __init__(
        self,
        experiments: Iterable[Experiment],
        records: Records,
        budget: Budget,
        threads: int,
        report: Report,
        searched_on: Mapping[str, Experiment] = MappingProxyType({}),
        device: torch.device = CPU,
    ) -> None:
        new_search = search_module("halving").Search
        self._searches = [new_search(each, budget, searched_on.get(each.key)) for each in experiments]
        trials, tested = search_records(records).read(), records.read()
        known = [*trials, *(record for record in tested if record.search == budget.name)]
        self._scores = {(record.key, record.seed): record.metrics.get("validation", 0.0) for record in known}
        self._started: set[tuple[str, int]] = set()
        defaults = (each for search in self._searches for each in (search.configurations[0], search.tested))
        first = {each.key: Job(each, each.seeds[0]) for each in defaults}
        timed = expected_seconds(list(first.values()), [*trials, *tested], threads, report, device)
        self._seconds_an_epoch = {job.experiment.key: job.seconds / job.epochs for job in timed}
        planned = (self._job(search, *run) for search in self._searches for run in self._missing(search))
        super().__init__(list({job.run: job for job in planned}.values()))

    def _missing(self, search: "Search", *, now: bool = False) -> Iterator[tuple[Experiment, int]]:
        """Yield the runs of a search and of its test without a score; only those that can start `now`, or all."""
        for experiments in search.rounds(self._scores):
            runs = [(each, seed) for each in experiments for seed in each.seeds]
            missing = [(each, seed) for each, seed in runs if (each.key, seed) not in self._scores]
            yield from missing
            if missing and now:
                return

    def _job(self, search: "Search", experiment: Experiment, seed: int) -> Job:
        job = Job(experiment, seed)
        default = search.configurations[0] if job.trial else search.tested
        return replace(job, seconds=self._seconds_an_epoch[default.key] * job.epochs)

    def next(self) -> Job | None:
        """See `Queue`."""
        for search in list(self._searches):
            missing = list(self._missing(search, now=True))
            if not missing:
                self._searches.remove(search)
            for experiment, seed in missing:
                if (experiment.key, seed) not in self._started:
                    self._started.add((experiment.key, seed))
                    return self._job(search, experiment, seed)
        return None

    def take(self, job: Job, record: Record) -> None:
        """See `Queue`."""
        super().take(job, record)
        self._scores[record.key, record.seed] = record.metrics.get("validation", 0.0)


def search_module(name: str) -> ModuleType:
    """Return a module of `s2gnn.experiments` that needs Optuna."""
    if find_spec("optuna") is None:
        raise InputError("a search needs Optuna, which is not installed: pip install 's2gnn[search]'")
    return import_module(f"s2gnn.experiments.{name}")
