"""Encode the columns of a table as features; the encoder is stored as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.tables.columns import Columns, as_categories, categories, category, choose_columns
from s2gnn.tables.identifiers import Identifiers
from s2gnn.tables.labels import Task, class_labels, quantities, task_of, warn_of_class_sizes
from s2gnn.tables.scaling import Scaling, filled, medians
from s2gnn.tables.table import Table

# The squares of distances between larger numbers may overflow.
LARGEST = 1e100
NUMBERS = ("median", "mean", "scale")  # of a column, in the state of an encoder


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """Encodes tables that have the same columns, in any order, as features (N, M).

    A column of numbers becomes one feature: missing values become the median, then it is standardised. A column of
    categories becomes one feature of 0 and 1 per category; missing values are a category if the encoder was fitted on
    any. An unknown category is 0 in all of them.

    Attributes:
        numeric: the names of the columns of numbers.
        medians: of these columns, (number of columns,).
        scaling: scaling of these columns.
        categories: the categories of each categorical column, by name; "" for missing values.
        left_out: the reason for each excluded column.
    """

    numeric: tuple[str, ...]
    medians: NDArray[np.float64]
    scaling: Scaling
    categories: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def fit(cls, table: Table, columns: Columns, *, standardise: bool = True) -> TableEncoder:
        """Fit an encoder of these columns, with the medians, means and categories of this table."""
        numbers = _numbers(table, columns.numeric)
        gaps = medians(numbers)
        scaling = Scaling.of(filled(numbers, gaps), standardise=standardise)
        known = {name: tuple(categories(table.column(name))) for name in columns.categorical}
        return cls(columns.numeric, gaps, scaling, known, columns.left_out)

    def transform(self, table: Table) -> NDArray[np.float64]:
        """Encode a table as features (N, M): the numbers first, then the categories; other columns are ignored."""
        features = np.zeros((table.n_rows, self.n_features))
        first = len(self.numeric)
        features[:, :first] = self.scaling.apply(filled(_numbers(table, self.numeric), self.medians))
        for name, known in self.categories.items():
            position = {category(one): place for place, one in enumerate(known)}  # 0.2 stored 1.0 for 1
            places, values = pd.factorize(as_categories(table.column(name)).astype(object))
            codes = np.array([position.get(category(one), -1) for one in values])[places]  # −1 for unknown ones
            rows = np.flatnonzero(codes >= 0)
            features[rows, first + codes[rows]] = 1.0
            first += len(known)
        return features

    def missing_numbers(self, table: Table) -> NDArray[np.bool_]:
        """Return the features (N, M) that are missing numbers of a table."""
        found = np.zeros((table.n_rows, self.n_features), dtype=np.bool_)
        for place, name in enumerate(self.numeric):
            found[:, place] = table.missing(name)
        return found

    @property
    def categorical(self) -> tuple[str, ...]:
        """The names of the columns of categories."""
        return tuple(self.categories)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in the order of their features."""
        return (*self.numeric, *self.categorical)

    @property
    def n_features(self) -> int:
        """M, the number of features."""
        return len(self.numeric) + sum(map(len, self.categories.values()))

    @property
    def features_of(self) -> dict[str, list[int]]:
        """Return the indices of the features of each column, by name."""
        widths = [1] * len(self.numeric) + [len(known) for known in self.categories.values()]
        ends = np.cumsum(widths).tolist()
        return {name: list(range(end - n, end)) for name, n, end in zip(self.columns, widths, ends, strict=True)}

    def state(self) -> dict[str, Any]:
        """Return the encoder as plain values for JSON, which keeps every bit of a float."""
        numbers = np.stack([self.medians, self.scaling.centre, self.scaling.width], axis=1).tolist()
        return {
            "numeric": [
                {"column": name, **dict(zip(NUMBERS, own, strict=True))}
                for name, own in zip(self.numeric, numbers, strict=True)
            ],
            "categorical": [{"column": name, "categories": list(known)} for name, known in self.categories.items()],
            "left_out": dict(self.left_out),
        }

    @classmethod
    def from_state(cls, state: Any) -> TableEncoder:
        """Restore the encoder from a `state`.

        Raises:
            InputError: if it is not the state of an encoder.
        """
        try:
            numeric = tuple(_text(column["column"]) for column in state["numeric"])
            rows = [[_number(column[name]) for name in NUMBERS] for column in state["numeric"]]
            gaps, centre, width = np.array(rows, dtype=np.float64).reshape(-1, len(NUMBERS)).T
            known = {_text(c["column"]): tuple(map(_text, c["categories"])) for c in state["categorical"]}
            left_out = {_text(name): _text(reason) for name, reason in state.get("left_out", {}).items()}
            if not numeric and not known:
                raise ValueError("it has no column")
            if len({*numeric, *known}) < len(numeric) + len(known):
                raise ValueError("it has a column twice")
            if not (width >= 1 / LARGEST).all():
                raise ValueError(f"the scale {width[~(width >= 1 / LARGEST)][0]} is not positive, or too small")
            for name, found in known.items():
                if not found or len(set(found)) < len(found):
                    raise ValueError(f"column {name!r} has no category, or one twice")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"the description of the columns is damaged: {error}") from error
        return cls(numeric, gaps, Scaling(centre, width), known, left_out)


