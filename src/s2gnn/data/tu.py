"""Read many graphs from text files of the TU Dortmund collection: NAME_A.txt, NAME_graph_indicator.txt and others."""

import io
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.data.dataset import GraphCollection
from s2gnn.errors import InputError, TornFileWarning
from s2gnn.graphs import DisjointUnion, Graph

# A small archive can unpack to anything: larger files are rejected unread.
LARGEST_FILE = 2**31

Read = Callable[[str], bytes | None]


def read_tu(path: str | Path, name: str | None = None, *, attributes: bool = False) -> GraphCollection:
    """The graphs of a TU data set, with the classes and node features that PyG's `TUDataset` gives them.

    Node labels are one-hot, column by column from the smallest to the largest value that occurs; with `attributes` the
    node attributes come before them, unchanged. Nodes without either have one feature, their number of neighbours.
    An edge listed in one direction counts in both; repeated edges count once, self-loops are ignored.
    The lines of edge labels and attributes are counted to check that none is missing.

    Args:
        path: the publisher's archive NAME.zip, or the folder with the text files.
        name: of the data set, the prefix of the files' names; default: that of `path`.
        attributes: also use the node attributes.

    Raises:
        InputError: naming the file, and if possible the line, that is missing or wrong.

    Warns:
        TornFileWarning: if some edges are listed in both directions and others in one, as in a truncated file.
    """
    path = Path(path)
    name = path.stem if name is None else name
    if path.is_dir():
        return _collection(name, str(path), lambda part: _from_folder(path, name, part), attributes)
    try:
        with zipfile.ZipFile(path) as archive:
            return _collection(name, str(path), lambda part: _from_archive(archive, path, name, part), attributes)
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise InputError(f"{path} cannot be read as an archive of graphs ({error}): fetch it again") from error


def _from_folder(folder: Path, name: str, part: str) -> bytes | None:
    file = folder / f"{name}_{part}.txt"
    return file.read_bytes() if file.is_file() else None


def _from_archive(archive: zipfile.ZipFile, path: Path, name: str, part: str) -> bytes | None:
    try:
        member = archive.getinfo(f"{name}/{name}_{part}.txt")
    except KeyError:
        return None
    if member.file_size > LARGEST_FILE:
        raise InputError(f"{path}: {member.filename} has {member.file_size:,} bytes, more than {LARGEST_FILE:,}")
    return archive.read(member)


def _collection(name: str, place: str, read: Read, attributes: bool) -> GraphCollection:
    indicator = _column(name, "graph_indicator", read)
    classes, y = np.unique(_column(name, "graph_labels", read), return_inverse=True)
    offsets = _offsets(name, indicator, len(y))
    union = DisjointUnion(_graph(name, read, len(indicator)), offsets)
    x = _features(name, read, union.graph, attributes)
    return GraphCollection(name, union, x, y.astype(np.int64), tuple(map(str, classes.tolist())), place)


def _offsets(name: str, indicator: NDArray[np.int64], n_graphs: int) -> NDArray[np.int64]:
    """The first node of each graph, (G + 1,); the nodes of a graph are contiguous, in the order of the graphs."""
    file = f"{name}_graph_indicator.txt"
    if indicator[0] < 1 or indicator[-1] > n_graphs:
        outside = indicator[0] if indicator[0] < 1 else indicator[-1]
        raise InputError(f"{file} has graph {outside}, but {name}_graph_labels.txt has the graphs 1..{n_graphs}")
    back = np.flatnonzero(np.diff(indicator) < 0)
    if len(back):
        line = back[0] + 2
        raise InputError(f"line {line} of {file} returns to graph {indicator[line - 1]}: graphs must be contiguous")
    sizes = np.bincount(indicator - 1, minlength=n_graphs)
    if sizes.min() == 0:
        raise InputError(f"{file} has no node of graph {int(sizes.argmin()) + 1}: a graph has at least one")
    return np.concatenate([[0], np.cumsum(sizes)])


