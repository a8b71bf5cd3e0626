"""Run experiments: a resumable queue of seeds with a time budget, in one process or several."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from s2gnn import provenance
from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.errors import InputError
from s2gnn.experiments.experiment import Experiment, canonical_json
from s2gnn.experiments.protocols import Budget
from s2gnn.experiments.records import Record, Records, search_records
from s2gnn.experiments.tasks import Run, Task, load_task
from s2gnn.learning.classical import CLASSICAL
from s2gnn.learning.many import computing_with, threads_per_run
from s2gnn.learning.pool import in_processes
from s2gnn.progress import duration

if TYPE_CHECKING:
    from s2gnn.experiments.halving import Search
    from s2gnn.experiments.search import SearchResult

# The first seeds of every experiment run before the next ones of any, so that an unfinished study covers all cells.
_SEEDS_A_ROUND = 5
_TIMED_EPOCHS = 5


@dataclass(frozen=True)
class Job:
    """One seed of an experiment, and the seconds that it is expected to take."""

    experiment: Experiment
    seed: int
    seconds: float = 0.0

    @cached_property
    def run(self) -> tuple[str, int]:
        """Identifies the run: the key of the experiment and the seed."""
        return self.experiment.key, self.seed

    @property
    def trial(self) -> bool:
        """Whether the run is a trial of a search, which is not tested."""
        return self.seed in VALIDATION_SEEDS

    @property
    def epochs(self) -> int:
        """Maximum number of epochs; a classical baseline counts as one."""
        return _most_epochs(self.experiment.describe())

    @property
    def title(self) -> str:
        """The job in a few words."""
        return f"{self.experiment.title}, {self.experiment.protocol.run} {self.seed}"


@dataclass(frozen=True)
class Progress:
    """What is in progress, and how many runs or trials of how many are finished."""

    description: str
    finished: int
    total: int
    seconds_left: float = 0.0


# Receives a sentence, such as an estimate, or the progress when something has started or ended.
Report = Callable[[str | Progress], None]


def run_experiments(
    experiments: Iterable[Experiment],
    records: Records,
    report: Report,
    jobs: int = 1,
    minutes: float | None = None,
    budget: Budget | None = None,
    searched_on: Mapping[str, Experiment] = MappingProxyType({}),
) -> list[str]:
    """Train every run without a record, each experiment after a search if the budget has one.

    Args:
        experiments: each with its seeds.
        records: where results are looked up and appended; those of searches are in the folder "searches" next to them.
        report: receives estimates and progress.
        jobs: number of processes.
        minutes: start no run that would not finish by then.
        budget: of the study; `None` for single experiments.
        searched_on: what the search of an experiment is run on, by its key; default: the experiment itself.

    Returns:
        Why runs failed, one line each.
    """
    wanted = list({experiment.key: experiment for experiment in experiments}.values())
    end = None if minutes is None else time.time() + 60 * minutes
    name = "" if budget is None else f"budget {budget.name}: "
    queue: Queue
    if budget is not None and budget.rungs:
        queue = SearchQueue(wanted, records, budget, threads_per_run(jobs), report, searched_on)
    else:
        queue = Queue(expected_seconds(missing_jobs(wanted, records), records.read(), threads_per_run(jobs), report))
    if not queue.total:
        if wanted:
            report(f"{name}all runs of {len(wanted)} experiments are on record")
        return []
    stops_early = any(experiment.protocol.patience for experiment in wanted) and not (budget and budget.rungs)
    bound = "at most about" if stops_early else "about"
    limit = "" if minutes is None else f", stops after {minutes:g} min"
    report(f"{name}{queue.total} runs to train, {bound} {duration(queue.seconds / jobs)} of training{limit}")
    try:
        return run_jobs(queue, records, jobs, end=end, budget=budget.name if budget else None, report=report)
    finally:
        if queue.recorded < queue.total:
            report(f"{queue.recorded} of {queue.total} runs finished; rerun the command to resume")
        if queue.failed_trials:
            trials = "1 trial" if len(queue.failed_trials) == 1 else f"{len(queue.failed_trials)} trials"
            report(
                f"{trials} failed, recorded with the lowest score; to train again, delete the line in "
                f"{search_records(records).path}:"
            )
            for failed in queue.failed_trials:
                report(failed)


class Queue:
    """Runs in the order in which they start.

    Attributes:
        total: number of runs.
        seconds: that all of them are expected to take.
        recorded: number of runs that have a record by now.
        failed_trials: why trials failed, one line each.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.total, self.seconds, self.recorded = len(jobs), sum(job.seconds for job in jobs), 0
        self.failed_trials: list[str] = []
        self._jobs = iter(jobs)

    def next(self) -> Job | None:
        """The run to start now; `None` if there is none before another one ends."""
        return next(self._jobs, None)

    def take(self, job: Job, record: Record) -> None:
        """Learn the result of a run."""
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
    ) -> None:
        new_search = search_module("halving").Search
        self._searches = [new_search(each, budget, searched_on.get(each.key)) for each in experiments]
        trials, tested = search_records(records).read(), records.read()
        known = [*trials, *(record for record in tested if record.search == budget.name)]
        self._scores = {(record.key, record.seed): record.metrics.get("validation", 0.0) for record in known}
        self._started: set[tuple[str, int]] = set()
        defaults = (each for search in self._searches for each in (search.configurations[0], search.tested))
        first = {each.key: Job(each, each.seeds[0]) for each in defaults}
        timed = expected_seconds(list(first.values()), [*trials, *tested], threads, report)
        self._seconds_an_epoch = {job.experiment.key: job.seconds / job.epochs for job in timed}
        planned = (self._job(search, *run) for search in self._searches for run in self._missing(search))
        super().__init__(list({job.run: job for job in planned}.values()))

    def _missing(self, search: "Search", *, now: bool = False) -> Iterator[tuple[Experiment, int]]:
        """The runs of a search and of its test without a score; only those that can start `now`, or all."""
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
    """A module of `s2gnn.experiments` that needs Optuna."""
    if find_spec("optuna") is None:
        raise InputError("a search needs Optuna, which is not installed: pip install 's2gnn[search]'")
    return import_module(f"s2gnn.experiments.{name}")


