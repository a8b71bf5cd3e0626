"""`s2gnn study`: experiments with records that an interruption does not harm."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.progress import TextColumn

from s2gnn import provenance
from s2gnn.bench.cost_model import render_cost_model
from s2gnn.bench.report import render_benchmark
from s2gnn.cli.output import AsJson, check_writable, command_line, counting_bar, duration, names, print_table
from s2gnn.cli.search import search
from s2gnn.cli.study_runs import Request, run_measured, run_trained
from s2gnn.cli.values import assignment, refuse
from s2gnn.data.catalogue import Kind, entry, graph_title
from s2gnn.data.splits import TEST_SEEDS
from s2gnn.errors import InputError
from s2gnn.files import write_atomically
from s2gnn.learning.protocol import PROTOCOLS
from s2gnn.learning.records import Records
from s2gnn.nn import MODELS
from s2gnn.render import FormatName, fill_sections, render
from s2gnn.studies import Cell, CellProgress, CellResult, make_cell, run_cell
from s2gnn.studies.budget import BUDGETS, named_budget
from s2gnn.studies.findings import FINDINGS, HEADLINE, findings, headline
from s2gnn.studies.part import Part
from s2gnn.studies.registry import MEASURED, check_study, studies, study_json, study_layout, trained_kind
from s2gnn.studies.run import cell_result
from s2gnn.studies.summary import HEADER, mean_text, render_records, summaries

app = typer.Typer(help="Run experiments of the paper; what is done is kept.", no_args_is_help=True)
app.command()(search)


@app.command("list")
def list_command(as_json: AsJson = False) -> None:
    """List the studies and the budgets.

    Example: [bold]s2gnn study list[/bold]
    """
    if as_json:
        known = {"studies": list(map(asdict, studies())), "budgets": list(map(asdict, BUDGETS.values()))}
        print(json.dumps(known, indent=2))
        return
    print_table("Studies", ("name", "what", "size"), [(study.name, study.title, study.size) for study in studies()])
    print_table("Budgets", ("name", "what"), [(budget.name, budget.description) for budget in BUDGETS.values()])


@app.command()
def run(
    study: Annotated[str | None, typer.Argument(help="A study; left out, one cell is run, given by --data.")] = None,
    models: Annotated[str | None, typer.Option(help="Of a study: these models only, with commas.")] = None,
    budget: Annotated[str | None, typer.Option(help=f"Of a study: {', '.join(BUDGETS)}; quick if left out.")] = None,
    results: Annotated[Path, typer.Option(help="Of a study: the folder of the records.")] = Path("results"),
    data: Annotated[
        str | None, typer.Option(help="The data set of a cell; of a study, these only, with commas.")
    ] = None,
    records: Annotated[
        Path | None, typer.Option(help="Of a cell: file of the results (.jsonl), which also tells what is done.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help=f"Of a cell: one of {', '.join(MODELS)}; s2gnn if left out.")
    ] = None,
    graph: Annotated[
        Kind | None, typer.Option(help="Of a cell: kind of the graph; that of the paper's Table I if left out.")
    ] = None,
    k: Annotated[int | None, typer.Option(min=1, help="Of a cell: neighbours; the paper's if left out.")] = None,
    protocol: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(PROTOCOLS)}; of a study, this one only.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, max=len(TEST_SEEDS), help="How many of the paper's test seeds; a study's budget knows."),
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Of a cell: a hyperparameter, as NAME=VALUE; may be repeated.")
    ] = None,
    storage: Annotated[
        str | None, typer.Option(help="Of a study with budget full: where its searches are kept.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at the same time.")] = 1,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Start no run that would not be done after so long.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a study, or one cell of a table: a model on a data set with many seeds.

    Every finished seed is a line of the records. Stopped in any way, the same command goes on after the last line.

    Examples: [bold]s2gnn study run table2-knn --models s2gnn,gcn --budget quick --jobs 2 --minutes 60[/bold]

    [bold]s2gnn study run --data cancer-b --graph knn --model s2gnn --set epsilon=1.5 --jobs 2 --minutes 20
    --records results/cancer-b.jsonl[/bold]
    """
    if study is not None:
        check_study(study)
        of_a_cell = {"--records": records, "--model": model, "--graph": graph, "--k": k, "--set": changes}
        refuse(of_a_cell, f"is for one cell, but the study {study} knows its own: leave it out")
        if study in MEASURED:
            of_a_table = {"--models": models, "--protocol": protocol, "--seeds": seeds}
            refuse(
                {**of_a_table, "--storage": storage, "--minutes": minutes}, f"means nothing to {study}: leave it out"
            )
            measured = MEASURED[study] if budget is None else MEASURED[study].within(named_budget(budget))
            run_measured(measured, results, data)
            layout, content = study_layout(study, results), study_json(study, results)
        else:
            request = Request(study, results, budget or "quick", data, models, protocol, seeds, storage, jobs, minutes)
            kind, result = trained_kind(study), run_trained(request)
            layout, content = kind.layout(result), kind.json(result)
        print(json.dumps(content, indent=2) if as_json else render(layout, "text"))
        return
    if data is None or records is None:
        raise InputError("nothing to run: name a study (s2gnn study list), or give --data and --records for one cell")
    refuse({"--models": models, "--budget": budget, "--storage": storage}, "is for a study: leave it out for one cell")
    _run_cell(
        data,
        records,
        model or "s2gnn",
        graph,
        k,
        protocol or ("released-graphs" if entry(data).task == "graphs" else "released"),
        seeds,
        changes,
        jobs,
        minutes,
        as_json,
    )


