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
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from s2gnn import provenance
from s2gnn.errors import InputError, SeedError
from s2gnn.experiments.experiment import Experiment, canonical_json
from s2gnn.experiments.protocols import Budget
from s2gnn.experiments.records import Record, Records
from s2gnn.experiments.tasks import Run, Task, load_task
from s2gnn.learning.classical import CLASSICAL
from s2gnn.learning.many import computing_with, threads_per_run
from s2gnn.learning.pool import in_processes
from s2gnn.progress import duration

if TYPE_CHECKING:
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
    storage: str | Path = "search.db",
) -> list[str]:
    """Train every run without a record, after a hyperparameter search if the budget has one.

    Args:
        experiments: each with its seeds.
        records: where results are looked up and appended.
        report: receives estimates and progress.
        jobs: number of processes.
        minutes: start no run that would not finish by then.
        budget: of the study; `None` for single experiments.
        storage: of the searches.

    Returns:
        Why runs and searches failed, one line each.
    """
    wanted = list({experiment.key: experiment for experiment in experiments}.values())
    end = None if minutes is None else time.time() + 60 * minutes
    name = "" if budget is None else f"budget {budget.name}: "
    failures: list[str] = []
    if budget is not None and budget.trials:
        wanted = _searched(wanted, budget.trials, storage, jobs, end, records, report, failures)
    queue = missing_jobs(wanted, records)
    if not queue:
        if wanted:
            report(f"{name}all runs of {len(wanted)} experiments are on record")
        return failures
    queue = expected_seconds(queue, records, threads_per_run(jobs), report)
    bound = "at most about" if any(job.experiment.protocol.patience for job in queue) else "about"
    limit = "" if minutes is None else f", stops after {minutes:g} min"
    seconds = sum(job.seconds for job in queue) / jobs
    report(f"{name}{len(queue)} runs to train, {bound} {duration(seconds)} of training{limit}")
    try:
        return failures + run_jobs(queue, records, jobs, end=end, budget=budget.name if budget else None, report=report)
    finally:
        left = len(missing_jobs(wanted, records))
        if left:
            report(f"{len(queue) - left} of {len(queue)} runs finished; rerun the command to resume")


def search_module() -> ModuleType:
    """`s2gnn.experiments.search`, which needs Optuna."""
    if find_spec("optuna") is None:
        raise InputError("a search needs Optuna, which is not installed: pip install 's2gnn[search]'")
    return import_module("s2gnn.experiments.search")


def search_progress(result: "SearchResult") -> Progress:
    """The state of a search."""
    best = "" if result.score is None else f", best {100 * result.score:.2f} %"
    description = f"{result.experiment.title}: {result.running} running{best}"
    return Progress(description, result.finished, result.trials)


def _searched(
    wanted: Sequence[Experiment],
    trials: int,
    storage: str | Path,
    jobs: int,
    end: float | None,
    records: Records,
    report: Report,
    failures: list[str],
) -> list[Experiment]:
    """The experiments with the hyperparameters that a search found; those with an unfinished search are omitted."""
    module = search_module()
    config = module.SearchConfig("random", trials)
    timed = expected_seconds([Job(each, each.seeds[0]) for each in wanted], records, threads_per_run(jobs))
    left = [config.trials - module.search_result(each, config, storage).finished for each in wanted]
    searching = sum(job.seconds * count * len(config.seeds) for job, count in zip(timed, left, strict=True)) / jobs
    testing = sum(job.seconds * len(job.experiment.seeds) for job in timed) / jobs
    report(
        f"{len(wanted)} searches of {config.trials} trials with {len(config.seeds)} seeds: {sum(left)} trials left, "
        f"about {duration(searching)}; then the test seeds, about {duration(testing)}"
    )
    found = []
    for each in wanted:
        minutes = None if end is None else max(0.0, end - time.time()) / 60
        try:
            result = module.search(each, config, storage, jobs, minutes, lambda state: report(search_progress(state)))
        except SeedError as error:
            failures.append(f"search of {each.title}: {error}")
            continue
        if result.finished < config.trials:
            report(f"{each.title}: {result.finished} of {config.trials} trials; rerun the command to resume")
        elif result.best is None:
            report(f"{each.title}: none of {config.trials} trials could be trained; skipped")
        else:
            found.append(result.experiment)
    return found


