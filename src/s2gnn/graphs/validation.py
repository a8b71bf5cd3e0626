"""Validate the caller's input and convert it to the CSR arrays of a weighted undirected graph."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.errors import AsymmetricGraphError, InputError
from s2gnn.ranges import COUNT
from s2gnn.reading import check_pointers

# The two directions of one edge may differ by this many units in the last place of the given type: in float32 by 1.5e-5
# relative to the larger, twice what the diffusion (GDC) of PyTorch Geometric leaves.
ROUNDING_ULPS = 128
BLOCK = 2**22  # entries compared at a time


def as_array(values: Any) -> NDArray[Any]:
    """Return a NumPy array from an array, a nested list or a torch tensor of any type on any device."""
    try:
        if hasattr(values, "detach"):
            values = values.detach().cpu()
            values = values.float() if str(values.dtype) == "torch.bfloat16" else values
        return np.asarray(values)
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:  # also sparse, nested and meta tensors
        raise InputError(f"{type(values).__name__} cannot be read as an array: {error}") from error


def as_weights(values: Any, n_expected: int) -> NDArray[Any]:
    """Return edge weights as a real 1-D array of length `n_expected`; `None` means weight 1 everywhere."""
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


def as_indices(values: Any, n: int | None, what: str, of: str = "nodes") -> tuple[NDArray[np.int64], int]:
    """Return indices checked to be integers in `0..n-1`; also the number of nodes `n`, inferred if `None`."""
    indices = as_array(values)
    if indices.size == 0:
        indices = indices.astype(np.int64)
    if indices.ndim == 2 and indices.shape[0] == indices.shape[1] > 2:
        raise InputError(
            f"{what} has shape {indices.shape}, like a dense adjacency matrix: pass its edges, A.nonzero(), or "
            "Graph.from_scipy(scipy.sparse.csr_array(A))"
        )
    if indices.dtype.kind not in "iu":
        first = f"{what}{[0] * indices.ndim} is {indices.flat[0]}" if indices.ndim else f"{what} is {values!r}"
        remedy = ".long()" if hasattr(values, "long") else ".astype(int)"
        raise InputError(
            f"{first} (dtype {indices.dtype}), but indices are integers in a list or array: "
            f"convert with {remedy} if the values are whole numbers"
        )
    n = (int(indices.max()) + 1 if indices.size else 0) if n is None else COUNT.checked(n, f"n_{of}")
    outside = np.argwhere((indices < 0) | (indices >= n))
    if len(outside):
        at = tuple(outside[0].tolist())
        raise InputError(f"{what}{list(at)} is {indices[at]}, outside 0..{n - 1} for {n} {of}")
    if n > COUNT.high:
        raise InputError(f"{what} has the index {n - 1}, but there can be at most {COUNT.high} {of}")
    return indices.astype(np.int64), int(n)


def check_choice(what: str, value: object, choices: Sequence[str]) -> None:
    """Raise unless an option has one of its allowed values."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{what} is {value!r}, but it must be one of {', '.join(choices)}")


def relative_rounding(dtype: Any) -> float:
    """Return the allowed relative difference between the two directions of an edge, for weights of a type."""
    return ROUNDING_ULPS * float(np.finfo(dtype).eps)


class ValidCSR(NamedTuple):
    """CSR arrays that are known to be those of a graph; without `copy` it keeps them, for instance in shared memory."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    weights: NDArray[np.float64]
    copy: bool = True


def symmetric_csr(matrix: Any, *, sum_duplicates: bool, drop_self_loops: bool) -> ValidCSR:
    """Return the canonical, exactly symmetric float64 CSR arrays of `matrix` (N, N) without stored zeros or diagonal.

    Raises:
        InputError: naming the entry that is out of range, not finite, negative, duplicated, on the diagonal or
            asymmetric, or the node whose weights add up to infinity.
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
    COUNT.checked(matrix.shape[0], "the number of nodes")
    if matrix.dtype.kind not in "fiub":
        raise InputError(f"the weights have dtype {matrix.dtype}, but they must be real numbers")
    rounding = relative_rounding(matrix.dtype if matrix.dtype.kind == "f" else np.float64)
    csr = _unsummed_csr(matrix)
    _require_entries(csr, ~np.isfinite(csr.data), "is not finite")
    _require_entries(csr, csr.data < 0, "is negative: weights are similarities, zero or more")
    csr.eliminate_zeros()
    _drop_diagonal(csr, allowed=drop_self_loops)
    _sum_duplicates(csr, allowed=sum_duplicates)
    _symmetrise(csr, rounding)
    infinite = np.flatnonzero(~np.isfinite(csr @ np.ones(csr.shape[0])))
    if len(infinite):
        raise InputError(f"the weights of node {infinite[0]} add up to infinity: scale the weights down")
    return ValidCSR(csr.indptr, csr.indices, csr.data)


