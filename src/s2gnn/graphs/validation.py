"""Checks that turn what a caller hands in into the CSR arrays of a weighted undirected graph."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.errors import InputError

# The two directions of one edge may differ by this many units in the last place of the given type.
ROUNDING_ULPS = 16
BLOCK = 2**22  # entries compared at a time


def as_array(values: Any) -> NDArray[Any]:
    """A NumPy array from an array, a nested list or a torch tensor of any type on any device."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InputError(f"{type(values).__name__} cannot be read as an array: {error}") from error


def as_weights(values: Any, n_expected: int) -> NDArray[Any]:
    """Edge weights as a real 1-D array of length `n_expected`; `None` means weight 1 everywhere."""
    if values is None:
        return np.ones(n_expected)
    weights = as_array(values)
    if weights.dtype.kind not in "fiub":
        raise InputError(f"the edge weights have dtype {weights.dtype}, but they must be real numbers")
    if weights.shape != (n_expected,):
        raise InputError(
            f"edge weights have shape {weights.shape}, but there are {n_expected} edges: "
            f"give one weight per edge, shape ({n_expected},)"
        )
    return weights.astype(np.float32) if weights.dtype == np.float16 else weights


def as_node_indices(values: Any, n_nodes: int | None, what: str) -> tuple[NDArray[np.int64], int]:
    """Node indices checked to be integers in `0..n_nodes-1`; also the number of nodes, inferred if `None`."""
    indices = as_array(values)
    if indices.size == 0:
        indices = indices.astype(np.int64)
    if indices.dtype.kind not in "iu":
        first = f"{what}{[0] * indices.ndim} is {indices.flat[0]!r}" if indices.ndim else f"{what} is {values!r}"
        raise InputError(
            f"{first} (dtype {indices.dtype}), but node indices are integers in a list or array: "
            "convert with .astype(int) if the values are whole numbers"
        )
    inferred = int(indices.max()) + 1 if indices.size else 0
    if n_nodes is not None and (not isinstance(n_nodes, int | np.integer) or n_nodes < 1):
        raise InputError(f"n_nodes is {n_nodes!r}, but it must be an integer >= 1")
    n_nodes = inferred if n_nodes is None else int(n_nodes)
    outside = (indices < 0) | (indices >= n_nodes)
    if outside.any():
        position = tuple(int(p) for p in np.argwhere(outside)[0])
        raise InputError(f"{what}{list(position)} is {indices[position]}, outside 0..{n_nodes - 1} for {n_nodes} nodes")
    return indices.astype(np.int64), n_nodes


