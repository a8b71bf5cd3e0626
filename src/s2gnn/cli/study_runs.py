"""How `s2gnn study run` runs a study: what is missing, how long it takes, progress, failures."""

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from s2gnn.cli.output import check_writable, command_line, counting_bar, duration, names
from s2gnn.cli.search import search_progress
from s2gnn.cli.values import refuse
from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.errors import SeedError
from s2gnn.learning.many import threads_per_run
from s2gnn.learning.protocol import Protocol
from s2gnn.learning.records import RecordsFolder
from s2gnn.search import SearchConfig, search, search_result
from s2gnn.studies.budget import Budget, named_budget, searchless_budget
from s2gnn.studies.cell import Cell
from s2gnn.studies.links import LINKS, LinkResult, link_result
from s2gnn.studies.measured import MeasuredStudy
from s2gnn.studies.part import check_names
from s2gnn.studies.registry import LINK_PREDICTION, SWEEP, TABLE, TrainedKind, trained_kind
from s2gnn.studies.results import TableResult, table_result
from s2gnn.studies.schedule import Estimates, Job, run_jobs, unfinished
from s2gnn.studies.sweeps import SweepResult, sweep_result
from s2gnn.studies.sweeps.stored import SWEEPS, write_files
from s2gnn.studies.table import AccuracyTable, load_table


@dataclass(frozen=True)
class Request:
    """What the command line asks for: names with commas, or `None` for all; the rest as in `s2gnn study run`."""

    study: str
    results: Path
    budget: str
    data: str | None
    models: str | None
    protocol: str | None
    seeds: int | None
    storage: str | None
    jobs: int
    minutes: float | None


def run_trained(request: Request) -> TableResult | LinkResult | SweepResult:
    """Train what a study lacks, in the way of its kind; the part that was asked for, with the runs of this budget."""
    runs: dict[TrainedKind[Any], Callable[[Request], TableResult | LinkResult | SweepResult]] = {
        TABLE: _run_table,
        LINK_PREDICTION: _run_links,
        SWEEP: _run_sweep,
    }
    return runs[trained_kind(request.study)](request)


def _run_table(request: Request) -> TableResult:
    part = names(request.data), names(request.models)
    table = load_table(request.study).chosen(*part)
    if table.folds is None:
        budget = named_budget(request.budget)
    else:
        budget = _without_search(request, "holds hyperparameters over its folds")
    protocols = table.protocols if request.protocol is None else (_one_of(table, request.protocol),)
    cells = (table.cell(cell, protocol, budget, request.seeds) for cell in table.cells for protocol in protocols)
    records = RecordsFolder(request.results, request.study)
    _exit_if_any(_train(request, budget, cells, records))
    return table_result(load_table(request.study), records, [budget]).chosen(*part)


def _run_links(request: Request) -> LinkResult:
    unused = {"--storage": request.storage, "--protocol": request.protocol}
    refuse(unused, f"means nothing to {request.study}: leave it out")
    budget = _without_search(request, "has no search")
    part = names(request.data), names(request.models)
    records = RecordsFolder(request.results, request.study)
    _exit_if_any(_train(request, budget, LINKS.chosen(*part).cells(budget, request.seeds), records))
    return link_result(LINKS, records, [budget]).chosen(*part)


def _run_sweep(request: Request) -> SweepResult:
    """Train, and draw the curves."""
    refuse({"--storage": request.storage}, f"means nothing to {request.study}, which has no search: leave it out")
    budget = _without_search(request, "holds all hyperparameters but one")
    sweep = SWEEPS[request.study].chosen(names(request.data), names(request.models), request.protocol)
    records = RecordsFolder(request.results, request.study)
    failures = _train(request, budget, sweep.cells(budget, request.seeds), records)
    written = write_files(request.study, request.results, budget)
    if written:
        Console(stderr=True).print(f"wrote {request.results / request.study} as {', '.join(written)}")
    _exit_if_any(failures)
    return sweep_result(sweep, records, [budget])


def _without_search(request: Request, why: str) -> Budget:
    """The budget of a study whose hyperparameters are given; says `why` where that is not the one asked for."""
    budget = searchless_budget(request.budget)
    if budget.name != request.budget:
        Console(stderr=True).print(f"{request.study} {why}: {request.budget} is {budget.name} here")
    return budget


