"""`s2gnn fit`."""

import json
import shutil
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from s2gnn.cli.card import reasons, table_card
from s2gnn.cli.memory import size_text
from s2gnn.cli.output import AsJson, check_folder_writable, check_writable, command_line, duration, names
from s2gnn.cli.predictions import (
    check_names_free,
    check_predictions_file,
    chosen_rows,
    with_predictions,
    write_predictions,
)
from s2gnn.cli.table_training import Request, Trained, evidence_of, train
from s2gnn.data import Table, read_table
from s2gnn.errors import InputError
from s2gnn.estimator.card import score_text
from s2gnn.estimator.folder import DESCRIPTION, FILES, REPORT
from s2gnn.preprocessing.labels import Task
from s2gnn.report import write_report

app = typer.Typer()

CLASSES_SHOWN = 20
INDENT = 22  # of what is said, beside its name


@app.command()
def fit(
    table: Annotated[Path, typer.Argument(help="A table: .csv or .tsv with a header, or .npz with X and y.")],
    label: Annotated[str, typer.Option(help="The column to predict; rows in which it is empty are unlabelled.")],
    out: Annotated[Path, typer.Option(help="The folder to write the model into.")],
    features: Annotated[
        str | None,
        typer.Option(
            help="The columns to learn from, separated by commas, a name with a comma in double quotes; all that help "
            "if left out."
        ),
    ] = None,
    task: Annotated[
        Task | None, typer.Option(help="Labels are classes or quantities; seen in the labels if left out.")
    ] = None,
    graph: Annotated[
        Literal["knn", "smooth"] | None,
        typer.Option(help="Nearest neighbours, or a learned smooth graph; knn if left out."),
    ] = None,
    k: Annotated[int | None, typer.Option(min=1, help="Neighbours of a row in the graph.")] = None,
    edges: Annotated[
        Path | None,
        typer.Option(
            help="A given graph: a table with the two rows of every edge and perhaps its weight, or a graph file "
            "(.npz). Rows are numbered from 1, unless --id is given."
        ),
    ] = None,
    identifier: Annotated[
        str | None, typer.Option("--id", help="The column that names the rows, which is not a feature.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of everything random.")] = 0,
    folds: Annotated[
        int,
        typer.Option(
            min=0,
            help="Hide labels in so many parts to see how well they are predicted; 0 or 1 does not. Of more "
            "than 20,000 rows only one part is hidden.",
        ),
    ] = 5,
    predictions: Annotated[
        Path | None, typer.Option(help="Where to write the predictions for the unlabelled rows (.csv or .tsv).")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Where to write a report to look at (.html); see s2gnn report.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Learn from the labelled rows of a table, and keep a model that predicts the others and new ones.

    Numbers and categories may be mixed and values missing. The model folder has a README.md that describes it; a report
    shows the data, the graph and how good the answers are.

    Example: [bold]s2gnn fit flowers.csv --label species --out model/ --predictions species.csv[/bold]
    """
    check_folder_writable(out, DESCRIPTION, FILES)
    if predictions is not None:
        check_predictions_file(predictions, table, out)
    if report is not None:
        check_writable(report, ".html")
        if out.absolute() in report.absolute().parents and report.absolute() != (out / REPORT).absolute():
            raise InputError(f"{report} lies in the model folder: call it {REPORT}, or choose another place")
    if edges is not None and (graph is not None or k is not None):
        raise InputError("--edges gives the graph: leave --graph and --k out")
    data = read_table(table, progress=not as_json)
    data.column(label)
    if identifier is not None:
        data.column(identifier)
    if predictions is not None:
        check_names_free(data, label)
    request = Request(
        label=label,
        features=names(features),
        task=task,
        graph=graph,
        k=k,
        edges=edges,
        identifier=identifier,
        seed=seed,
        folds=folds,
    )
    trained = train(data, request, Console(stderr=True, quiet=as_json, highlight=False, soft_wrap=True))
    card = table_card(table.name, trained, command_line())
    trained.model.save(out, card, evidence_of(trained, data, table.name, card))
    if predictions is not None:
        columns = with_predictions(data, label, trained.model.transduction())
        write_predictions(chosen_rows(columns, ~trained.labelled), predictions)
    if report is not None:
        write_report(out, report, progress=not as_json)
    _print(_summary(data, trained, out, predictions, report), trained, as_json)


def _summary(data: Table, trained: Trained, out: Path, predictions: Path | None, report: Path | None) -> dict[str, Any]:
    graph, model = trained.model.estimator.graph_, trained.model
    return {
        "rows": data.n_rows,
        "labelled_rows": int(trained.labelled.sum()),
        "task": model.task,
        "labels": trained.label_counts,
        "numeric": list(trained.columns.numeric),
        "categorical": list(trained.columns.categorical),
        "left_out": trained.columns.left_out,
        "features": model.encoder.n_features,
        "graph": trained.graph_kind,
        "edges": graph.n_edges,
        "scores": [asdict(score) for score in trained.scores],
        "seconds": round(trained.seconds, 2),
        "peak_bytes": trained.peak,
        "model": str(out),
        "predictions": None if predictions is None else str(predictions),
        "report": None if report is None else str(report),
    }


def _print(summary: dict[str, Any], trained: Trained, as_json: bool) -> None:
    if as_json:
        print(json.dumps(summary, indent=2, allow_nan=False))
        return
    counts = ", ".join(f"{name}: {count:,.6g}" for name, count in list(trained.label_counts.items())[:CLASSES_SHOWN])
    if len(trained.label_counts) > CLASSES_SHOWN:
        counts += f", … {len(trained.label_counts):,} classes"
    rows = [
        ("rows", f"{summary['rows']:,}"),
        ("labelled rows", f"{summary['labelled_rows']:,} ({counts})"),
        ("predicts", {"classify": "classes", "regress": "quantities"}[summary["task"]]),
        ("numbers", ", ".join(trained.columns.numeric) or "–"),
        ("categories", ", ".join(trained.columns.categorical) or "–"),
        ("left out", reasons(trained.columns) or "–"),
        ("features", f"{summary['features']:,}"),
        ("graph", f"{trained.graph_kind}: {summary['edges']:,} edges"),
        *((score.name, f"{score_text(score)}, {score.how}") for score in trained.scores),
        *([] if trained.scores else [("score", "not measured")]),
        ("time", duration(trained.seconds)),
        *([] if trained.peak is None else [("memory", f"{size_text(trained.peak)} at most")]),
        ("model", summary["model"]),
    ]
    rows += [(name, summary[name]) for name in ("predictions", "report") if summary[name] is not None]
    width = shutil.get_terminal_size().columns
    for name, text in rows:
        start = f"{name:{INDENT}s}"
        print(textwrap.fill(text, width, initial_indent=start, subsequent_indent=" " * INDENT, break_long_words=False))
