"""From the columns of a table to features, by scikit-learn's transformers, whose state is stored as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from s2gnn.errors import InputError
from s2gnn.tables.columns import Columns, as_categories, categories, choose_columns
from s2gnn.tables.labels import Task, class_labels, quantities, task_of
from s2gnn.tables.table import Column, Table

# The squares of distances between larger numbers may overflow.
LARGEST = 1e100


class TableEncoder:
    """Features (N, M) of tables that have the same columns, in any order.

    A column of numbers becomes one standardised feature; a missing value is replaced by the median first. A column of
    categories becomes one feature of 0 and 1 per category; missing values are a category if the encoder was fitted on
    any. An unknown category is 0 in all of them.

    Attributes:
        numeric: names of the columns of numbers.
        categorical: names of the columns of categories.
        imputer: scikit-learn's, of the numbers.
        scaler: scikit-learn's, of the numbers.
        one_hot: scikit-learn's, of the categories.
    """

    def __init__(self, numeric: Sequence[str], categorical: Sequence[str]) -> None:
        self.numeric = tuple(numeric)
        self.categorical = tuple(categorical)
        self.imputer = SimpleImputer(strategy="median")
        self.scaler = StandardScaler()
        self.one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)

    @classmethod
    def fit(cls, table: Table, columns: Columns) -> TableEncoder:
        """The encoder of these columns, with the medians, means and categories of this table."""
        encoder = cls(columns.numeric, columns.categorical)
        if encoder.numeric:
            encoder.scaler.fit(encoder.imputer.fit_transform(encoder._numbers(table)))
        if encoder.categorical:
            encoder.one_hot.set_params(categories=[categories(table.column(name)) for name in encoder.categorical])
            encoder.one_hot.fit(_first_categories(encoder.one_hot.categories))
        return encoder

    def transform(self, table: Table) -> NDArray[np.float64]:
        """The features (N, M) of a table: the numbers first, then the categories; other columns are ignored."""
        features = np.empty((table.n_rows, self.n_features))
        if self.numeric:
            features[:, : len(self.numeric)] = self.scaler.transform(self.imputer.transform(self._numbers(table)))
        if self.categorical:
            values = np.stack([as_categories(table.column(name)).astype(object) for name in self.categorical], axis=1)
            features[:, len(self.numeric) :] = self.one_hot.transform(values)
        return features

    @property
    def n_features(self) -> int:
        """M, the number of features."""
        return len(self.numeric) + sum(map(len, self.one_hot.categories_ if self.categorical else ()))

    def _numbers(self, table: Table) -> NDArray[np.float64]:
        advice = "fix the value or leave the cell blank"
        numbers = np.stack([table.numbers(name, "a value here", advice) for name in self.numeric], axis=1)
        too_large = np.argwhere(np.abs(numbers) > LARGEST)
        if len(too_large):
            row, place = too_large[0]
            value = f"{numbers[row, place]:g}"
            raise table.value_error(self.numeric[place], row, value, f"too large to compute with: {advice}")
        return numbers

    def state(self) -> dict[str, Any]:
        """The encoder as plain values for JSON, which keeps every bit of a float."""
        numbers = zip(self.numeric, self._statistics(), strict=True) if self.numeric else ()
        texts = zip(self.categorical, self.one_hot.categories, strict=True) if self.categorical else ()
        return {
            "numeric": [
                {"column": name, "median": median, "mean": mean, "scale": scale}
                for name, (median, mean, scale) in numbers
            ],
            "categorical": [{"column": name, "categories": list(known)} for name, known in texts],
        }

    def _statistics(self) -> list[list[float]]:
        return np.stack([self.imputer.statistics_, self.scaler.mean_, self.scaler.scale_], axis=1).tolist()  # type: ignore[no-any-return]

    @classmethod
    def from_state(cls, state: Any) -> TableEncoder:
        """The encoder of a `state`.

        Raises:
            InputError: if it is not the state of an encoder.
        """
        try:
            numbers = [[_number(column[part]) for part in _PARTS] for column in state["numeric"]]
            known = [[_text(name) for name in column["categories"]] for column in state["categorical"]]
            encoder = cls(*([_text(column["column"]) for column in state[kind]] for kind in ("numeric", "categorical")))
            if not numbers and not known:
                raise ValueError("it has no column")
            if numbers:
                encoder._restore_numbers(*np.array(numbers).T)
            if known:
                encoder.one_hot.set_params(categories=known)
                encoder.one_hot.fit(_first_categories(encoder.one_hot.categories))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"the description of the columns is damaged: {error}") from error
        return encoder

    def _restore_numbers(self, medians: Column, means: Column, scales: Column) -> None:
        """Fit on one row, which is its own median and mean, then put in the scale that a single row does not have."""
        if not (scales > 0).all():
            raise ValueError("a scale is not positive")
        self.imputer.fit(medians[None])
        self.scaler.fit(means[None])
        self.scaler.scale_, self.scaler.var_ = scales, scales**2


_PARTS = ("median", "mean", "scale")


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise TypeError(f"{value!r} is not a finite number")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _first_categories(known: Sequence[Sequence[str]]) -> NDArray[Any]:
    """A row (1, columns) that an encoder with given categories can be fitted on."""
    return np.array([[names[0] for names in known]], dtype=object)


@dataclass(frozen=True)
class EncodedTable:
    """A table ready to learn from.

    Attributes:
        source: where the table came from, for messages and reports.
        label: the column to predict.
        task: "classify" or "regress".
        columns: what is learned from.
        encoder: made the features.
        X: features (N, M).
        y: classes (N,) as text with `None`, or numbers with NaN, for unlabelled rows.
        missing: the number of missing values of each column that is learned from, by name.
    """

    source: str
    label: str
    task: Task
    columns: Columns
    encoder: TableEncoder
    X: NDArray[np.float64]
    y: NDArray[Any]
    missing: dict[str, int]


def encode_table(
    data: Table | pd.DataFrame,
    label: str,
    *,
    features: Sequence[str] | None = None,
    task: Task | None = None,
    identifier: str | None = None,
) -> EncodedTable:
    """The features and labels of a table.

    Args:
        data: a table, or a data frame with columns of numbers, text or categories.
        label: the column to predict; rows where it is missing are unlabelled.
        features: the columns to learn from; by default all that distinguish rows, see `choose_columns`.
        task: whether labels are classes or quantities; by default inferred from the labels.
        identifier: the column that names the rows, which is not a feature.
    """
    table = Table.from_frame(data) if isinstance(data, pd.DataFrame) else data
    table.column(label)
    task = task or task_of(table, label)
    y: NDArray[Any] = (class_labels if task == "classify" else quantities)(table, label)
    columns = choose_columns(table, features, label=label, without=[] if identifier is None else [identifier])
    encoder = TableEncoder.fit(table, columns)
    missing = {name: int(table.missing(name).sum()) for name in (*columns.numeric, *columns.categorical)}
    return EncodedTable(table.source, label, task, columns, encoder, encoder.transform(table), y, missing)
