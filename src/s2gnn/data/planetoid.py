"""Read Planetoid's original files, which are pickles, through an unpickler restricted to arrays."""

import io
import pickle
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.reading import checked_csr

PICKLED = ("x", "y", "tx", "ty", "allx", "ally", "graph")
N_VALIDATION = 500


class _StoredCSR:
    """Takes the state of a pickled SciPy CSR matrix: data, indices, indptr and _shape."""


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("scipy.sparse.csr", "csr_matrix"): _StoredCSR,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
}


_DAMAGED = (
    pickle.UnpicklingError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError,
    MemoryError, RecursionError,
)  # fmt: skip


class _ForbiddenError(InputError):
    """The pickle requests something that is not an array."""


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise _ForbiddenError(
                f"the pickle requests {module}.{name}, which is not an array: it is not from Planetoid"
            )
        return _ALLOWED[module, name]


def unpickle_arrays(content: bytes) -> Any:
    """Load a pickle that contains only arrays, CSR matrices (as SciPy CSR arrays) or lists and dictionaries of numbers.

    Raises:
        InputError: if the pickle requests anything else, which is then neither imported nor called, or is damaged.
    """
    try:
        value = _ArrayUnpickler(io.BytesIO(content), encoding="latin1").load()
        if isinstance(value, _StoredCSR):
            state = vars(value)
            value = checked_csr(state["data"], state["indices"], state["indptr"], state["_shape"])
    except _ForbiddenError:
        raise
    except _DAMAGED as error:
        raise InputError("the pickle is damaged or is not a Planetoid file") from error
    return value


def read_planetoid(files: Mapping[str, bytes]) -> dict[str, NDArray[Any]]:
    """Read the arrays of a citation network from the bytes of its eight original files, by part.

    `test.index` lists the nodes of the test set out of order; they are sorted here. Citeseer's test set has gaps:
    nodes that are in the graph but have neither features nor label; they are listed in `unlabelled` and have y = 0.

    Returns:
        x_data, x_indices, x_indptr, x_shape (CSR features), edge_index (2, E) with both directions of every edge
        once and without self-loops, y (N,), unlabelled, and the public split train_idx, val_idx, test_idx.
    """
    values = {part: unpickle_arrays(files[part]) for part in PICKLED}
    listed = np.array(files["test.index"].split(), dtype=np.int64)
    first, n_test = len(values["ally"]), int(listed.max()) + 1 - len(values["ally"])
    present = np.zeros(n_test, dtype=bool)
    present[listed - first] = True

    # Row i of tx belongs to node listed[i]: a 0/1 matrix puts it there and leaves the gaps empty.
    put = sp.csr_array(
        (np.ones(len(listed), np.float32), (listed - first, np.arange(len(listed)))), (n_test, len(listed))
    )
    x = sp.vstack([values["allx"], put @ values["tx"]], format="csr").astype(np.float32)
    x.sort_indices()
    one_hot = np.concatenate([values["ally"], put @ values["ty"]])
    n_train = len(values["y"])
    return {
        "x_data": x.data,
        "x_indices": x.indices.astype(np.int32),
        "x_indptr": x.indptr.astype(np.int64),
        "x_shape": np.array(x.shape, dtype=np.int64),
        "edge_index": _edge_index(values["graph"], len(one_hot)),
        "y": one_hot.argmax(axis=1).astype(np.int16),
        "unlabelled": (first + np.flatnonzero(~present)).astype(np.int32),
        "train_idx": np.arange(n_train, dtype=np.int32),
        "val_idx": np.arange(n_train, n_train + N_VALIDATION, dtype=np.int32),
        "test_idx": np.sort(listed).astype(np.int32),
    }


def _edge_index(neighbours: Mapping[int, list[int]], n_nodes: int) -> NDArray[np.int32]:
    """Return both directions of every edge once, in row order, without self-loops, (2, E)."""
    rows = np.repeat(list(neighbours), [len(listed) for listed in neighbours.values()])
    columns = np.concatenate([np.array(listed, dtype=np.int64) for listed in neighbours.values()])
    both = sp.coo_array(
        (np.ones(2 * len(rows)), (np.r_[rows, columns], np.r_[columns, rows])), (n_nodes, n_nodes)
    ).tocsr()
    both.setdiag(0)
    both.eliminate_zeros()
    both.sort_indices()
    return np.stack(both.tocoo().coords).astype(np.int32)
