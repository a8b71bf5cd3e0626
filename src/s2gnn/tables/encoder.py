"""From the columns of a table to features; the encoder is stored as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from s2gnn.errors import InputError
from s2gnn.tables.columns import Columns, as_categories, categories, choose_columns
from s2gnn.tables.identifiers import Identifiers
from s2gnn.tables.labels import Task, class_labels, quantities, task_of
from s2gnn.tables.table import Table

# The squares of distances between larger numbers may overflow.
LARGEST = 1e100


@dataclass(frozen=True)
class NumberScale:
    """How a column of numbers is encoded: missing values become the median, then (x − mean) / scale."""

    median: float
    mean: float
    scale: float

    def __post_init__(self) -> None:
        for value in (self.median, self.mean, self.scale):
            if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
                raise TypeError(f"{value!r} is not a finite number")
        if self.scale <= 0:
            raise ValueError(f"the scale {self.scale} is not positive")


@dataclass(frozen=True)
class TableEncoder:
    """Features (N, M) of tables that have the same columns, in any order.

    A column of numbers becomes one standardised feature. A column of categories becomes one feature of 0 and 1 per
    category; missing values are a category if the encoder was fitted on any. An unknown category is 0 in all of them.

    Attributes:
        scales: of the columns of numbers, by name.
        categories: of the columns of categories, by name; "" for missing values.
    """

    scales: Mapping[str, NumberScale]
    categories: Mapping[str, tuple[str, ...]]

    @classmethod
    def fit(cls, table: Table, columns: Columns) -> TableEncoder:
        """The encoder of these columns, with the medians, means and categories of this table."""
        scales = {}
        if columns.numeric:
            numbers = _numbers(table, columns.numeric)
            medians = np.nanmedian(numbers, axis=0)
            scaler = StandardScaler().fit(np.where(np.isnan(numbers), medians, numbers))
            statistics = np.stack([medians, scaler.mean_, scaler.scale_], axis=1).tolist()
            scales = {name: NumberScale(*found) for name, found in zip(columns.numeric, statistics, strict=True)}
        return cls(scales, {name: tuple(categories(table.column(name))) for name in columns.categorical})

    def transform(self, table: Table) -> NDArray[np.float64]:
        """The features (N, M) of a table: the numbers first, then the categories; other columns are ignored."""
        features = np.zeros((table.n_rows, self.n_features))
        first = len(self.scales)
        if self.scales:
            medians, means, scales = np.array([(s.median, s.mean, s.scale) for s in self.scales.values()]).T
            numbers = _numbers(table, self.numeric)
            features[:, :first] = (np.where(np.isnan(numbers), medians, numbers) - means) / scales
        for name, known in self.categories.items():
            values = pd.Index(as_categories(table.column(name)).astype(object))
            codes = pd.Index(known).get_indexer(values)  # −1 for unknown ones
            rows = np.flatnonzero(codes >= 0)
            features[rows, first + codes[rows]] = 1.0
            first += len(known)
        return features

    @property
    def numeric(self) -> tuple[str, ...]:
        """The names of the columns of numbers."""
        return tuple(self.scales)

    @property
    def categorical(self) -> tuple[str, ...]:
        """The names of the columns of categories."""
        return tuple(self.categories)

    @property
    def n_features(self) -> int:
        """M, the number of features."""
        return len(self.scales) + sum(map(len, self.categories.values()))

    @property
    def features_of(self) -> dict[str, list[int]]:
        """The places of the features that each column became, by name."""
        widths = [1] * len(self.scales) + [len(known) for known in self.categories.values()]
        ends = np.cumsum(widths).tolist()
        names = (*self.numeric, *self.categorical)
        return {name: list(range(end - width, end)) for name, width, end in zip(names, widths, ends, strict=True)}

    def state(self) -> dict[str, Any]:
        """The encoder as plain values for JSON, which keeps every bit of a float."""
        return {
            "numeric": [{"column": name, **asdict(scale)} for name, scale in self.scales.items()],
            "categorical": [{"column": name, "categories": list(known)} for name, known in self.categories.items()],
        }

    @classmethod
    def from_state(cls, state: Any) -> TableEncoder:
        """The encoder of a `state`.

        Raises:
            InputError: if it is not the state of an encoder.
        """
        try:
            scales = {_text(c["column"]): NumberScale(c["median"], c["mean"], c["scale"]) for c in state["numeric"]}
            known = {_text(c["column"]): tuple(map(_text, c["categories"])) for c in state["categorical"]}
            if not scales and not known:
                raise ValueError("it has no column")
            for name, found in known.items():
                if not found or len(set(found)) < len(found):
                    raise ValueError(f"column {name!r} has no category, or one twice")
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the description of the columns is damaged: {error}") from error
        return cls(scales, known)


def _numbers(table: Table, names: Sequence[str]) -> NDArray[np.float64]:
    advice = "fix the value or leave the cell blank"
    numbers = np.stack([table.numbers(name, "a value here", advice) for name in names], axis=1)
    too_large = np.argwhere(np.abs(numbers) > LARGEST)
    if len(too_large):
        row, place = too_large[0]
        raise table.value_error(names[place], row, f"{numbers[row, place]:g}", f"too large to compute with: {advice}")
    return numbers


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
        columns: what is learned from.
        encoder: made the features.
        X: features (N, M).
        y: classes (N,) as text with `None`, or numbers with NaN, for unlabelled rows.
        missing: the number of missing values of each column that is learned from, by name.
        identifiers: what the rows are called; `None` if no column identifies them.
    """

    source: str
    label: str
    task: Task
    columns: Columns
    encoder: TableEncoder
    X: NDArray[np.float64]
    y: NDArray[Any]
    missing: dict[str, int]
    identifiers: Identifiers | None = None


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
    named = None if identifier is None else Identifiers.of(table, identifier)
    return EncodedTable(table.source, label, task, columns, encoder, encoder.transform(table), y, missing, named)
