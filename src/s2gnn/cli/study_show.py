"""`s2gnn study show`, `document` and `draw`: stored results on a terminal, on a page and as pictures."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from s2gnn.bench.cost_model import render_cost_model
from s2gnn.bench.headline import three_numbers
from s2gnn.bench.report import render_benchmark
from s2gnn.bench.summary import benchmark_summary
from s2gnn.cli.options import refuse
from s2gnn.cli.output import names
from s2gnn.cli.study_options import Data, Models, Results
from s2gnn.errors import InputError
from s2gnn.experiments.figures.budgets import budget_table
from s2gnn.experiments.figures.headline import headline
from s2gnn.experiments.figures.leaderboard_headline import leaderboard_findings, leaderboard_headline
from s2gnn.experiments.figures.overview import OverviewStudy, overview_text
from s2gnn.experiments.measured import MeasuredStudy
from s2gnn.experiments.protocols import BUDGETS, named_budget
from s2gnn.experiments.records import Records
from s2gnn.experiments.registry import find_study, studies
from s2gnn.experiments.study import Selection
from s2gnn.experiments.summary import runs_of_experiments, summary_json, summary_table
from s2gnn.experiments.table import TableStudy
from s2gnn.files import write_atomically
from s2gnn.pictures import FORMS
from s2gnn.reading import why_not
from s2gnn.render import FormatName, fill_sections, render


def show(
    study: Annotated[str, typer.Argument(help="A study, or a file of records (.jsonl).")],
    form: Annotated[Literal[FormatName, "json"], typer.Option("--format", help="Output format.")] = "text",
    results: Results = Path("results"),
    data: Data = None,
    models: Models = None,
    budget: Annotated[
        str | None, typer.Option(help=f"Budgets ({', '.join(BUDGETS)}), separated by commas; default: all but smoke.")
    ] = None,
) -> None:
    """Print the results of a study next to the published numbers, or summarize a file of records.

    Examples: [bold]s2gnn study show table2-knn --data isolet --format markdown[/bold]

    [bold]s2gnn study show results/reproduction.jsonl[/bold]
    """
    parts = {"--data": data, "--models": models, "--budget": budget}
    if study.endswith(".jsonl"):
        refuse(parts, "is for a study: omit it for a file of records")
        _show_file(Path(study), form)
        return
    found = find_study(study)
    check_folder(results)
    if isinstance(found, MeasuredStudy | OverviewStudy):
        refuse(parts, f"has no effect on {study}, which is shown whole: omit it")
    budgets = names(budget)
    selection = Selection(names(data), names(models), None, list(map(named_budget, budgets)) if budgets else None)
    if form == "json":
        print(json.dumps(found.json(results, selection), indent=2))
    else:
        print(render(found.table(results, selection), form), end="")


def _show_file(path: Path, form: Literal[FormatName, "json"]) -> None:
    if not path.is_file() or not (found := runs_of_experiments(Records(path))):
        raise InputError(f"{path} has no records: give a file that s2gnn study run has written")
    if form == "json":
        print(json.dumps([summary_json(runs.experiment, runs) for runs in found], indent=2))
    else:
        print(render(summary_table(path), form), end="")


def document(
    page: Annotated[Path, typer.Argument(help="Markdown document with these markers.")],
    results: Results = Path("results"),
) -> None:
    """Write stored results of studies and benchmarks into a Markdown document.

    Each table goes between <!-- record: NAME --> and <!-- end -->; NAME is a study or a file in the results folder.

    Example: [bold]s2gnn study document docs/reproduction.md[/bold]
    """
    if not page.is_file():
        raise InputError(f"{page} {why_not(page, 'file')}: give the Markdown document to write the tables into")
    check_folder(results)
    try:
        text = page.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{page} is not text ({error}): give the Markdown document of the tables") from error
    write_atomically(page, fill_sections(text, partial(render_section, results)).encode())


def draw(
    study: Annotated[
        list[str] | None, typer.Argument(help="Names of studies; default: all with records and a picture.")
    ] = None,
    results: Results = Path("results"),
) -> None:
    """Redraw the pictures of studies from the stored results, without running anything.

    Example: [bold]s2gnn study draw cost epsilon[/bold]
    """
    check_folder(results)
    for name in study or studies():
        drawn = find_study(name).redraw(results)
        if study and not drawn:
            raise InputError(f"{results} has no records to draw {name} from: make them with study run {name}")
        for one in drawn:
            print(f"wrote {results / one} as {' and '.join(FORMS)}")


def check_folder(results: Path) -> None:
    """Refuse a folder of records that does not exist."""
    if not results.is_dir():
        raise InputError(f"{results} {why_not(results, 'folder')}: give the folder of records with --results")


def render_section(results: Path, name: str) -> str:
    """Render a study, a file of records or a stored benchmark for a document."""
    special: Mapping[str, Any] = {
        "benchmark-summary": benchmark_summary,
        "cost-model": render_cost_model,
        "budgets": budget_table,
        "overview": overview_text,
        "headline": headline,
        "leaderboard-findings": leaderboard_findings,
        "leaderboard-headline": leaderboard_headline,
        "three-numbers": three_numbers,
    }
    if name in special:
        return str(special[name](results))
    if name.startswith("bench-"):
        return render_benchmark(results / name)
    if name.endswith(".jsonl"):
        return render(summary_table(results / name), "markdown")
    study = find_study(name)
    if not isinstance(study, TableStudy) or study.links or len(study.columns) == 1:
        return render(study.table(results), "markdown")
    result = study.result(results)
    compact, full = result.compact(), result.table()
    # The findings are below the compact table; the legend and the commands are folded with the details.
    details = render(replace(full, notes=tuple(note for note in full.notes if note not in compact.notes)), "markdown")
    summary = "<summary>Intervals, leads, seeds and commands of every data set</summary>"
    return f"{render(compact, 'markdown')}\n<details>\n{summary}\n\n{details}\n</details>\n"
