"""Save and load graphs as .npz files."""

import io
from pathlib import Path

import numpy as np

from s2gnn.errors import InputError
from s2gnn.files import write_atomically
from s2gnn.graphs.graph import Graph
from s2gnn.reading import checked_csr, read_arrays

FORMAT = "s2gnn-graph-1"
ARRAYS = ("indptr", "indices", "weights")


def save_graph(graph: Graph, path: str | Path) -> None:
    """Write `graph` to `path` (.npz): its CSR arrays, without pickles."""
    buffer = io.BytesIO()
    np.savez(buffer, format=np.array(FORMAT), indptr=graph.indptr, indices=graph.indices, weights=graph.weights)
    write_atomically(path, buffer.getvalue())


def load_graph(path: str | Path) -> Graph:
    """Load and validate a graph that `save_graph` wrote to `path`.

    Raises:
        InputError: if the file cannot be read, is damaged, or is not a graph.
    """
    try:
        arrays = read_arrays(Path(path), {"format", *ARRAYS}.__contains__)
    except FileNotFoundError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except InputError as error:
        raise InputError(f"{path} is damaged or not a graph written by s2gnn: {error}") from error
    if str(arrays.get("format")) != FORMAT:
        raise InputError(f"{path} is not a graph written by s2gnn: it lacks format = {FORMAT!r}")
    try:
        indptr, indices, weights = (arrays[name] for name in ARRAYS)
        n = max(indptr.size - 1, 0)
        return Graph(checked_csr(weights, indices, indptr, (n, n)))
    except KeyError as error:
        raise InputError(f"{path} is damaged or not a graph written by s2gnn: it lacks {error}") from error
    except InputError as error:
        raise InputError(f"{path} is damaged or not a graph written by s2gnn: {error}") from error
