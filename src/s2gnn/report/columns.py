"""The columns of a model's table, read back from the features that the networks see."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.estimator.card import Estimator
from s2gnn.tables.numbers import number_text

HISTOGRAM_BINS = 16
CATEGORIES_NAMED = 3


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
        """Return numbers or categories (n,) of rows of features (n, M), dense or CSR; missing numbers: the median."""
        encoded = features[:, self.features]
        encoded = encoded.toarray() if sp.issparse(encoded) else encoded
        if self.categories is None:
            return np.asarray(encoded[:, 0] * self.scale + self.mean, dtype=np.float64)
        names = np.array([*(name or "(missing)" for name in self.categories), "(other)"], dtype=object)
        return np.asarray(names[np.where(encoded.any(axis=1), encoded.argmax(axis=1), -1)])

    def texts(self, features: Any) -> list[str]:
        """Return the values in rows of features (n, M) as text."""
        return [value if isinstance(value, str) else number_text(value) for value in self.values(features)]

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


def columns_of(estimator: Estimator) -> tuple[Column, ...]:
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


def variance_explained(columns: Sequence[Column], features: Any, groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of each column's variance between the `groups` (N,) of the rows, 0..1, (number of columns,).

    For a numeric column this is η² of the analysis of variance; for categories it is the same ratio summed over their
    indicator features, which is Goodman and Kruskal's τ.
    """
    n = len(groups)
    present, groups, counts = np.unique(groups, return_inverse=True, return_counts=True)
    indicator = np.eye(len(present))[groups]  # (N, groups)
    sums = np.asarray((features.T @ indicator).T)  # (groups, M)
    mean = sums.sum(axis=0) / n
    squares = features.multiply(features) if sp.issparse(features) else features**2
    total = np.maximum(np.asarray(squares.sum(axis=0)).ravel() - n * mean**2, 0.0)
    between = (counts[:, None] * (sums / counts[:, None] - mean) ** 2).sum(axis=0)
    parts = [(between[column.features].sum(), total[column.features].sum()) for column in columns]
    return np.array([min(part / whole, 1.0) if whole > 1e-12 else 0.0 for part, whole in parts])


def quantile_groups(values: NDArray[np.float64], n_groups: int) -> NDArray[np.int64]:
    """Return the quantile interval 0..n_groups − 1 of each of the values (N,); equal values share one."""
    edges = np.quantile(values, np.linspace(0, 1, n_groups + 1)[1:-1])
    return np.searchsorted(edges, values, side="right")