def with_valid_indices(matrix: Any) -> Any:
    """Return a SciPy sparse matrix with all indices in range: itself if it is compressed, otherwise in COO format.

    SciPy does not check index arrays that were modified after construction, and reads out of bounds if they are wrong.
    """
    if matrix.dtype == np.float16:
        raise InputError(f"SciPy does not compute with a {matrix.format} matrix of float16: give float32 or float64")
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            check_pointers(matrix.indptr, len(matrix.indices))
            matrix.check_format(full_check=True)
            return matrix
        coo = matrix.tocoo()
        return sp.coo_array((coo.data, coo.coords), shape=coo.shape)  # checks the indices
    except ValueError as error:
        raise InputError(f"the indices of the {matrix.format} matrix are damaged: {error}") from error


def _unsummed_csr(matrix: Any) -> Any:
    """Return a float64 CSR copy with the entries as they were given, duplicates among them, all indices in range."""
    matrix = with_valid_indices(matrix)
    if matrix.format == "csr":
        return sp.csr_array(matrix, dtype=np.float64, copy=True)
    coo = matrix.tocoo()
    rows, columns = coo.coords
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=coo.shape[0]))])
    return sp.csr_array((coo.data[order].astype(np.float64), columns[order], indptr), shape=coo.shape)


def _rows(csr: Any) -> NDArray[Any]:
    """Return the row of every stored entry."""
    return np.repeat(np.arange(csr.shape[0], dtype=csr.indices.dtype), np.diff(csr.indptr))


def _require_entries(csr: Any, offending: NDArray[np.bool_], complaint: str) -> None:
    if offending.any():
        at = int(offending.argmax())
        raise InputError(f"weight {csr.data[at]} of edge ({_rows(csr)[at]}, {csr.indices[at]}) {complaint}")


def _drop_diagonal(csr: Any, *, allowed: bool) -> None:
    loops = _rows(csr) == csr.indices
    if not loops.any():
        return
    if not allowed:
        at = int(loops.argmax())
        raise InputError(
            f"node {csr.indices[at]} has a self-loop of weight {csr.data[at]}: pass drop_self_loops=True to drop "
            "self-loops (the operator adds its own, of weight epsilon)"
        )
    csr.data[loops] = 0.0
    csr.eliminate_zeros()


def _sum_duplicates(csr: Any, *, allowed: bool) -> None:
    csr.sort_indices()
    rows = _rows(csr)
    twice = (rows[1:] == rows[:-1]) & (csr.indices[1:] == csr.indices[:-1])
    if twice.any() and not allowed:
        at = int(twice.argmax())
        raise InputError(
            f"edge ({rows[at]}, {csr.indices[at]}) is given more than once: "
            "pass sum_duplicates=True to add the weights up"
        )
    csr.sum_duplicates()


def _symmetrise(csr: Any, rounding: float) -> None:
    """Replace `csr` by the mean of itself and its transpose if they agree up to relative `rounding`."""
    transpose = csr.T.tocsr()
    symmetric = np.array_equal(csr.indptr, transpose.indptr) and np.array_equal(csr.indices, transpose.indices)
    start = 0
    while symmetric and start < csr.nnz:  # block by block, so that temporary arrays stay small
        a, b = csr.data[start : start + BLOCK], transpose.data[start : start + BLOCK]
        symmetric = bool(np.all(np.abs(a - b) <= rounding * np.maximum(a, b)))
        if symmetric:
            unequal = a != b
            a[unequal] = 0.5 * a[unequal] + 0.5 * b[unequal]
        start += BLOCK
    if symmetric:
        return
    relative = abs(csr - transpose).multiply(csr.maximum(transpose).power(-1)).tocoo()
    i, j = (int(v[np.argmax(relative.data)]) for v in relative.coords)
    raise AsymmetricGraphError(
        f"the graph is not symmetric: the weight of ({i}, {j}) is {csr[i, j]}, that of ({j}, {i}) is {csr[j, i]}. "
        "Symmetrise a directed graph first: a matrix with A.maximum(A.T) or (A + A.T) / 2, an edge_index with "
        'torch_geometric.utils.to_undirected(edge_index, edge_weight, reduce="mean"); '
        "for an edge list with each edge once use Graph.from_edge_list"
    )