def symmetric_csr(matrix: Any, *, sum_duplicates: bool, drop_self_loops: bool) -> Any:
    """A canonical, exactly symmetric float64 CSR copy of `matrix` (N, N) without stored zeros or diagonal.

    Raises:
        InputError: naming the entry that is out of range, not finite, negative, duplicated, on the diagonal or
            asymmetric.
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

    csr = _unsummed_csr(matrix)
    _require_entries(csr, ~np.isfinite(csr.data), "is not finite")
    _require_entries(csr, csr.data < 0, "is negative: weights are similarities, zero or more")
    csr.eliminate_zeros()
    _drop_diagonal(csr, allowed=drop_self_loops)
    _sum_duplicates(csr, allowed=sum_duplicates)
    return _symmetrised(csr, rounding)


def _unsummed_csr(matrix: Any) -> Any:
    """A float64 CSR copy with the entries as they were given, duplicates among them, all indices in range."""
    n = matrix.shape[0]
    if matrix.format in ("csr", "csc", "bsr"):
        _require_sound_pointers(matrix)
    if matrix.format == "csr":
        parts = matrix.data.astype(np.float64), matrix.indices.copy(), matrix.indptr.copy()
        return sp.csr_array(parts, shape=(n, n))
    coo = matrix.tocoo()
    for axis, indices in (("row", coo.row), ("column", coo.col)):
        _require_in_range(indices, n, axis)
    order = np.argsort(coo.row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(coo.row, minlength=n))])
    return sp.csr_array((coo.data[order].astype(np.float64), coo.col[order], indptr), shape=(n, n))


def _require_sound_pointers(matrix: Any) -> None:
    """SciPy trusts the index arrays of compressed formats and reads beyond them when they are wrong."""
    indptr = matrix.indptr
    if indptr[0] != 0 or np.any(np.diff(indptr) < 0) or indptr[-1] > len(matrix.indices):
        raise InputError(f"the indptr array of the {matrix.format} matrix does not increase from 0 to its entries")
    other = matrix.shape[0] // (matrix.blocksize[1] if matrix.format == "bsr" else 1)
    _require_in_range(matrix.indices, other, "row" if matrix.format == "csc" else "column")


def _require_in_range(indices: NDArray[Any], n: int, axis: str) -> None:
    outside = (indices < 0) | (indices >= n)
    if outside.any():
        position = int(np.flatnonzero(outside)[0])
        raise InputError(f"the {axis} index of entry {position} is {indices[position]}, outside 0..{n - 1}")


def _require_entries(csr: Any, offending: NDArray[np.bool_], complaint: str) -> None:
    if offending.any():
        position = int(np.flatnonzero(offending)[0])
        row = int(np.searchsorted(csr.indptr, position, side="right")) - 1
        raise InputError(f"weight {csr.data[position]} of edge ({row}, {csr.indices[position]}) {complaint}")


def _drop_diagonal(csr: Any, *, allowed: bool) -> None:
    rows = np.repeat(np.arange(csr.shape[0], dtype=csr.indices.dtype), np.diff(csr.indptr))
    loops = rows == csr.indices
    if not loops.any():
        return
    if not allowed:
        node = int(rows[loops][0])
        raise InputError(
            f"node {node} has a self-loop of weight {csr.data[loops][0]}: pass drop_self_loops=True to drop "
            "self-loops (the operator adds its own, of weight epsilon)"
        )
    csr.data[loops] = 0.0
    csr.eliminate_zeros()


def _sum_duplicates(csr: Any, *, allowed: bool) -> None:
    csr.sort_indices()
    if not allowed:
        same_row = np.ones(max(csr.nnz - 1, 0), dtype=bool)
        starts = csr.indptr[1:-1]
        same_row[starts[(starts > 0) & (starts < csr.nnz)] - 1] = False
        twice = np.flatnonzero(same_row & (csr.indices[1:] == csr.indices[:-1]))
        if len(twice):
            row = int(np.searchsorted(csr.indptr, twice[0], side="right")) - 1
            raise InputError(
                f"edge ({row}, {csr.indices[twice[0]]}) is given more than once: "
                "pass sum_duplicates=True to add the weights up"
            )
    csr.sum_duplicates()


def _symmetrised(csr: Any, rounding: float) -> Any:
    """The mean of `csr` and its transpose when they agree up to relative `rounding`; otherwise an error."""
    transpose = csr.T.tocsr()
    same_pattern = np.array_equal(csr.indptr, transpose.indptr) and np.array_equal(csr.indices, transpose.indices)
    if same_pattern and all(
        np.all(np.abs(a - b) <= rounding * np.maximum(a, b)) for a, b in _blocks(csr.data, transpose.data)
    ):
        for a, b in _blocks(csr.data, transpose.data):
            unequal = a != b
            a[unequal] = 0.5 * a[unequal] + 0.5 * b[unequal]
        return csr
    relative = abs(csr - transpose).multiply(csr.maximum(transpose).power(-1)).tocoo()
    i, j = (int(v[np.argmax(relative.data)]) for v in (relative.row, relative.col))
    raise InputError(
        f"the graph is not symmetric: the weight of ({i}, {j}) is {csr[i, j]}, that of ({j}, {i}) is {csr[j, i]}. "
        "Symmetrise a directed graph first: a matrix with A.maximum(A.T) or (A + A.T) / 2, an edge_index with "
        'torch_geometric.utils.to_undirected(edge_index, edge_weight, reduce="mean"); '
        "for an edge list with each edge once use Graph.from_edge_list"
    )


def _blocks(*arrays: NDArray[Any]) -> Iterator[tuple[NDArray[Any], ...]]:
    """Views of the same few million entries of each array in turn, so that temporary arrays stay small."""
    for start in range(0, len(arrays[0]), BLOCK):
        yield tuple(array[start : start + BLOCK] for array in arrays)
