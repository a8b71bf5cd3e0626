"""Run experiments: resumable, with a time limit, in one process or several."""

import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING

import torch

from s2gnn import provenance
from s2gnn.devices import CPU
from s2gnn.experiments.experiment import Experiment
from s2gnn.experiments.jobs import Job, Outcome, Progress, Report, Worker, expected_seconds
from s2gnn.experiments.protocols import Budget
from s2gnn.experiments.queue import Queue, SearchQueue, missing_jobs
from s2gnn.experiments.records import Record, Records, search_records
from s2gnn.learning.many import threads_per_run
from s2gnn.learning.pool import in_processes
from s2gnn.progress import duration
from s2gnn.threads import computing_with

if TYPE_CHECKING:
    from s2gnn.experiments.search import SearchResult


def run_experiments(
    experiments: Iterable[Experiment],
    records: Records,
    report: Report,
    jobs: int = 1,
    minutes: float | None = None,
    budget: Budget | None = None,
    searched_on: Mapping[str, Experiment] = MappingProxyType({}),
    device: torch.device = CPU,
) -> list[str]:
    """Train every run without a record, each experiment after a search if the budget has one.

    Args:
        experiments: each with its seeds.
        records: where results are looked up and appended; those of searches are in the folder "searches" next to them.
        report: receives estimates and progress.
        jobs: number of processes.
        minutes: start no run that would not finish by then.
        budget: of the study; `None` for single experiments.
        searched_on: the experiment to run each search on, by key; default: the experiment itself.
        device: where networks are trained; records name it if it is not the CPU.

    Returns:
        Why runs failed, one line each.
    """
    wanted = list({experiment.key: experiment for experiment in experiments}.values())
    end = None if minutes is None else time.monotonic() + 60 * minutes
    name = "" if budget is None else f"budget {budget.name}: "
    queue: Queue
    if budget is not None and budget.rungs:
        queue = SearchQueue(wanted, records, budget, threads_per_run(jobs), report, searched_on, device)
    else:
        missing = missing_jobs(wanted, records)
        queue = Queue(expected_seconds(missing, records.read(), threads_per_run(jobs), report, device))
    if not queue.total:
        if wanted:
            report(f"{name}all runs of {len(wanted)} experiments are on record")
        return []
    stops_early = any(experiment.protocol.patience for experiment in wanted) and not (budget and budget.rungs)
    bound = "at most about" if stops_early else "about"
    limit = "" if minutes is None else f", stops after {minutes:g} min"
    report(f"{name}{queue.total} runs to train, {bound} {duration(queue.seconds / jobs)} of training{limit}")
    try:
        budget_name = budget.name if budget else None
        return run_jobs(queue, records, jobs, end=end, budget=budget_name, report=report, device=device)
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


def run_jobs(
    queue: Queue,
    records: Records,
    jobs: int = 1,
    *,
    end: float | None = None,
    budget: str | None = None,
    report: Report = lambda _: None,
    device: torch.device = CPU,
) -> list[str]:
    """Train and score the runs of a queue, and append a record as each finishes.

    Interrupted at any time, a new queue resumes after the last record; runs in training are lost. A run that fails
    does not stop the other experiments, and a new queue includes it again. A failed trial of a search, in contrast, is
    recorded with its error and the lowest score, so that the search continues without its configuration. This does not
    hold where the cause may be something other than the configuration: data that cannot be loaded, no memory or a
    failed file operation count as a failed run, and a killed process, which the system may have chosen because of what
    else was running, leaves no record and stops all runs, since the others are likely to be killed as well.

    Args:
        queue: the runs.
        records: where results go; see `search_records` for those of searches.
        jobs: number of processes; 1 trains in this one. Each computes with its share of the threads.
        end: start no run that would not finish by this time, of `time.monotonic`, which no change of the clock moves.
        budget: name of the budget, for the records.
        report: called when a run starts and when it ends.
        device: where networks are trained.

    Returns:
        Why runs failed, one line each.

    Raises:
        SeedError: when a process is killed.
    """
    threads, commit, versions = threads_per_run(jobs), provenance.commit(), provenance.versions()
    optional = {**({"name": budget} if budget else {}), **({} if device.type == "cpu" else {"device": str(device)})}
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
            if end is not None and time.monotonic() + max(job.seconds, longest.get(key, 0.0)) >= end:
                return None
            running.append(job)
            report(progress())
            return job
        return None

    with closing(_outcomes(next_in_time, jobs, threads, device)) as outcomes:
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
                budget={"epochs": protocol.epochs, "threads": threads, **optional},
                finished=datetime.now(UTC).isoformat(timespec="seconds"),
                commit=commit,
                versions=versions,
                error=outcome.error,
            )
            (search_records(records) if job.trial else records).append(record)
            queue.take(job, record)
            report(progress())
    return list(failures.values())


def _outcomes(
    next_job: Callable[[], Job | None], jobs: int, threads: int, device: torch.device
) -> Generator[Outcome, None, None]:
    work = Worker(device)
    if jobs > 1:
        with closing(in_processes(work, next_job, jobs, threads, title=attrgetter("title"))) as outcomes:
            yield from outcomes
        return
    while (job := next_job()) is not None:
        with computing_with(threads):
            outcome = work(job)
        yield outcome


def search_progress(result: "SearchResult") -> Progress:
    """Return the state of a search."""
    best = "" if result.score is None else f", best {100 * result.score:.2f} %"
    description = f"{result.experiment.title}: {result.running} running{best}"
    return Progress(description, result.finished, result.trials)