def _train(request: Request, budget: Budget, cells: Iterable[Cell], records: RecordsFolder) -> list[str]:
    """Train the seeds of `cells` that have no record, after a search where the budget has one; what failed."""
    wanted = list({cell.config_hash: Job(cell, budget.name) for cell in cells}.values())
    check_writable(records.path, ".jsonl")
    console = Console(stderr=True)
    estimates = Estimates(records, threads_per_run(request.jobs))
    end = None if request.minutes is None else time.time() + 60 * request.minutes
    failures: list[str] = []
    if budget.trials:
        request.results.mkdir(parents=True, exist_ok=True)
        storage = request.storage or str(request.results / "search.db")
        wanted = _searched(
            wanted, SearchConfig("random", budget.trials), storage, request.jobs, end, estimates, console, failures
        )
    parts = unfinished(wanted, records)
    total = sum(len(part.cell.seeds) for part in parts)
    if not total:
        if wanted:
            console.print(f"{request.study}, budget {budget.name}: every run of {len(wanted)} cells is on record")
        return failures
    with console.status("timing a few epochs of every model that has no record"):
        parts = [replace(part, seconds=estimates.seconds(part.cell) / len(part.cell.seeds)) for part in parts]
    seconds = sum(part.seconds * len(part.cell.seeds) for part in parts) / request.jobs
    bound = "at most about" if budget.patience else "about"
    limit = "" if request.minutes is None else f", stops after {request.minutes:g} min"
    runs = f"{total} runs to train, {bound} {duration(seconds)} of training"
    console.print(f"{request.study}, budget {budget.name}: {runs}{limit}")
    try:
        return failures + _run(parts, records, request.jobs, end)
    finally:
        left = sum(len(part.cell.seeds) for part in unfinished(wanted, records))
        if left:
            console.print(f"{total - left} of {total} runs done; the same command goes on from there")


def _exit_if_any(failures: list[str]) -> None:
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    if failures:
        raise typer.Exit(1)


def _run(parts: list[Job], records: RecordsFolder, jobs: int, end: float | None) -> list[str]:
    """Run the parts under a bar that names the cells in training; what failed."""
    failures = []
    with counting_bar() as bar:
        task = bar.add_task("starting", total=sum(len(part.cell.seeds) for part in parts))
        running: list[str] = []

        def show() -> None:
            bar.update(task, description=", ".join(running) or "done")

        def start(part: Job) -> None:
            running.append(part.cell.title)
            show()

        for finished in run_jobs(parts, records, jobs, end, start):
            running.remove(finished.cell.title)
            show()
            bar.advance(task, finished.done)
            if finished.failure:
                failures.append(finished.failure)
    return failures


def _searched(
    wanted: list[Job],
    config: SearchConfig,
    storage: str,
    jobs: int,
    end: float | None,
    estimates: Estimates,
    console: Console,
    failures: list[str],
) -> list[Job]:
    """The cells with the hyperparameters that a search found; those whose search is not finished are left out.

    A search that fails is added to `failures` and does not stop the others.
    """
    seeds = len(VALIDATION_SEEDS)
    with console.status("timing a few epochs of every model that has no record"):
        one = [estimates.seconds(replace(job.cell, seeds=job.cell.seeds[:1])) for job in wanted]
        left_of = [config.trials - search_result(job.cell, config, storage).finished for job in wanted]
    searching = sum(each * trials * seeds for each, trials in zip(one, left_of, strict=True)) / jobs
    testing = sum(each * len(job.cell.seeds) for each, job in zip(one, wanted, strict=True)) / jobs
    console.print(
        f"{len(wanted)} searches of {config.trials} trials with {seeds} seeds: {sum(left_of)} trials left, about "
        f"{duration(searching)}; then the test seeds, about {duration(testing)}"
    )
    found = []
    for job in wanted:
        left = None if end is None else max(0.0, end - time.time()) / 60
        try:
            with search_progress(job.cell.title, config.trials) as on_progress:
                result = search(job.cell, config, storage, jobs, left, on_progress)
        except SeedError as error:
            failures.append(f"search of {job.cell.title}: {error}")
            continue
        if result.best is not None and result.finished == config.trials:
            found.append(replace(job, cell=replace(job.cell, hyperparameters=result.best)))
        elif result.finished == config.trials:
            console.print(f"{job.cell.title}: none of {config.trials} trials could be trained; it is left out")
        else:
            console.print(
                f"{job.cell.title}: {result.finished} of {config.trials} trials; the search goes on next time"
            )
    return found


def _one_of(table: AccuracyTable, name: str) -> Protocol:
    known = {protocol.name: protocol for protocol in table.protocols}
    check_names(table.name, "protocol", (name,), known)
    return known[name]


def run_measured(study: MeasuredStudy, results: Path, data: str | None) -> None:
    """Measure a study that is stored whole."""
    check_writable(results / f"{study.name}.json", ".json")
    console = Console(stderr=True)
    with console.status(study.title) as status:
        study.run(results, command_line(), names(data), status.update)
    made = "json, csv" if study.draw is None else "json, csv, png and svg"
    console.print(f"wrote {results / study.name} as {made}")
