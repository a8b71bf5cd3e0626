"""How `s2gnn study run` runs the studies that are tables: what is missing, how long it takes, progress, failures."""

import shlex
import sys
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from s2gnn.cli.output import check_writable, duration
from s2gnn.data.catalogue import entry
from s2gnn.errors import InputError
from s2gnn.learning.many import threads_per_run
from s2gnn.learning.protocol import Protocol
from s2gnn.learning.records import RecordsFolder
from s2gnn.studies import data_table
from s2gnn.studies.budget import Budget, named_budget
from s2gnn.studies.schedule import Estimates, Job, run_jobs, unfinished
from s2gnn.studies.table import AccuracyTable, load_table


def run_table(
    name: str,
    results: Path,
    budget_name: str,
    data: str | None,
    models: str | None,
    protocol: str | None,
    seeds: int | None,
    storage: str | None,
    jobs: int,
    minutes: float | None,
) -> None:
    """Train what an accuracy table lacks."""
    budget = named_budget(budget_name)
    table = load_table(name).chosen(_names(data), _names(models))
    protocols = table.protocols if protocol is None else (_one_of(table, protocol),)
    records = RecordsFolder(results, name)
    check_writable(records.path, ".jsonl")
    console = Console(stderr=True)
    wanted = _jobs(table, protocols, budget, seeds, storage, jobs, minutes, console)
    parts = unfinished(wanted, records)
    total = sum(len(part.cell.seeds) for part in parts)
    if not total:
        console.print(f"{name}, budget {budget.name}: every run is on record")
        return
    estimate = Estimates(records, threads_per_run(jobs))
    with console.status("timing a few epochs of every model"):
        seconds = sum(estimate.seconds(part.cell) for part in parts) / jobs
    limit = "" if minutes is None else f", stops after {minutes:g} min"
    at_most = "at most " if budget.patience is not None else ""
    console.print(f"{name}, budget {budget.name}: {total} runs to train, {at_most}about {duration(seconds)}{limit}")
    failures = []
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
    ) as bar:
        task = bar.add_task(name, total=total)
        started: list[str] = []

        def show(part: Job) -> None:
            started.append(part.cell.title)
            bar.update(task, description=", ".join(started[-jobs:]))

        for finished in run_jobs(parts, records, jobs, minutes, show):
            bar.advance(task, finished.done)
            if finished.failure:
                failures.append(finished.failure)
    left = sum(len(part.cell.seeds) for part in unfinished(wanted, records))
    if left:
        console.print(f"{total - left} of {total} runs done; the same command goes on from there")
    if failures:
        for failure in failures:
            print(f"failed: {failure}", file=sys.stderr)
        raise typer.Exit(1)


def _jobs(
    table: AccuracyTable,
    protocols: tuple[Protocol, ...],
    budget: Budget,
    seeds: int | None,
    storage: str | None,
    jobs: int,
    minutes: float | None,
    console: Console,
) -> list[Job]:
    """Every cell of the table under every protocol, seed after seed in the same order for all."""
    del storage, jobs, minutes, console
    return [
        Job(table.cell(cell, protocol, budget, seeds), budget.name) for cell in table.cells for protocol in protocols
    ]


def _one_of(table: AccuracyTable, name: str) -> Protocol:
    known = {protocol.name: protocol for protocol in table.protocols}
    if name not in known:
        raise InputError(f"{table.name} has no protocol {name!r}: choose from {', '.join(known)}")
    return known[name]


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(","))


def run_data_table(results: Path, data: str | None) -> None:
    """Measure the data sets of Table I and their graphs."""
    path = results / f"{data_table.NAME}.json"
    check_writable(path, ".json")
    names = [entry(name).name for name in _names(data) or data_table.published_names()]
    kinds = [(name, kind) for name in names for kind in data_table.kinds(name)]
    rows = []
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=len(kinds))
        for name, kind in kinds:
            bar.update(task, description=f"{name} {kind}")
            rows.append(data_table.measure(name, kind))
            bar.advance(task)
    data_table.write(path, rows, shlex.join(["s2gnn", *sys.argv[1:]]))