def _numbers(table: Table, names: Sequence[str]) -> NDArray[np.float64]:
    """Return columns as numbers (N, number of columns), NaN for missing values."""
    advice = "fix the value or leave the cell blank"
    numbers = np.empty((table.n_rows, len(names)))
    for place, name in enumerate(names):
        numbers[:, place] = table.numbers(name, "a value here", advice)
    too_large = np.argwhere(np.abs(numbers) > LARGEST)
    if len(too_large):
        row, place = too_large[0]
        raise table.value_error(names[place], row, f"{numbers[row, place]:g}", f"too large to compute with: {advice}")
    return numbers


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise TypeError(f"{value!r} is not a finite number, or too large")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


@dataclass(frozen=True)
class EncodedTable:
    """A table ready to learn from.

    Attributes:
        source: where the table came from, for messages and reports.
        label: the column to predict.
        task: "classify" or "regress".
        columns: the columns used as features.
        encoder: the encoder that made the features.
        X: features (N, M).
        y: classes (N,) as text with `None`, or numbers with NaN, for unlabelled rows.
        missing: the number of missing values of each column used, by name.
        missing_numbers: which features are missing numbers, (N, M).
        identifiers: names of the rows; `None` if no column identifies them.
    """

    source: str
    label: str
    task: Task
    columns: Columns
    encoder: TableEncoder
    X: NDArray[np.float64]
    y: NDArray[Any]
    missing: dict[str, int]
    missing_numbers: NDArray[np.bool_]
    identifiers: Identifiers | None = None


def encode_table(
    data: Any,
    label: str,
    *,
    features: Sequence[str] | None = None,
    task: Task | None = None,
    identifier: str | None = None,
    categorical: Sequence[str] = (),
) -> EncodedTable:
    """Encode the features and labels of a table.

    Args:
        data: a table, or a data frame of pandas or polars with columns of numbers, text or categories.
        label: the column to predict; rows where it is missing are unlabelled.
        features: the columns to learn from; by default all that distinguish rows, see `choose_columns`.
        task: whether labels are classes or quantities; by default inferred from the labels.
        identifier: the column that names the rows, which is not a feature.
        categorical: columns of categories even if they spell numbers, such as codes.
    """
    table = (data if isinstance(data, Table) else Table.from_frame(data)).with_categorical(categorical)
    table.column(label)
    inferred = task is None
    task = task or task_of(table, label)
    y: NDArray[Any] = (class_labels if task == "classify" else quantities)(table, label)
    if task == "classify":
        warn_of_class_sizes(table.source, label, y, counts=inferred and table.is_numeric(label))
    columns = choose_columns(table, features, label=label, without=[] if identifier is None else [identifier])
    encoder = TableEncoder.fit(table, columns)
    missing = {name: int(table.missing(name).sum()) for name in (*columns.numeric, *columns.categorical)}
    named = None if identifier is None else Identifiers.of(table, identifier)
    X, gaps = encoder.transform(table), encoder.missing_numbers(table)
    return EncodedTable(table.source, label, task, columns, encoder, X, y, missing, gaps, named)
