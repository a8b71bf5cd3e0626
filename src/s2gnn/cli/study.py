"""`s2gnn study`: experiments with records that an interruption does not harm."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from s2gnn import provenance
from s2gnn.bench.document import render_benchmark
from s2gnn.cli.output import AsJson, check_writable, print_table
from s2gnn.data.catalogue import Kind
from s2gnn.data.splits import TEST_SEEDS
from s2gnn.documents import with_records
from s2gnn.errors import InputError
from s2gnn.files import write_atomically
from s2gnn.learning.hyperparameters import Value
from s2gnn.learning.protocol import PROTOCOLS
from s2gnn.learning.records import Records
from s2gnn.nn.models import MODELS
from s2gnn.studies import Cell, CellProgress, CellResult, make_cell, run_cell
from s2gnn.studies.run import cell_result
from s2gnn.studies.summary import HEADER, render_records, summaries

app = typer.Typer(help="Run experiments of the paper; what is done is kept.", no_args_is_help=True)


@app.command()
def run(
    data: Annotated[str, typer.Option(help="Name of the data set.")],
    records: Annotated[Path, typer.Option(help="File of the results (.jsonl), which also tells what is done.")],
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}.")] = "s2gnn",
    graph: Annotated[
        Kind | None, typer.Option(help="Kind of the graph; that of the paper's Table I if left out.")
    ] = None,
    k: Annotated[int | None, typer.Option(min=1, help="Neighbours; the paper's if left out.")] = None,
    protocol: Annotated[str, typer.Option(help=f"One of {', '.join(PROTOCOLS)}.")] = "released",
    seeds: Annotated[int, typer.Option(min=1, max=len(TEST_SEEDS), help="How many of the paper's test seeds.")] = len(
        TEST_SEEDS
    ),
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="A hyperparameter, as NAME=VALUE; may be repeated.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at the same time.")] = 1,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Start no run that would not be done after so long.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train one model on one data set with many seeds, and print its row of the table.

    Every finished seed is a line of RECORDS. Stopped in any way, the same command goes on after the last line.

    Example: [bold]s2gnn study run --data cancer-b --graph knn --model s2gnn --set epsilon=1.5 --jobs 2 --minutes 20
    --records results/cancer-b.jsonl[/bold]
    """
    check_writable(records, ".jsonl")
    chosen = dict(_assignment(text) for text in changes or [])
    cell = make_cell(data, model, protocol, graph=graph, k=k, changes=chosen, seeds=seeds)
    file = Records(records)
    try:
        with _progress(cell) as on_progress:
            result = run_cell(cell, file, jobs, minutes, on_progress)
    except KeyboardInterrupt:
        _say_how_to_go_on(cell_result(cell, file), records)
        raise
    if as_json:
        print(json.dumps(_as_json(result, records), indent=2))
    else:
        _print_row(result)
    if not result.complete:
        _say_how_to_go_on(result, records)


class Format(StrEnum):
    """How a table is printed."""

    text = "text"
    markdown = "markdown"
    json = "json"


@app.command()
def show(
    records: Annotated[Path, typer.Argument(help="A file of results (.jsonl).")],
    form: Annotated[Format, typer.Option("--format", help="How to print the table.")] = Format.text,
) -> None:
    """Sum up a file of records: one line for each configuration, beside the number that the paper printed.

    Example: [bold]s2gnn study show results/reproduction.jsonl[/bold]
    """
    if not records.is_file():
        raise InputError(f"{records} is not a file: give one that s2gnn study run has made")
    if form is Format.markdown:
        print(render_records(records))
        return
    found = summaries(Records(records))
    if form is Format.json:
        print(json.dumps([asdict(summary) for summary in found], indent=2))
    else:
        print_table(f"Records of {records.name}", HEADER, [summary.cells() for summary in found])


@app.command()
def document(
    page: Annotated[Path, typer.Argument(help="The Markdown document with the markers.")],
    results: Annotated[Path, typer.Option(help="The folder of the records.")] = Path("results"),
) -> None:
    """Put the tables of stored records, of studies and of benchmarks, into a document.

    A table goes between <!-- record: NAME --> and <!-- end -->, NAME being a file of the folder.

    Example: [bold]s2gnn study document docs/reproduction.md[/bold]
    """
    if not page.is_file():
        raise InputError(f"{page} is not a file: give the Markdown document that the tables go into")

    def render(name: str) -> str:
        return render_records(results / name) if name.endswith(".jsonl") else render_benchmark(results / name)

    write_atomically(page, with_records(page.read_text(), render).encode())


def _assignment(text: str) -> tuple[str, Value]:
    """NAME=VALUE as a name and an integer, a number or a string."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise InputError(f"--set {text} is not of the form NAME=VALUE, such as epsilon=1.5")
    for convert in (int, float):
        try:
            return name, convert(value)
        except ValueError:
            continue
    return name, value


def _print_row(result: CellResult) -> None:
    cell, confidence, seconds = result.cell, result.confidence, result.seconds
    score = f"{100 * confidence.mean:.2f} ± {100 * confidence.half_width:.2f}" if confidence else "–"
    metric = "ROC-AUC (%)" if result.metric == "test_roc_auc" else "accuracy (%)"
    graph = cell.graph if cell.k is None else f"{cell.graph}, k = {cell.k}"
    print_table(
        "Mean over seeds on the test nodes ± 95 % half-width",
        ("data", "graph", "model", "protocol", metric, "seeds", "seconds per seed"),
        [
            (
                cell.data,
                graph,
                cell.model,
                cell.protocol.name,
                score,
                f"{len(result.records)} of {len(cell.seeds)}",
                "–" if seconds is None else f"{seconds:.2f}",
            )
        ],
    )


def _as_json(result: CellResult, records: Path) -> dict[str, object]:
    return {
        "command": shlex.join(["s2gnn", *sys.argv[1:]]),
        "commit": provenance.commit(),
        "versions": provenance.versions(),
        "records": str(records),
        "config": result.cell.config,
        "config_hash": result.cell.config_hash,
        "complete": result.complete,
        "metric": result.metric,
        "score": asdict(result.confidence) if result.confidence else None,
        "seconds": result.seconds,
        "seeds": {str(seed): record.metrics for seed, record in result.records.items()},
    }


def _say_how_to_go_on(result: CellResult, records: Path) -> None:
    done = f"{len(result.records)} of {len(result.cell.seeds)} seeds are in {records}"
    print(f"{done}; the same command goes on from there", file=sys.stderr)


@contextmanager
def _progress(cell: Cell) -> Iterator[Callable[[CellProgress], None]]:
    """A bar that names the cell, the seeds in training and the time left."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(f"{cell.title}: preparing", total=len(cell.seeds), left="")

        def update(progress: CellProgress) -> None:
            seeds = ", ".join(map(str, progress.running)) or "–"
            left = "" if progress.seconds_left is None else f"about {_duration(progress.seconds_left)} left"
            bar.update(task, description=f"{cell.title}: seed {seeds}", completed=progress.finished, left=left)

        yield update


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
