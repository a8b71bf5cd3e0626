"""`s2gnn fit`."""

import json
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray

from s2gnn.cli.memory import expected_text, measured_peak, size_text
from s2gnn.cli.options import Categorical, Device, Seed, integer
from s2gnn.cli.output import (
    AsJson,
    Probabilities,
    check_folder_writable,
    check_has_classes,
    check_names_free,
    check_predictions_file,
    check_writable,
    command_line,
    names,
    print_facts,
    with_predictions,
    write_frame,
)
from s2gnn.devices import AUTO, checked_device
from s2gnn.errors import IdentifiersWarning, InputError
from s2gnn.estimator import CardScore, S2GNNClassifier, S2GNNRegressor, TableModel
from s2gnn.estimator.blending import GraphGain
from s2gnn.estimator.card import reasons
from s2gnn.estimator.evaluation import number_of_folds, score_text
from s2gnn.estimator.expected import training_bytes, training_seconds
from s2gnn.estimator.folder import DESCRIPTION, FILES, REPORT
from s2gnn.estimator.table_model import listed_names, prediction_columns
from s2gnn.estimator.transductive import FOLDS
from s2gnn.progress import duration
from s2gnn.ranges import COUNT, FOLD_COUNT
from s2gnn.report import write_report
from s2gnn.tables import EncodedTable, Table, Task, encode_table, read_edges, read_table
from s2gnn.tables.columns import as_categories
from s2gnn.tables.identifiers import ROW
from s2gnn.tables.numbers import number_text
from s2gnn.tables.table import Column

app = typer.Typer()

CLASSES_SHOWN = 20
UNSCORED = {
    "classify": "not measured: label at least two rows of two classes, so that some can be hidden",
    "regress": "not measured: at least four values must be known, so that some can be hidden",
}


