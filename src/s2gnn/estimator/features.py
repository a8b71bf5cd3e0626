"""Convert columns to normal scores, and recognise training rows by their values."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import norm

ROWS_AT_ONCE = 10_000
DIGEST_SIZE = 16
KNOTS = 256
FEW_VALUES = 10  # columns with at most this number of distinct values are unchanged


@dataclass(frozen=True)
class NormalScores:
    """Columns as the normal quantiles of their ranks, so that outliers and skewed columns do not dominate distances.

    A column maps its values piecewise linearly to scores; beyond the smallest and largest value it is constant. Columns
    of few distinct values, such as encoded categories, stay as they are.
    """

    values: NDArray[np.float64]  # ascending, the last one repeated, (knots, M)
    scores: NDArray[np.float64]  # of the values, (knots, M)

    @classmethod
    def of(cls, X: Any) -> "NormalScores":
        """Fit the scores of the columns of `X` (N, M); the columns of a sparse matrix are unchanged."""
        maps = [(np.zeros(1), np.zeros(1)) if sp.issparse(X) else _normal_scores(column) for column in X.T]
        knots = max(len(values) for values, _ in maps)
        padded = np.array([[np.pad(part, (0, knots - len(part)), "edge") for part in one] for one in maps])
        return cls(padded[:, 0].T, padded[:, 1].T)

    def apply(self, X: Any) -> Any:
        """Return the scores of the rows of `X` (Q, M); a sparse matrix is unchanged."""
        if sp.issparse(X):
            return X
        scored = np.array(X, dtype=np.float64)
        for column in np.flatnonzero(self.values[0] < self.values[-1]):
            scored[:, column] = np.interp(X[:, column], self.values[:, column], self.scores[:, column])
        return scored


def _normal_scores(column: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return at most `KNOTS` values of a column and their scores; a single value for an unchanged column."""
    values, counts = np.unique(column, return_counts=True)
    if len(values) <= FEW_VALUES:
        return np.zeros(1), np.zeros(1)
    shares = (np.cumsum(counts) - counts / 2) / len(column)  # ranks, tied values sharing their mean rank
    if len(values) > KNOTS:
        kept = np.unique(np.searchsorted(shares, np.linspace(shares[0], shares[-1], KNOTS)))
        values, shares = values[kept], shares[kept]
    return values, norm.ppf(shares)


class SeenRows:
    """The training rows; equal ones form a group.

    Args:
        digests: of each group's features, (number of groups, 16) bytes.
        groups: the number of each row's group, (N,).
    """

    def __init__(self, digests: NDArray[np.uint8], groups: NDArray[np.int64]) -> None:
        self.digests = digests
        self.groups = groups
        self._numbers = {digest.tobytes(): number for number, digest in enumerate(digests)}

    @classmethod
    def of(cls, X: Any) -> "SeenRows":
        """Group the rows of a table (N, M), dense or CSR."""
        numbers: dict[bytes, int] = {}
        groups = [numbers.setdefault(digest, len(numbers)) for digest in _digests(X)]
        digests = np.frombuffer(b"".join(numbers), dtype=np.uint8).reshape(-1, DIGEST_SIZE)
        return cls(digests, np.array(groups, dtype=np.int64))

    def find(self, X: Any) -> NDArray[np.int64]:
        """Return the group of each row of `X` (Q, M), −1 for a new row, (Q,)."""
        return np.array([self._numbers.get(digest, -1) for digest in _digests(X)], dtype=np.int64)

    def first(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first row of each of `groups` (Q,), −1 for a new row, (Q,)."""
        firsts = np.unique(self.groups, return_index=True)[1]
        return np.where(groups < 0, -1, firsts[groups])

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Average `values` (N, C) over the rows of each group, (number of groups, C)."""
        sums = np.zeros((len(self._numbers), values.shape[1]))
        np.add.at(sums, self.groups, values)
        means: NDArray[np.float64] = sums / np.bincount(self.groups)[:, None]
        return means


def _digests(X: Any) -> Iterator[bytes]:
    """Compute a digest of every row's nonzeros, the same for dense and sparse tables."""
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        block = sp.csr_array(X[start : start + ROWS_AT_ONCE])
        block.sum_duplicates()
        block.eliminate_zeros()
        columns, values = block.indices.astype(np.int64), block.data.astype(np.float64)
        for first, last in zip(block.indptr[:-1], block.indptr[1:], strict=True):
            content = columns[first:last].tobytes() + values[first:last].tobytes()
            yield hashlib.blake2b(content, digest_size=DIGEST_SIZE).digest()


def varies(X: Any) -> bool:
    """Return whether any column of `X` (N, M) has at least two distinct values."""
    if sp.issparse(X):
        return bool((X.max(axis=0) != X.min(axis=0)).sum() > 0)
    return bool((X[0] != X).any())


def in_form_of(features: Any, like: Any) -> Any:
    """Convert `features` to the format of `like`, dense or CSR."""
    if sp.issparse(like):
        return sp.csr_array(features)
    return features.toarray() if sp.issparse(features) else features
