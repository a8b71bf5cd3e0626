"""`s2gnn predict`."""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from s2gnn.cli.memory import expected_text, measured_peak, prediction_bytes, size_text
from s2gnn.cli.options import Device
from s2gnn.cli.output import (
    AsJson,
    Probabilities,
    check_has_classes,
    check_names_free,
    check_predictions_file,
    rounded,
    with_predictions,
    write_frame,
)
from s2gnn.devices import AUTO
from s2gnn.errors import InputError
from s2gnn.estimator import CardScore, TableModel
from s2gnn.estimator.evaluation import score_text
from s2gnn.estimator.table_model import prediction_columns
from s2gnn.progress import duration
from s2gnn.tables import read_table

app = typer.Typer()

ROWS_ANNOUNCED = 10_000  # fewer rows take no time


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model folder written by s2gnn fit.")],
    table: Annotated[Path, typer.Argument(help="A table with the columns that the model was trained on.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the predictions (.csv or .tsv). Default: standard output.")
    ] = None,
    explain: Annotated[
        Path | None, typer.Option(help="Where to write an explanation of each prediction (.csv or .tsv).")
    ] = None,
    probabilities: Probabilities = False,
    interval: Annotated[
        float | None,
        typer.Option(help="For quantities: add the ends of intervals for this share of new values, such as 0.9."),
    ] = None,
    device: Device = AUTO,
    as_json: AsJson = False,
) -> None:
    """Predict the label of every row of a table.

    Writes the columns of the table, the predicted label and its probability; for regression, the predicted value. The
    columns may be in any order, and extra columns are allowed. If the table has the label column, scores are printed;
    rows that equal a labelled training row are not scored.

    With --explain, a second file lists for every row how much of the prediction comes from the columns alone, from
    similar rows and from the networks, and the ten most influential labelled rows and columns.

    Example: [bold]s2gnn predict model/ new.csv --out predictions.csv[/bold]
    """
    start = time.perf_counter()
    if out is not None:
        check_predictions_file(out, table, model)
    if explain is not None:
        check_predictions_file(explain, table, model)
        if explain == out:
            raise InputError(f"--out and --explain are both {out}: write the explanations into another file")
    if out is None and as_json:
        raise InputError("--json describes the predictions, which take standard output: set --out for them")
    loaded = TableModel.load(model, device)
    data = read_table(table, progress=not as_json)
    if probabilities:
        check_has_classes(loaded.label, loaded.task)
    classes = loaded.estimator.classes_ if probabilities else ()
    ends = () if interval is None else [f"predicted_{loaded.label}_{end}" for end in ("low", "high")]
    check_names_free(data, [*prediction_columns(loaded.label, loaded.task, classes), *ends])
    verbose = data.n_rows >= ROWS_ANNOUNCED and not as_json
    if verbose:
        memory = expected_text(prediction_bytes(data.n_rows, loaded))
        print(f"predicting {data.n_rows:,} rows; {memory}", file=sys.stderr, flush=True)
    loaded.estimator.set_params(verbose=verbose)
    prediction = loaded.predict(data, all_classes=probabilities, level=interval)
    scores = loaded.scores(data, prediction, f"the labelled rows of {table}")
    others = scores and loaded.scores(
        data, prediction, f"the labelled rows of {table} that equal no training row", ~loaded.equal_to_training(data)
    )
    n_seen = sum(score.rows for score in scores[:1]) - sum(score.rows for score in others[:1])
    write_frame(with_predictions(data, prediction, loaded.identifiers_of(data)), out)
    if explain is not None:
        explained = pd.concat(loaded.explain(data))
        write_frame(explained.assign(effect=explained["effect"].map(rounded)), explain)
    seconds, peak = time.perf_counter() - start, measured_peak()
    if as_json:
        summary = {
            "rows": data.n_rows,
            "predictions": str(out),
            "explanations": None if explain is None else str(explain),
            "scores": [score.to_json() for score in scores],
            "learned_rows": n_seen,
            "other_scores": [score.to_json() for score in others],
            "seconds": round(seconds, 2),
            "peak_bytes": peak,
        }
        print(json.dumps(summary, indent=2, allow_nan=False))
        return
    lines = _score_lines(others if n_seen else scores)
    if out is not None:
        cost = duration(seconds) if peak is None else f"{duration(seconds)}, {size_text(peak)} of memory"
        lines.insert(0, f"{data.n_rows:,} rows predicted: {out} ({cost})")
    if n_seen:
        kind = "training row" if loaded.estimator.labelled_ is None else "labelled training row"
        equal = "equals" if n_seen == 1 else "equal"
        hint = "" if others else "; the README.md of the model has scores on hidden labels"
        lines.append(f"not scored: {n_seen:,} of {scores[0].rows:,} labelled rows, which {equal} a {kind}{hint}")
    for line in lines:
        print(line, file=sys.stderr if out is None else sys.stdout)


def _score_lines(scores: Sequence[CardScore]) -> list[str]:
    return [
        f"{score.name}: {score_text(score)} on {score.rows:,} labelled row{'' if score.rows == 1 else 's'}"
        for score in scores
    ]