def _graph(name: str, read: Read, n_nodes: int) -> Graph:
    """All edges, each once and with weight 1."""
    pairs = _table(name, "A", read, np.int64, columns=2, empty=True) - 1
    outside = np.flatnonzero((pairs < 0).any(axis=1) | (pairs >= n_nodes).any(axis=1))
    if len(outside):
        line = outside[0]
        raise InputError(
            f"line {line + 1} of {name}_A.txt joins nodes {pairs[line, 0] + 1} and {pairs[line, 1] + 1}, but nodes are "
            f"1..{n_nodes}"
        )
    _check_whole(name, read, pairs, n_nodes)
    low, high = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1).T
    low, high = np.divmod(np.unique(low * n_nodes + high), n_nodes)
    return Graph.from_edge_list(np.stack([low, high], axis=1), n_nodes=n_nodes)


def _check_whole(name: str, read: Read, pairs: NDArray[np.int64], n_nodes: int) -> None:
    """Reject a list of edges, (M, 2), whose length differs from that of other files; warn if it looks truncated."""
    for part in ("edge_labels", "edge_attributes"):
        content = read(part)
        lines = len(pairs) if content is None else sum(bool(line.strip()) for line in content.splitlines())
        if lines != len(pairs):
            raise InputError(
                f"{name}_A.txt has {len(pairs)} lines, but {name}_{part}.txt has {lines}: one of them is truncated"
            )
    there, back = (np.unique(first * n_nodes + second) for first, second in (pairs.T, pairs.T[::-1]))
    single = len(np.setdiff1d(there, back, assume_unique=True))
    if 0 < single < len(there):
        warnings.warn(
            f"{name}_A.txt lists {single} edges in one direction only and the others in both: is a part of it missing?",
            TornFileWarning,
            stacklevel=2,
        )


def _features(name: str, read: Read, graph: Graph, attributes: bool) -> NDArray[np.float64]:
    n = graph.n_nodes
    parts = []
    if attributes:
        values = _table(name, "node_attributes", read, np.float64, rows=n)
        if not np.isfinite(values).all():
            line = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0]) + 1
            raise InputError(f"line {line} of {name}_node_attributes.txt has a value that is not finite")
        parts.append(values)
    if read("node_labels") is not None:
        labels = _table(name, "node_labels", read, np.int64, rows=n)
        labels -= labels.min(axis=0)
        parts += [(column[:, None] == np.arange(column.max() + 1)).astype(np.float64) for column in labels.T]
    return np.concatenate(parts, axis=1) if parts else np.diff(graph.indptr)[:, None].astype(np.float64)


def _column(name: str, part: str, read: Read) -> NDArray[np.int64]:
    table: NDArray[np.int64] = _table(name, part, read, np.int64, columns=1)[:, 0]
    return table


def _table(
    name: str,
    part: str,
    read: Read,
    dtype: type[np.generic],
    *,
    columns: int | None = None,
    rows: int | None = None,
    empty: bool = False,
) -> NDArray[Any]:
    """The numbers of a file, one line for each row, with commas between the columns."""
    file, content = f"{name}_{part}.txt", read(part)
    if content is None:
        raise InputError(f"{name} has no {file}: it is not a data set of graphs, or lacks this information")
    if empty and not content.strip():
        return np.empty((0, columns or 0), dtype=dtype)
    if not content.strip():
        raise InputError(f"{file} is empty")
    try:
        table = np.loadtxt(io.BytesIO(content), dtype=dtype, delimiter=",", ndmin=2, comments=None, encoding="ascii")
    except ValueError as error:
        raise InputError(f"{file} is not a table of numbers: {error}") from error
    for what, found, expected in (("columns", table.shape[1], columns), ("lines", table.shape[0], rows)):
        if expected is not None and found != expected:
            raise InputError(f"{file} has {found} {what}, expected {expected}")
    return table