def missing_jobs(experiments: Iterable[Experiment], records: Records) -> list[Job]:
    """The runs without a record, each once, the first seeds of every experiment first."""
    known = {(record.key, record.seed) for record in records.read()}
    queue: list[tuple[int, Job]] = []
    for experiment in experiments:
        key = experiment.key
        missing = [seed for seed in experiment.seeds if (key, seed) not in known]
        known.update((key, seed) for seed in missing)
        queue += [(place // _SEEDS_A_ROUND, Job(experiment, seed)) for place, seed in enumerate(missing)]
    return [job for _, job in sorted(queue, key=lambda found: found[0])]


def run_jobs(
    queue: Sequence[Job],
    records: Records,
    jobs: int = 1,
    *,
    end: float | None = None,
    budget: str | None = None,
    report: Report = lambda _: None,
) -> list[str]:
    """Train and score what `missing_jobs` found, and append a record as each run finishes.

    Interrupted at any time, the same call resumes after the last record; what is in training is lost. A run that fails
    does not stop the other experiments.

    Args:
        queue: the runs.
        records: where results go.
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
    done: set[tuple[str, int]] = set()
    longest: dict[str, float] = {}
    expected, taken = 0.0, 0.0  # by the runs that have finished

    def progress() -> Progress:
        left = sum(job.seconds for job in queue if job.run not in done) / jobs
        titles = dict.fromkeys(job.experiment.title for job in running)
        pace = taken / expected if expected else 1.0
        return Progress(", ".join(titles) or "done", len(done), len(queue), pace * left)

    def in_time() -> Iterator[Job]:
        for job in queue:
            key, _ = job.run
            if key in failures:
                done.add(job.run)
                continue
            if end is not None and time.time() + max(job.seconds, longest.get(key, 0.0)) >= end:
                return
            running.append(job)
            report(progress())
            yield job

    with closing(_outcomes(in_time(), jobs, threads)) as outcomes:
        for job, outcome in outcomes:
            running.remove(job)
            key, protocol = job.run[0], job.experiment.protocol
            done.add(job.run)
            if isinstance(outcome, str):
                failures.setdefault(key, outcome)
                report(progress())
                continue
            longest[key] = max(longest.get(key, 0.0), outcome.seconds)
            expected, taken = expected + job.seconds, taken + outcome.seconds
            records.append(
                Record(
                    key=key,
                    seed=outcome.seed,
                    experiment=job.experiment.describe(),
                    metrics=outcome.metrics,
                    seconds=outcome.seconds,
                    budget={"epochs": protocol.epochs, "threads": threads, **({"name": budget} if budget else {})},
                    finished=datetime.now(UTC).isoformat(timespec="seconds"),
                    commit=commit,
                    versions=versions,
                )
            )
            report(progress())
    return list(failures.values())


Outcome = tuple[Job, Run | str]


def _outcomes(queue: Iterator[Job], jobs: int, threads: int) -> Generator[Outcome, None, None]:
    work = _Worker()
    if jobs > 1:
        with closing(in_processes(work, queue, jobs, threads, title=attrgetter("title"))) as outcomes:
            yield from outcomes
        return
    for job in queue:
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
            return job, self.task(job.experiment).run(job.seed)
        except Exception as error:  # noqa: BLE001  one failure must not cost the other experiments their time
            return job, f"{job.title}: {type(error).__name__}: {error}"


def _data_of(experiment: Experiment) -> tuple[object, ...]:
    return experiment.task, experiment.data, experiment.graph, experiment.k, experiment.model in CLASSICAL


def expected_seconds(
    queue: Sequence[Job], records: Records, threads: int, report: Report = lambda _: None
) -> list[Job]:
    """The jobs with the time that each may take, by records of the same model and graph, or by timing a few epochs."""
    known: dict[str, list[float]] = {}
    for record in records.read():
        if record.budget.get("threads") == threads:
            known.setdefault(_costs_like(record.experiment), []).append(record.seconds / _trained_epochs(record))
    descriptions = [job.experiment.describe() for job in queue]
    likes = list(map(_costs_like, descriptions))
    unknown = len(set(likes) - known.keys())
    if unknown:
        report(f"timing a few epochs of {unknown} configuration{'s' if unknown > 1 else ''} without records")
    timed, worker, alone = [], _Worker(), len({job.run[0] for job in queue}) == 1
    for job, description, like in zip(queue, descriptions, likes, strict=True):
        if like not in known:
            known[like] = [_seconds_an_epoch(worker, job, threads, alone=alone)]
        an_epoch = sum(known[like]) / len(known[like])
        timed.append(replace(job, seconds=an_epoch * _most_epochs(description)))
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
    return timed.seconds / _most_epochs(experiment.describe())