@app.command()
def fit(
    table: Annotated[
        Path, typer.Argument(help="A table: .csv or .tsv with a header, also gzipped, or .npz with X and y.")
    ],
    label: Annotated[str, typer.Option(help="Column to predict; rows where it is empty are unlabelled.")],
    out: Annotated[Path, typer.Option(help="Folder to write the model to.")],
    features: Annotated[
        str | None,
        typer.Option(
            help="Columns to learn from, separated by commas; put names that contain commas in double quotes. Default: "
            "all except constants and row identifiers."
        ),
    ] = None,
    categorical: Categorical = None,
    task: Annotated[
        Task | None, typer.Option(help="Whether labels are classes or quantities. Default: inferred from the labels.")
    ] = None,
    graph: Annotated[
        Literal["knn", "smooth"] | None,
        typer.Option(help="Nearest neighbours, or a learned smooth graph. Default: knn."),
    ] = None,
    k: Annotated[int | None, integer(COUNT, help="Number of neighbours per row. Default: 10.")] = None,
    edges: Annotated[
        Path | None,
        typer.Option(
            help="Your own graph: a table of edges (two columns of rows and an optional weight), or a graph file "
            "(.npz). Rows are numbered from 1 unless --id is given."
        ),
    ] = None,
    identifier: Annotated[
        str | None,
        typer.Option("--id", help="Column that identifies the rows, in predictions and report; not used as a feature."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="Column of the subject of each row, such as the patient of a sample; not used as a feature. "
            "Cross-validation keeps the rows of one subject together."
        ),
    ] = None,
    seed: Seed = 0,
    device: Device = AUTO,
    folds: Annotated[
        int,
        integer(
            FOLD_COUNT,
            help="Number of cross-validation folds of the scores. 0 or 1 reports the scores of "
            "the five folds that training itself uses. With more than 20,000 rows, only one fold is evaluated.",
        ),
    ] = 5,
    predictions: Annotated[
        Path | None, typer.Option(help="Where to write the predictions for the unlabelled rows (.csv or .tsv).")
    ] = None,
    probabilities: Probabilities = False,
    report: Annotated[Path | None, typer.Option(help="Where to write a report (.html); see s2gnn report.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train a model on the labelled rows of a table and save it; it predicts the other rows and new ones.

    Columns may be numbers or categories, and values may be missing. The model folder has a README.md that describes
    the model; --report shows the data, the graph and the accuracy.

    Example: [bold]s2gnn fit flowers.csv --label species --out model/ --predictions species.csv[/bold]
    """
    start = time.perf_counter()
    checked_device(device)
    check_folder_writable(out, DESCRIPTION, FILES)
    if predictions is not None:
        check_predictions_file(predictions, table, out)
    if report is not None:
        check_writable(report, ".html")
        if out.absolute() in report.absolute().parents and report.absolute() != (out / REPORT).absolute():
            raise InputError(f"{report} lies in the model folder: call it {REPORT}, or choose another place")
    if edges is not None and (graph is not None or k is not None):
        raise InputError("--edges gives the graph: omit --graph and --k")
    data = read_table(table, progress=not as_json)
    with warnings.catch_warnings():
        if group is not None:
            warnings.simplefilter("ignore", IdentifiersWarning)  # it recommends --group
        encoded = encode_table(
            _without_group(data, group, {label, identifier}, names(features)),
            label,
            features=names(features),
            task=task,
            identifier=identifier,
            categorical=names(categorical) or (),
        )
    groups = None if group is None else _groups(data, group, encoded.y)
    if probabilities:
        check_has_classes(label, encoded.task)
    if predictions is not None:
        classes = np.unique(encoded.y[~pd.isna(encoded.y)].astype(str)) if probabilities else ()
        check_names_free(data, prediction_columns(label, encoded.task, classes))
    elif probabilities:
        raise InputError("--probabilities adds columns to the predictions: set --predictions to write them")
    if k is not None and k >= data.n_rows:
        most = data.n_rows - 1
        raise InputError(f"--k is {k}, but {data.n_rows} rows have at most {most} neighbours each: give at most {most}")
    given = None if edges is None else read_edges(edges, data, identifier)
    parameters = {name: value for name, value in {"graph": graph, "k": k}.items() if value is not None}
    if not as_json:
        passes = 1 + number_of_folds(FOLDS, data.n_rows)
        if folds >= 2 and (folds, seed) != (FOLDS, 0):  # not the folds that training predicts anyway
            passes += number_of_folds(folds, data.n_rows)
        print(_announcement(encoded, parameters, passes, searched=given is None), file=sys.stderr, flush=True)
    model = TableModel.fit(encoded, given, groups, random_state=seed, verbose=not as_json, device=device, **parameters)
    evaluation = model.evaluate(folds, seed=seed) if folds >= 2 else model.estimator.evaluation_
    model.estimator.set_params(verbose=False)
    model.save(out, command_line())
    if predictions is not None:
        unlabelled = np.flatnonzero(pd.isna(encoded.y))
        frame = with_predictions(data, model.transduction(all_classes=probabilities), model.identifiers).iloc[
            unlabelled
        ]
        if ROW not in frame and identifier is None:
            frame.insert(0, ROW, unlabelled + 1)
        write_frame(frame, predictions)
    if report is not None:
        write_report(out, report, progress=not as_json)
    summary = {
        "rows": data.n_rows,
        "identifier": identifier,
        "group": group,
        "labelled_rows": model.estimator.n_labelled_,
        "task": model.task,
        "labels": model.label_counts(),
        "numeric": list(model.encoder.numeric),
        "categorical": list(model.encoder.categorical),
        "left_out": model.left_out,
        "features": model.encoder.n_features,
        "graph": model.graph_kind if edges is None else f"given by {edges}",
        "edges": model.estimator.graph_.n_edges,
        "scores": [] if evaluation is None else [score.to_json() for score in evaluation.scores],
        "graph_gain": None if model.estimator.graph_gain_ is None else asdict(model.estimator.graph_gain_),
        "seconds": round(time.perf_counter() - start, 2),
        "peak_bytes": measured_peak(),
        "model": str(out),
        "predictions": None if predictions is None else str(predictions),
        "report": None if report is None else str(report),
    }
    if as_json:
        print(json.dumps(summary, indent=2, allow_nan=False))
    else:
        _print(summary, () if evaluation is None else evaluation.scores)


def _without_group(data: Table, group: str | None, kept: set[str | None], features: list[str] | None) -> Table:
    """Return the table without the column of the groups, unless it is also one of the columns `kept`."""
    if group is None:
        return data
    data.column(group)
    if group in (features or []):
        raise InputError(f"--group and --features both name {group!r}: a group is not a feature, omit one of them")
    return data if group in kept else replace(data, columns={n: c for n, c in data.columns.items() if n != group})


def _groups(data: Table, group: str, y: NDArray[Any]) -> Column:
    """Return the group of each row, (N,); each labelled row needs one."""
    gaps = np.flatnonzero(data.missing(group) & pd.notna(y))
    if len(gaps):
        raise data.value_error(group, int(gaps[0]), "empty", "but every labelled row needs a group: fill the cell")
    return as_categories(data.column(group)).astype(object)


def _announcement(table: EncodedTable, parameters: dict[str, Any], passes: int, *, searched: bool) -> str:
    """Describe the training and the expected time and memory; the time to learn a graph is not known."""
    n, n_features = table.X.shape
    n_labelled = int(pd.notna(table.y).sum())
    kind = S2GNNClassifier if table.task == "classify" else S2GNNRegressor
    memory = expected_text(training_bytes(n, n_features, kind(**parameters)))
    features = "1 feature" if n_features == 1 else f"{n_features:,} features"
    cost = memory
    if parameters.get("graph") != "smooth":
        seconds = training_seconds(n, n_features, n_labelled, passes, searched=searched)
        cost = f"about {duration(seconds)} of processor time, {memory}"
    return f"training on {n_labelled:,} labelled of {n:,} rows with {features}; {cost}"


def _print(summary: dict[str, Any], scores: Sequence[CardScore]) -> None:
    short = {"least": "min", "greatest": "max"} if summary["task"] == "regress" else {}
    labels = list(summary["labels"].items())
    if all(name.isdecimal() for name, _ in labels):
        labels.sort(key=lambda label: int(label[0]))
    written = number_text if short else "{:,}".format
    counts = ", ".join(f"{short.get(name, name)}: {written(count)}" for name, count in labels[:CLASSES_SHOWN])
    if len(labels) > CLASSES_SHOWN:
        counts += f", … {len(labels):,} classes"
    print_facts(
        {
            "rows": f"{summary['rows']:,}",
            "labelled rows": f"{summary['labelled_rows']:,} ({counts})",
            "task": {"classify": "classification", "regress": "regression"}[summary["task"]],
            "numeric columns": listed_names(summary["numeric"]),
            "categorical columns": listed_names(summary["categorical"]),
            "columns left out": reasons(summary["left_out"]),
            "features": f"{summary['features']:,}",
            "graph": f"{summary['graph']}: {summary['edges']:,} edge{'' if summary['edges'] == 1 else 's'}",
            **(
                {score.name: f"{score_text(score)}, {score.how}" for score in scores}
                or {"score": UNSCORED[summary["task"]]}
            ),
            "graph gain": summary["graph_gain"] and GraphGain(**summary["graph_gain"]).sentence,
            "time": duration(summary["seconds"]),
            "peak memory": summary["peak_bytes"] and size_text(summary["peak_bytes"]),
            **{name: summary[name] for name in ("model", "predictions", "report")},
        }
    )
