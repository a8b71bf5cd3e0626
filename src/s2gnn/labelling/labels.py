"""The labels of a table on disk: a copy of the table that is written again after every answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.files import write_atomically
from s2gnn.tables import Table, read_table
from s2gnn.tables.files import DELIMITERS
from s2gnn.tables.labels import class_names, likely_task, warn_of_suspicious_classes
from s2gnn.tables.table import as_text


@dataclass(frozen=True)
class LabelledCopy:
    """A table and its copy `NAME.labelled.csv`, which has the labels given so far; the table itself is never written.

    Attributes:
        table: as read.
        label: the column of the labels.
        path: of the copy.
        labels: the class of each row as text, "" where there is none, (N,).
    """

    table: Table
    label: str
    path: Path
    labels: NDArray[Any]

    @classmethod
    def open(cls, path: Path, label: str, *, new_column: bool = False) -> LabelledCopy:
        """Return the table at `path` with the labels of its copy, if there is one.

        Args:
            path: of the table.
            label: the column of the labels.
            new_column: add the column if the table does not have it.

        Raises:
            InputError: if either file is not a table, there is no such column, or the copy has other rows.
        """
        table = read_table(path)
        if not new_column:
            try:
                table.column(label)
            except InputError as error:
                raise InputError(f"{error}; to add the column, name its classes, such as --classes yes,no") from error
        elif label not in table.columns:
            table = Table(table.source, {**table.columns, label: as_text([""] * table.n_rows)}, table.decimal)
        suffix = path.suffix if path.suffix.lower() in DELIMITERS else ".csv"
        copy = path.with_name(f"{path.stem}.labelled{suffix}")
        labels = class_names(table, label)
        labelled = table
        if copy.exists():
            labelled = read_table(copy)
            _check_same_rows(table, labelled, label)
            labels = class_names(labelled, label)
        if not new_column:
            _check_classes(labelled, label)
        warn_of_suspicious_classes(table.source, label, labels[labels != ""])
        return cls(table, label, copy, labels)

    def set(self, row: int, label: str) -> None:
        """Give a row a label, or none (""), and write the copy; if that fails, the label is as before."""
        before = self.labels[row]
        self.labels[row] = label
        try:
            self._write()
        except OSError:
            self.labels[row] = before
            raise

    def create(self) -> None:
        """Write the copy if there is none yet, so that a folder that cannot be written is found before any answer."""
        if not self.path.exists():
            self._write()

    def _write(self) -> None:
        frame = self.table.to_frame()
        frame[self.label] = self.labels
        # Numbers with a decimal comma are only read from files with semicolons.
        delimiter = ";" if self.table.decimal == "," else DELIMITERS[self.path.suffix.lower()]
        text = frame.to_csv(sep=delimiter, index=False, lineterminator="\n")
        write_atomically(self.path, text.encode())


def _check_classes(table: Table, label: str) -> None:
    """Raise if the labels so far are quantities, or may be; one fraction is enough to tell."""
    if table.missing(label).all():
        return
    task = likely_task(table, label)
    if task != "classify":
        seem = "are" if task == "regress" else "may be"
        raise InputError(
            f"the labels in column {label!r} of {table.source} {seem} quantities, but s2gnn label is for classes: use "
            "s2gnn fit, whose report lists rows to measure next, or name the classes with --classes"
        )


def _check_same_rows(table: Table, copy: Table, label: str) -> None:
    """Raise unless `copy` is `table` with other labels."""
    advice = "rename or remove it to start again"
    if list(copy.columns) != list(table.columns):
        raise InputError(f"{copy.source} has other columns than {table.source}: {advice}")
    if copy.n_rows != table.n_rows:
        raise InputError(f"{copy.source} has {copy.n_rows:,} rows, but {table.source} has {table.n_rows:,}: {advice}")
    values, others = table.to_frame(), copy.to_frame()
    for name in table.columns:
        if name == label:
            continue
        pairs = zip(values[name], others[name], strict=True)
        differs = [row for row, (value, other) in enumerate(pairs) if not _same(value, other)]
        if differs:
            raise InputError(
                f"row {differs[0] + 1} of {copy.source} has another value of {name!r} than {table.source}: {advice}"
            )


def _same(value: Any, other: Any) -> bool:
    """Return whether a value that was written is what was read: numbers of an .npz table are text in its copy."""
    if isinstance(value, str):
        return value == str(other)
    return bool(other == "" if np.isnan(value) else float(other or "nan") == value)
