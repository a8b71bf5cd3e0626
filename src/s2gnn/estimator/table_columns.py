"""The columns of a model's table, read back from the features that the networks see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.tables.numbers import number_text

if TYPE_CHECKING:
    from s2gnn.estimator.row_answers import RowAnswers

HISTOGRAM_BINS = 16
CATEGORIES_NAMED = 3
MISSING = "missing"  # instead of a number


@dataclass(frozen=True)
class Column:
    """A column of the table and the features it was encoded as."""

    name: str
    first: int  # index of its first feature
    categories: tuple[str, ...] | None = None  # of each of its features; `None` for numbers, which are one feature
    mean: float = 0.0  # subtracted from numbers
    scale: float = 1.0  # numbers were divided by it

    @property
    def features(self) -> slice:
        """Its features."""
        return slice(self.first, self.first + len(self.categories or (self.name,)))

    def values(self, features: Any) -> NDArray[Any]:
        """Return numbers or categories (n,) of rows of features (n, M), dense or CSR; the median if missing."""
        encoded = features[:, self.features]
        encoded = encoded.toarray() if sp.issparse(encoded) else encoded
        if self.categories is None:
            return np.asarray(encoded[:, 0] * self.scale + self.mean, dtype=np.float64)
        names = np.array([*(name or "(missing)" for name in self.categories), "(other)"], dtype=object)
        return np.asarray(names[np.where(encoded.any(axis=1), encoded.argmax(axis=1), -1)])

    def texts(self, features: Any, missing: NDArray[np.bool_] | None = None) -> list[str]:
        """Return the values in rows of features (n, M) as text; `missing` marks missing numbers, (n, M)."""
        texts = [value if isinstance(value, str) else number_text(value) for value in self.values(features)]
        if missing is None or self.categories is not None:
            return texts
        return [MISSING if gone else text for gone, text in zip(missing[:, self.first], texts, strict=True)]

    def summary(self, features: Any) -> tuple[str, list[int]]:
        """Return the values of the column in a few words, and a histogram; most frequent categories first."""
        values = self.values(features)
        if self.categories is None:
            low, median, high = map(number_text, np.quantile(values, [0, 0.5, 1]))
            return f"{low} to {high}, median {median}", np.histogram(values, HISTOGRAM_BINS)[0].tolist()
        counts = Counter(values.tolist()).most_common()
        text = ", ".join(f"{name} {count:,}" for name, count in counts[:CATEGORIES_NAMED])
        more = len(counts) - CATEGORIES_NAMED
        return text + (f" and {more:,} more" if more > 0 else ""), [count for _, count in counts[:HISTOGRAM_BINS]]


def columns_of(estimator: RowAnswers) -> tuple[Column, ...]:
    """Return the columns that the estimator encodes; a column for every feature if it was fitted on numbers."""
    encoder = estimator.encoder_
    if encoder is None:
        scaling = estimator.scaling_
        names = getattr(estimator, "feature_names_in_", [f"x{index}" for index in range(estimator.n_features_in_)])
    else:
        scaling, names = encoder.scaling, encoder.numeric
    scales = zip(names, scaling.centre.tolist(), scaling.width.tolist(), strict=True)
    columns = [Column(str(name), index, None, mean, scale) for index, (name, mean, scale) in enumerate(scales)]
    first = len(columns)
    for name, categories in ({} if encoder is None else encoder.categories).items():
        columns.append(Column(name, first, categories))
        first += len(categories)
    return tuple(columns)


def named_values(
    estimator: RowAnswers, features: Any, missing: NDArray[np.bool_], named: Mapping[str, Sequence[int]]
) -> list[dict[str, str | float | None]]:
    """Return the values of columns in rows of features (n, M), by the names of their features; `None` if missing."""
    columns = {tuple(range(column.features.start, column.features.stop)): column for column in columns_of(estimator)}
    values: list[list[str | float | None]] = []
    for column in (columns.get(tuple(own)) for own in named.values()):
        if column is None:  # features of several columns
            values.append([None] * features.shape[0])
        elif column.categories is None:
            numbers = [float(f"{value:.12g}") for value in column.values(features)]  # without the error of scaling
            values.append([None if gone else x for gone, x in zip(missing[:, column.first], numbers, strict=True)])
        else:
            values.append(column.values(features).tolist())
    return [dict(zip(named, row, strict=True)) for row in zip(*values, strict=True)]
