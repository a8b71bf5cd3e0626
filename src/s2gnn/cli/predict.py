"""`s2gnn predict`."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from s2gnn.cli.memory import expected_text, measured_peak, prediction_bytes, size_text
from s2gnn.cli.output import AsJson, duration
from s2gnn.cli.predictions import (
    check_names_free,
    check_predictions_file,
    with_predictions,
    write_predictions,
)
from s2gnn.data import Table, read_table
from s2gnn.errors import InputError
from s2gnn.estimator.card import CardScore, score_text
from s2gnn.estimator.evidence import load_evidence
from s2gnn.estimator.table_model import TableModel

app = typer.Typer()

ROWS_ANNOUNCED = 10_000  # fewer are predicted before there is much to say


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model folder that s2gnn fit wrote.")],
    table: Annotated[Path, typer.Argument(help="A table with the columns that the model was fitted on.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the predictions (.csv or .tsv); printed if left out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict the label of every row of a table.

    Writes the columns of the table, the predicted label and its probability; a model of quantities, the predicted
    value. The columns may be in any order, and there may be others. If the table has the label column, rows that have a
    label are compared with their prediction, those that the model has learned from and the others apart.

    Example: [bold]s2gnn predict model/ new.csv --out predictions.csv[/bold]
    """
    start = time.perf_counter()
    if out is not None:
        check_predictions_file(out, table, model)
    elif as_json:
        raise InputError("--json describes the predictions, which take standard output: say where they go by --out")
    loaded = TableModel.load(model)
    data = read_table(table, progress=not as_json)
    check_names_free(data, loaded.label)
    console = Console(stderr=True, quiet=as_json or data.n_rows < ROWS_ANNOUNCED, highlight=False, soft_wrap=True)
    memory = expected_text(prediction_bytes(data.n_rows, loaded))
    console.print(f"predicting {data.n_rows:,} rows, {memory}", markup=False)
    loaded.estimator.set_params(verbose=not console.quiet)
    prediction = loaded.predict(data)
    scores = loaded.scores(data, prediction, f"the labelled rows of {table}")
    n_learned, why, others = 0, "", scores
    if scores:
        learned, why = _learned(loaded, model, data)
        others = loaded.scores(data, prediction, f"the rows of {table} whose label was not learned", ~learned)
        n_learned = scores[0].rows - (others[0].rows if others else 0)
    write_predictions(with_predictions(data, loaded.label, prediction), out)
    seconds, peak = time.perf_counter() - start, measured_peak()
    if as_json:
        summary = {
            "rows": data.n_rows,
            "predictions": str(out),
            "scores": [asdict(score) for score in scores],
            "learned_rows": n_learned,
            "other_scores": [asdict(score) for score in others],
            "seconds": round(seconds, 2),
            "peak_bytes": peak,
        }
        print(json.dumps(summary, indent=2, allow_nan=False))
        return
    answer = Console(stderr=out is None, highlight=False, soft_wrap=True)
    if out is not None:
        cost = duration(seconds) if peak is None else f"{duration(seconds)}, {size_text(peak)} of memory"
        answer.print(f"{data.n_rows:,} rows predicted: {out} ({cost})", markup=False)
    lines = _score_lines(scores)
    if n_learned:
        lines.append(f"{_rows(n_learned)} of these {why}: that the model knows them says nothing of new rows")
        lines += [f"without them, {line}" for line in _score_lines(others)]
    for line in lines:
        answer.print(line, markup=False)


def _learned(loaded: TableModel, folder: Path, data: Table) -> tuple[NDArray[np.bool_], str]:
    """Which rows of a table, (n,), have a label that the model has learned, and why that is thought."""
    evidence = load_evidence(folder, loaded.estimator)
    if evidence is None:
        return loaded.learned(data, None), "were there in training, perhaps with their label"
    return loaded.learned(data, evidence.labelled), "had a label in training"


def _score_lines(scores: Sequence[CardScore]) -> list[str]:
    return [f"{score.name}: {score_text(score)}, on {_rows(score.rows)} with a label" for score in scores]


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"