def search_progress(result: "SearchResult") -> Progress:
    """The state of a search."""
    best = "" if result.score is None else f", best {100 * result.score:.2f} %"
    description = f"{result.experiment.title}: {result.running} running{best}"
    return Progress(description, result.finished, result.trials)


def missing_jobs(experiments: Iterable[Experiment], records: Records) -> list[Job]:
    """The runs without a record, each once, the first seeds of every experiment first."""
    known = {(record.key, record.seed) for record in records.read() if record.search is None}
    queue: list[tuple[int, Job]] = []
    for experiment in experiments:
        key = experiment.key
        missing = [seed for seed in experiment.seeds if (key, seed) not in known]
        known.update((key, seed) for seed in missing)
        queue += [(place // _SEEDS_A_ROUND, Job(experiment, seed)) for place, seed in enumerate(missing)]
    return [job for _, job in sorted(queue, key=lambda found: found[0])]


def run_jobs(
    queue: Queue,
    records: Records,
    jobs: int = 1,
    *,
    end: float | None = None,
    budget: str | None = None,
    report: Report = lambda _: None,
) -> list[str]:
    """Train and score the runs of a queue, and append a record as each finishes.

    Interrupted at any time, a new queue resumes after the last record; what is in training is lost. A run that fails
    does not stop the other experiments, and a new queue has it again. A failed trial of a search, in contrast, is
    recorded with its error and the lowest score, so that the search continues without its configuration. This does not
    hold where the cause may be something other than the configuration: data that cannot be loaded, no memory or a
    failed file operation count as a failed run, and a killed process, which the system may have chosen because of what
    else was running, leaves no record and stops all runs, since the others are likely to be killed as well.

    Args:
        queue: the runs.
        records: where results go; see `search_records` for those of searches.
        jobs: number of processes; 1 trains in this one. Each computes with its share of the threads.
        end: start no run that would not finish by this time, in seconds since the epoch.
        budget: name of the budget, for the records.
        report: called when a run starts and when it ends.

    Returns:
        Why runs failed, one line each.

    Raises:
        SeedError: when a process is killed.
    """
    threads, commit, versions = threads_per_run(jobs), provenance.commit(), provenance.versions()
    running: list[Job] = []
    failures: dict[str, str] = {}
    longest: dict[str, float] = {}
    done, expected, taken = 0, 0.0, 0.0  # of the runs that have ended: number, seconds expected and taken

    def progress() -> Progress:
        titles = dict.fromkeys(job.experiment.title for job in running)
        pace = taken / expected if expected else 1.0
        return Progress(", ".join(titles) or "done", done, queue.total, pace * (queue.seconds - expected) / jobs)

    def next_in_time() -> Job | None:
        nonlocal done, expected
        while (job := queue.next()) is not None:
            key, _ = job.run
            if key in failures:
                done, expected = done + 1, expected + job.seconds
                continue
            if end is not None and time.time() + max(job.seconds, longest.get(key, 0.0)) >= end:
                return None
            running.append(job)
            report(progress())
            return job
        return None

    with closing(_outcomes(next_in_time, jobs, threads)) as outcomes:
        for job, outcome in outcomes:
            running.remove(job)
            key, protocol = job.run[0], job.experiment.protocol
            done, expected = done + 1, expected + job.seconds
            if isinstance(outcome, str):
                failures.setdefault(key, outcome)
                report(progress())
                continue
            longest[key] = max(longest.get(key, 0.0), outcome.seconds)
            taken += outcome.seconds
            record = Record(
                key=key,
                seed=outcome.seed,
                experiment=job.experiment.describe(),
                metrics=outcome.metrics,
                seconds=outcome.seconds,
                budget={"epochs": protocol.epochs, "threads": threads, **({"name": budget} if budget else {})},
                finished=datetime.now(UTC).isoformat(timespec="seconds"),
                commit=commit,
                versions=versions,
                error=outcome.error,
            )
            (search_records(records) if job.trial else records).append(record)
            queue.take(job, record)
            report(progress())
    return list(failures.values())


Outcome = tuple[Job, Run | str]


def _outcomes(next_job: Callable[[], Job | None], jobs: int, threads: int) -> Generator[Outcome, None, None]:
    work = _Worker()
    if jobs > 1:
        with closing(in_processes(work, next_job, jobs, threads, title=attrgetter("title"))) as outcomes:
            yield from outcomes
        return
    while (job := next_job()) is not None:
        with computing_with(threads):
            outcome = work(job)
        yield outcome


class _Worker:
    """Runs jobs one after the other, and keeps the data of the last one."""

    def __init__(self) -> None:
        self._loaded: Task[Any] | None = None

    def task(self, experiment: Experiment) -> Task[Any]:
        """The task of an experiment, on the data that is loaded if it is the same."""
        if self._loaded is None or _data_of(self._loaded.experiment) != _data_of(experiment):
            self._loaded = None  # frees the data before other data is loaded
            self._loaded = load_task(experiment)
        elif self._loaded.experiment != experiment:
            self._loaded = self._loaded.with_experiment(experiment)
        return self._loaded

    def __call__(self, job: Job) -> Outcome:
        try:
            task = self.task(job.experiment)
            return job, task.trial(job.seed) if job.trial else task.run(job.seed)
        except Exception as error:  # noqa: BLE001  one failure must not cost the other experiments their time
            return job, f"{job.title}: {type(error).__name__}: {error}"


def _data_of(experiment: Experiment) -> tuple[object, ...]:
    return experiment.task, experiment.data, experiment.graph, experiment.k, experiment.model in CLASSICAL


def expected_seconds(
    queue: Sequence[Job], records: Iterable[Record], threads: int, report: Report = lambda _: None
) -> list[Job]:
    """The jobs with the time that each may take, by records of the same model and graph, or by timing a few epochs."""
    known: dict[str, list[float]] = {}
    for record in records:
        if record.error is None and record.budget.get("threads") == threads:
            known.setdefault(_costs_like(record.experiment), []).append(record.seconds / _trained_epochs(record))
    likes = [_costs_like(job.experiment.describe()) for job in queue]
    unknown = len(set(likes) - known.keys())
    if unknown:
        report(f"timing a few epochs of {unknown} configuration{'s' if unknown > 1 else ''} without records")
    timed, worker, alone = [], _Worker(), len({job.run[0] for job in queue}) == 1
    for job, like in zip(queue, likes, strict=True):
        if like not in known:
            known[like] = [_seconds_an_epoch(worker, job, threads, alone=alone)]
        an_epoch = sum(known[like]) / len(known[like])
        timed.append(replace(job, seconds=an_epoch * job.epochs))
    return timed


def _costs_like(description: Mapping[str, Any]) -> str:
    """The same for experiments whose epochs cost the same: all but what is trained how long and how fast."""
    free, free_arguments = ("lr", "weight_decay", "protocol", "share"), ("dropout", "epsilon", "initial_epsilon")
    return canonical_json(
        {
            **{name: value for name, value in description.items() if name not in free},
            "arguments": {name: v for name, v in description["arguments"].items() if name not in free_arguments},
            "batches": [description["protocol"].get(name) for name in ("batch_size", "folds")],
        }
    )


def _most_epochs(description: dict[str, Any]) -> int:
    return 1 if description["model"] in CLASSICAL else int(description["protocol"]["epochs"])


def _trained_epochs(record: Record) -> int:
    most, patience = _most_epochs(record.experiment), record.experiment["protocol"].get("patience")
    return most if patience is None else min(most, int(record.metrics["epoch"]) + 1 + patience)


def _seconds_an_epoch(worker: _Worker, job: Job, threads: int, *, alone: bool) -> float:
    """By a few epochs; an experiment that cannot be run is bad input if `alone`, else it fails when its turn comes."""
    short = replace(job.experiment.protocol, epochs=_TIMED_EPOCHS, patience=None)
    experiment = replace(job.experiment, protocol=short)
    with computing_with(threads):
        try:
            task = worker.task(experiment)
            task.run(job.seed)  # warms up
            timed = task.run(job.seed)
        except Exception as error:
            if alone and isinstance(error, InputError):
                raise
            return 0.0  # the run itself reports its failure, and the others must not wait for that
    return timed.seconds / Job(experiment, job.seed).epochs
