"""Replace missing numbers by medians, and standardise columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler


def medians(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the median of each column of `X` (N, M), ignoring NaN, (M,); 0 for a column of NaN only."""
    present = ~np.isnan(X)
    return np.array(
        [np.median(column[known]) if known.any() else 0.0 for column, known in zip(X.T, present.T, strict=True)]
    )


def filled(X: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace NaN in `X` (N, M) by the value of the column (M,); returns the same array if there is none."""
    gaps = np.isnan(X)
    return np.where(gaps, values, X) if gaps.any() else X


@dataclass(frozen=True, eq=False)
class Scaling:
    """(x − centre) / width in every column."""

    centre: NDArray[np.float64]  # (M,); zeros for sparse features, which stay sparse
    width: NDArray[np.float64]  # (M,), positive

    @classmethod
    def of(cls, X: Any, *, standardise: bool = True) -> "Scaling":
        """Scale the columns of `X` (N, M) to mean 0 and deviation 1, or keep them; constant ones keep their width."""
        columns = X.shape[1]
        if not standardise or columns == 0:
            return cls(np.zeros(columns), np.ones(columns))
        found = StandardScaler(with_mean=not sp.issparse(X)).fit(X)
        return cls(np.zeros(columns) if sp.issparse(X) else found.mean_, found.scale_)

    def apply(self, X: Any) -> Any:
        """Scale the columns of `X` (N, M), dense or CSR."""
        if not sp.issparse(X):
            return (X - self.centre) / self.width
        if self.centre.any():
            return (X.toarray() - self.centre) / self.width
        return sp.csr_array(X.multiply(1 / self.width))
