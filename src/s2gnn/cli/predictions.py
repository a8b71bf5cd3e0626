"""Predictions beside the columns of the table they are for, as a file or on standard output."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.cli.output import check_writable
from s2gnn.data import Table
from s2gnn.data.table_writing import DELIMITERS, delimiter_of, table_text
from s2gnn.data.values import Column
from s2gnn.errors import InputError
from s2gnn.estimator.table_model import Prediction
from s2gnn.files import write_atomically

PROBABILITY = "probability"
ROW = "row"


def predicted_name(label: str) -> str:
    """The name of the column of predictions."""
    return f"predicted_{label}"


def check_predictions_file(path: Path, table: Path, model: Path) -> None:
    """Refuse a file that is no table, cannot be written, is the table to predict, or lies in the model folder."""
    if path.suffix.lower() not in DELIMITERS:
        raise InputError(f"{path} does not end in .csv or .tsv: give a file name that does")
    if path.resolve().is_relative_to(model.resolve()):
        raise InputError(
            f"{path} lies in the model folder {model}, which s2gnn fit replaces whole: choose another place"
        )
    check_writable(path, path.suffix.lower())
    if path.exists() and table.exists() and path.samefile(table):
        raise InputError(f"{path} is the table itself, which predictions would replace: choose another name")


def check_names_free(table: Table, label: str) -> None:
    """Refuse a table that has a column of the name of one that will be added."""
    for name in (predicted_name(label), PROBABILITY):
        if name in table.columns:
            raise InputError(f"{table.source} has a column {name!r} already, which predictions add: rename it")


def with_predictions(table: Table, label: str, prediction: Prediction) -> dict[str, Column]:
    """The columns of a table and those of the prediction."""
    columns = {**table.columns, predicted_name(label): prediction.values}
    if prediction.probabilities is not None:
        columns[PROBABILITY] = np.round(prediction.probabilities, 6)
    return columns


def chosen_rows(columns: dict[str, Column], rows: NDArray[np.bool_]) -> dict[str, Column]:
    """Some rows of a table, with their numbers in the first column, 1 for the first row below the header."""
    numbers: NDArray[Any] = np.flatnonzero(rows) + 1
    numbered = {} if ROW in columns else {ROW: numbers}
    return {**numbered, **{name: column[rows] for name, column in columns.items()}}


def write_predictions(columns: dict[str, Column], path: Path | None) -> None:
    """Write the table to a file, whole or not at all, or to standard output."""
    if path is None:
        sys.stdout.write(table_text(columns))
        return
    write_atomically(path, table_text(columns, delimiter_of(path)).encode())