def _run_cell(
    data: str,
    records: Path,
    model: str,
    graph: Kind | None,
    k: int | None,
    protocol: str,
    seeds: int | None,
    changes: list[str] | None,
    jobs: int,
    minutes: float | None,
    as_json: bool,
) -> None:
    check_writable(records, ".jsonl")
    chosen = dict(map(assignment, changes or ()))
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


@app.command()
def show(
    study: Annotated[str, typer.Argument(help="A study, or a file of results (.jsonl).")],
    form: Annotated[Literal[FormatName, "json"], typer.Option("--format", help="How to print the table.")] = "text",
    results: Annotated[Path, typer.Option(help="The folder of the records of a study.")] = Path("results"),
    data: Annotated[str | None, typer.Option(help="These data sets only, with commas.")] = None,
    models: Annotated[str | None, typer.Option(help="These models only, with commas.")] = None,
    budget: Annotated[
        str | None, typer.Option(help=f"Runs with these of {', '.join(BUDGETS)} only, with commas; all but smoke.")
    ] = None,
) -> None:
    """Print the table of a study from its records, beside the numbers of the paper; or sum up one file of records.

    Examples: [bold]s2gnn study show table2-knn --data isolet --format markdown[/bold]

    [bold]s2gnn study show results/reproduction.jsonl[/bold]
    """
    parts = {"--data": data, "--models": models, "--budget": budget}
    if study.endswith(".jsonl"):
        refuse(parts, "is for a study: leave it out for a file of results")
        _show_file(Path(study), form)
        return
    check_study(study)
    _check_folder(results)
    if study in MEASURED:
        refuse(parts, f"means nothing to {study}, which is shown whole: leave it out")
    budgets = names(budget)
    part = Part(names(data), names(models), list(map(named_budget, budgets)) if budgets else None)
    if form == "json":
        print(json.dumps(study_json(study, results, part), indent=2))
    else:
        print(render(study_layout(study, results, part), form), end="")


def _show_file(records: Path, form: str) -> None:
    if not records.is_file():
        raise InputError(f"{records} is not a file: give one that s2gnn study run has made")
    found = summaries(Records(records))
    if not found:
        raise InputError(f"{records} has no record: give a file that s2gnn study run has made")
    if form == "markdown":
        print(render_records(records))
    elif form == "json":
        print(json.dumps([asdict(summary) for summary in found], indent=2))
    elif form == "text":
        print_table(f"Records of {records.name}", HEADER, [summary.cells() for summary in found])
    else:
        raise InputError(f"a file of records is shown as text, markdown or json, not as {form}: name a study")


@app.command()
def document(
    page: Annotated[Path, typer.Argument(help="The Markdown document with the markers.")],
    results: Annotated[Path, typer.Option(help="The folder of the records.")] = Path("results"),
) -> None:
    """Put the tables of stored records, of studies and of benchmarks, into a document.

    A table goes between <!-- record: NAME --> and <!-- end -->, NAME being a study or a file of the folder.

    Example: [bold]s2gnn study document docs/reproduction.md[/bold]
    """
    if not page.is_file():
        raise InputError(f"{page} is not a file: give the Markdown document that the tables go into")
    _check_folder(results)
    try:
        text = page.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{page} is no text ({error}): give the Markdown document that the tables go into") from error
    write_atomically(page, fill_sections(text, partial(render_section, results)).encode())


def _check_folder(results: Path) -> None:
    if not results.is_dir():
        raise InputError(f"{results} is not a folder: give that of the records with --results")


def render_section(results: Path, name: str) -> str:
    """What a document shows of a study, of a file of records, or of a stored benchmark."""
    if name.endswith(".jsonl"):
        return render_records(results / name)
    if name.startswith("bench-"):
        return render_benchmark(results / name)
    if name == "cost-model":
        return render_cost_model(results)
    if name in (FINDINGS, HEADLINE):
        return findings(results) if name == FINDINGS else headline(results)
    return render(study_layout(name, results), "markdown")


def _print_row(result: CellResult) -> None:
    cell, confidence, seconds = result.cell, result.confidence, result.seconds
    score = mean_text(confidence, result.deviation) if confidence else "–"
    metric = "ROC-AUC (%)" if result.metric == "test_roc_auc" else "accuracy (%)"
    run, folds = cell.protocol.run, cell.protocol.folds
    print_table(
        f"Mean over {run}s on the test nodes or graphs ± {'their standard deviation' if folds else '95 % half-width'}",
        ("data", "graph", "model", "protocol", metric, f"{run}s", f"seconds per {run}"),
        [
            (
                cell.data,
                graph_title(cell.graph, cell.k),
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
        "command": command_line(),
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
    with counting_bar(TextColumn("{task.fields[left]}")) as bar:
        task = bar.add_task(f"{cell.title}: preparing", total=len(cell.seeds), left="")

        def update(progress: CellProgress) -> None:
            seeds = ", ".join(map(str, progress.running)) or "–"
            left = "" if progress.seconds_left is None else f"about {duration(progress.seconds_left)} left"
            bar.update(task, description=f"{cell.title}: seed {seeds}", completed=progress.finished, left=left)

        yield update
