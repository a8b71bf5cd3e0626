"""Tables of features, dense or sparse, and distances between their rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.extmath import row_norms

from s2gnn.errors import InputError
from s2gnn.graphs.validation import as_array, with_valid_indices
from s2gnn.ranges import COUNT

VALUES_AT_ONCE = 2**21
LARGEST = 1e150


def checked_features(X: Any, *, keep_float32: bool = False) -> Any:
    """Return `X` as a float64 array or CSR matrix (N, M), after checking that all values are finite.

    A float64 array is returned without a copy, and a float32 array too with `keep_float32`, for callers that compute no
    distances. The check allocates no array of this size.
    """
    dense = not sp.issparse(X)
    if not dense:
        COUNT.checked(X.shape[0], "the number of rows")
        X = with_valid_indices(X)
    try:
        checked = check_array(
            as_array(X) if dense else X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32] if dense and keep_float32 else np.float64,
            ensure_all_finite=False,
        )
    except (ValueError, TypeError, OverflowError) as error:
        reason = str(error).splitlines()[0].rstrip(":.")
        raise InputError(f"X cannot be used as a table of features (N, M): {reason}") from error
    values = checked if dense else checked.data
    largest = float(max(values.max(initial=0), -values.min(initial=0)))  # nan or infinite, if a value is
    if not np.isfinite(largest):
        bad = np.argwhere(~np.isfinite(values))[0]
        row, column = bad if dense else (int(axis[bad[0]]) for axis in checked.tocoo().coords)
        raise InputError(f"X[{row}, {column}] is {checked[row, column]}, but features are finite numbers")
    if largest > LARGEST:
        raise InputError(f"X has a value of size {largest:.3g}, whose square overflows: scale the features down")
    return checked


def products(X: Any, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return x_iᵀ x_j of the rows named in pairs by `i` and `j`, (m,)."""

    def product(left: Any, right: Any) -> NDArray[np.float64]:
        if sp.issparse(left):
            return np.asarray(left.multiply(right).sum(axis=1)).reshape(-1)
        return np.asarray(np.einsum("ij,ij->i", left, right))

    return _by_chunks(X, X, i, j, product)


def squared_distances(X: Any, i: NDArray[np.int64], j: NDArray[np.int64], Y: Any = None) -> NDArray[np.float64]:
    """Return ‖x_i − x_j‖² for rows named in pairs by `i` and `j`, (m,), or ‖x_i − y_j‖² with rows of another table.

    Taken from the differences themselves: the expansion ‖x‖² − 2xᵀy + ‖y‖² loses the digits of small distances
    and may give the two directions of one edge different values.
    """
    return _by_chunks(X, X if Y is None else Y, i, j, lambda left, right: row_norms(left - right, squared=True))


def _by_chunks(
    X: Any, Y: Any, i: NDArray[np.int64], j: NDArray[np.int64], value: Callable[[Any, Any], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return value(X[i], Y[j]) in chunks of pairs whose rows fit into memory."""
    stored = X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1]
    chunk = max(1, int(VALUES_AT_ONCE / max(stored, 1)))
    values = np.empty(len(i))
    for start in range(0, len(i), chunk):
        part = slice(start, start + chunk)
        values[part] = value(X[i[part]], Y[j[part]])
    return values
