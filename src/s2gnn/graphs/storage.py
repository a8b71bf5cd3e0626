"""Save a graph to an .npz file and load it again."""

import io
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from s2gnn.errors import InputError
from s2gnn.files import write_atomically
from s2gnn.graphs.graph import Graph

FORMAT = "s2gnn-graph-1"


def save_graph(graph: Graph, path: str | Path) -> None:
    """Write `graph` to `path` (.npz): its CSR arrays, without pickles."""
    buffer = io.BytesIO()
    np.savez(buffer, format=np.array(FORMAT), indptr=graph.indptr, indices=graph.indices, weights=graph.weights)
    write_atomically(path, buffer.getvalue())


def load_graph(path: str | Path) -> Graph:
    """The graph that `save_graph` wrote to `path`, validated anew.

    Raises:
        InputError: if the file cannot be read, is damaged, or holds something else.
    """
    try:
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            if "format" not in archive or str(archive["format"]) != FORMAT:
                raise InputError(f"{path} is not a graph written by s2gnn: it lacks format = {FORMAT!r}")
            indptr, indices, weights = (archive[name] for name in ("indptr", "indices", "weights"))
            return Graph(sp.csr_array((weights, indices, indptr), shape=(len(indptr) - 1,) * 2))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except InputError:
        raise
    except (ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is damaged or not a graph written by s2gnn") from error
