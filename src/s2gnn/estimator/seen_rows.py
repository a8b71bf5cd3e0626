"""Rows that were there in training, recognised by their features."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

ROWS_AT_ONCE = 10_000
DIGEST_SIZE = 16


class SeenRows:
    """The rows of a training table, each group of equal ones under one number.

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
        """The rows of a table (N, M), dense or CSR."""
        numbers: dict[bytes, int] = {}
        groups = [numbers.setdefault(digest, len(numbers)) for digest in _digests(X)]
        digests = np.frombuffer(b"".join(numbers), dtype=np.uint8).reshape(-1, DIGEST_SIZE)
        return cls(digests, np.array(groups, dtype=np.int64))

    def find(self, X: Any) -> NDArray[np.int64]:
        """The group that each row of `X` (Q, M) belongs to, −1 for a row that is new, (Q,)."""
        return np.array([self._numbers.get(digest, -1) for digest in _digests(X)], dtype=np.int64)

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean of `values` (N, C) over the rows of each group, (number of groups, C)."""
        sums = np.zeros((len(self._numbers), values.shape[1]))
        np.add.at(sums, self.groups, values)
        means: NDArray[np.float64] = sums / np.bincount(self.groups)[:, None]
        return means


def _digests(X: Any) -> Iterator[bytes]:
    """A digest of every row's nonzeros, the same for dense and sparse tables."""
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        block = sp.csr_array(X[start : start + ROWS_AT_ONCE])
        block.sum_duplicates()
        block.eliminate_zeros()
        columns, values = block.indices.astype(np.int64), block.data.astype(np.float64)
        for first, last in zip(block.indptr[:-1], block.indptr[1:], strict=True):
            content = columns[first:last].tobytes() + values[first:last].tobytes()
            yield hashlib.blake2b(content, digest_size=DIGEST_SIZE).digest()
