"""Checks that turn what a caller hands in into the CSR arrays of a weighted undirected graph."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.errors import InputError

# The two directions of one edge may differ by this many units in the last place of the given type.
ROUNDING_ULPS = 16


def as_array(values: Any) -> NDArray[Any]:
    """A NumPy array from an array, a nested list or a torch tensor on any device."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    return np.asarray(values)


def as_weights(values: Any, n_expected: int) -> NDArray[Any]:
    """Edge weights as a real 1-D array of length `n_expected`; `None` means weight 1 everywhere."""
    if values is None:
        return np.ones(n_expected)
    weights = as_array(values)
    if weights.shape != (n_expected,):
        raise InputError(
            f"edge weights have shape {weights.shape}, but there are {n_expected} edges: "
            f"give one weight per edge, shape ({n_expected},)"
        )
    return weights


def as_node_indices(values: Any, n_nodes: int | None, what: str) -> tuple[NDArray[np.int64], int]:
    """Node indices checked to be integers in `0..n_nodes-1`; also the number of nodes, inferred if `None`."""
    indices = as_array(values)
    if indices.size == 0:
        indices = indices.astype(np.int64)
    if not np.issubdtype(indices.dtype, np.integer):
        raise InputError(
            f"{what} has dtype {indices.dtype}, but node indices are integers: convert with .astype(int) "
            "if the values are whole numbers"
        )
    inferred = int(indices.max()) + 1 if indices.size else 0
    n_nodes = inferred if n_nodes is None else n_nodes
    outside = (indices < 0) | (indices >= n_nodes)
    if outside.any():
        position = tuple(int(p) for p in np.argwhere(outside)[0])
        raise InputError(f"{what}{list(position)} is {indices[position]}, outside 0..{n_nodes - 1} for {n_nodes} nodes")
    return indices.astype(np.int64), n_nodes


def symmetric_csr(matrix: Any, *, sum_duplicates: bool, drop_self_loops: bool) -> Any:
    """A canonical, exactly symmetric float64 CSR copy of `matrix` (N, N) without stored zeros or diagonal.

    Raises:
        InputError: naming the entry that is not finite, negative, duplicated, on the diagonal or asymmetric.
    """
    if not sp.issparse(matrix):
        raise InputError(
            f"the adjacency matrix is a {type(matrix).__name__}, not a SciPy sparse matrix: "
            "wrap a dense array as scipy.sparse.csr_array(A)"
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"the adjacency matrix has shape {matrix.shape}, but it must be square (N, N)")
    if matrix.shape[0] == 0:
        raise InputError("the graph has no nodes: it needs at least one")
    if matrix.dtype.kind not in "fiub":
        raise InputError(f"the weights have dtype {matrix.dtype}, but they must be real numbers")
    rounding = ROUNDING_ULPS * float(np.finfo(matrix.dtype if matrix.dtype.kind == "f" else np.float64).eps)

    csr = sp.csr_array(_sum_duplicates(matrix, allowed=sum_duplicates), dtype=np.float64)
    _require_entries(csr, ~np.isfinite(csr.data), "is not finite")
    _require_entries(csr, csr.data < 0, "is negative: weights are similarities, zero or more")
    csr.eliminate_zeros()
    csr = _without_diagonal(csr, allowed=drop_self_loops)
    return _symmetrised(csr, rounding)


def _sum_duplicates(matrix: Any, *, allowed: bool) -> Any:
    if matrix.format == "csr":
        csr = matrix.copy()
        csr.sum_duplicates()
    else:
        matrix = matrix.tocoo()
        csr = matrix.tocsr()
        csr.sum_duplicates()
    if csr.nnz < matrix.nnz and not allowed:
        coo = matrix.tocoo()
        order = np.lexsort((coo.col, coo.row))
        row, col = coo.row[order], coo.col[order]
        first = np.flatnonzero((row[1:] == row[:-1]) & (col[1:] == col[:-1]))[0]
        raise InputError(
            f"edge ({row[first]}, {col[first]}) is given more than once: pass sum_duplicates=True to add the weights up"
        )
    return csr


def _require_entries(csr: Any, offending: NDArray[np.bool_], complaint: str) -> None:
    if offending.any():
        position = int(np.flatnonzero(offending)[0])
        row = int(np.searchsorted(csr.indptr, position, side="right")) - 1
        raise InputError(f"weight {csr.data[position]} of edge ({row}, {csr.indices[position]}) {complaint}")


def _without_diagonal(csr: Any, *, allowed: bool) -> Any:
    rows = np.repeat(np.arange(csr.shape[0], dtype=csr.indices.dtype), np.diff(csr.indptr))
    loops = rows == csr.indices
    if not loops.any():
        return csr
    if not allowed:
        node = int(rows[loops][0])
        raise InputError(
            f"node {node} has a self-loop of weight {csr.data[loops][0]}: pass drop_self_loops=True to leave "
            "self-loops out (the operator adds its own, of weight epsilon)"
        )
    csr.data[loops] = 0.0
    csr.eliminate_zeros()
    return csr


def _symmetrised(csr: Any, rounding: float) -> Any:
    """The mean of `csr` and its transpose when they agree up to relative `rounding`; otherwise an error."""
    transpose = csr.T.tocsr()
    same_pattern = np.array_equal(csr.indptr, transpose.indptr) and np.array_equal(csr.indices, transpose.indices)
    if same_pattern:
        gap = np.abs(csr.data - transpose.data)
        if np.all(gap <= rounding * np.maximum(csr.data, transpose.data)):
            unequal = gap > 0
            csr.data[unequal] = 0.5 * csr.data[unequal] + 0.5 * transpose.data[unequal]
            return csr
    gap = abs(csr - transpose).tocoo()
    i, j = (int(v[np.argmax(gap.data)]) for v in (gap.row, gap.col))
    raise InputError(
        f"the graph is not symmetric: the weight of ({i}, {j}) is {csr[i, j]}, that of ({j}, {i}) is "
        f"{csr[j, i]}. Symmetrise a directed graph first, for instance with A.maximum(A.T) or (A + A.T) / 2; "
        "for an edge list that names each edge once use Graph.from_edge_list"
    )
