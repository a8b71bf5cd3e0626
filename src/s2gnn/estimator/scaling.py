"""Columns brought to one scale, so that units do not decide which rows are near to each other."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler


@dataclass(frozen=True)
class Scaling:
    """(x − centre) / width in every column.

    Attributes:
        centre: (M,); zeros for sparse features, which stay sparse.
        width: (M,), positive.
    """

    centre: NDArray[np.float64]
    width: NDArray[np.float64]

    @classmethod
    def of(cls, X: Any, *, standardise: bool) -> "Scaling":
        """Mean and standard deviation of the columns of `X` (N, M), or no change; a constant column keeps its width."""
        columns = X.shape[1]
        if not standardise:
            return cls(np.zeros(columns), np.ones(columns))
        found = StandardScaler(with_mean=not sp.issparse(X)).fit(X)
        return cls(np.zeros(columns) if sp.issparse(X) else found.mean_, found.scale_)

    def apply(self, X: Any) -> Any:
        """The columns of `X` (N, M), dense or CSR, on the common scale."""
        if not sp.issparse(X):
            return (X - self.centre) / self.width
        if self.centre.any():
            return (X.toarray() - self.centre) / self.width
        return sp.csr_array(X.multiply(1 / self.width))
