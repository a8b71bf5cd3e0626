"""Read many graphs from text files of the TU Dortmund collection: NAME_A.txt, NAME_graph_indicator.txt and others."""

import glob
import io
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.data.dataset import GraphCollection
from s2gnn.errors import InputError, TornFileWarning
from s2gnn.graphs import DisjointUnion, Graph
from s2gnn.reading import opened_archive, read_bytes


def read_tu(path: str | Path, name: str | None = None, *, attributes: bool = False) -> GraphCollection:
    """Read the graphs of a TU data set, with the same classes and node features as PyG's `TUDataset`.

    Node labels are one-hot, column by column from the smallest to the largest value that occurs; with `attributes` the
    node attributes come before them, unchanged. Nodes without either have one feature, their number of neighbours.
    An edge listed in one direction counts in both; repeated edges count once, self-loops are ignored.
    The number of edge labels and attributes is checked against the number of edges.

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
        content = {file.name: read_bytes(file) for file in path.glob(f"{glob.escape(name)}_*.txt")}
        return _collection(_Files(str(path), name, content), attributes)
    prefix = f"{name}/{name}_"
    try:
        with opened_archive(path, lambda file: file.startswith(prefix)) as archive:
            files = [file for file in archive.namelist() if file.startswith(prefix)]
            content = {file.removeprefix(f"{name}/"): archive.read(file) for file in files}
    except (FileNotFoundError, InputError) as error:
        raise InputError(f"{path} cannot be read as an archive of graphs ({error}): fetch it again") from error
    return _collection(_Files(f"{path}/{name}", name, content), attributes)


@dataclass(frozen=True)
class _Files:
    """The files NAME_*.txt of a folder, on disk or in an archive, by name."""

    folder: str
    name: str
    content: Mapping[str, bytes]

    def read(self, part: str) -> bytes | None:
        return self.content.get(f"{self.name}_{part}.txt")

    def table(
        self,
        part: str,
        dtype: type[np.generic] = np.int64,
        *,
        columns: int | None = None,
        rows: int | None = None,
        empty: bool = False,
    ) -> NDArray[Any]:
        """Return the numbers of a file, one line for each row, with commas between the columns."""
        file, content = f"{self.name}_{part}.txt", self.read(part)
        if content is None:
            raise InputError(f"{self.name} has no {file}: it is not a data set of graphs, or lacks this information")
        if not content.strip():
            if empty:
                return np.empty((0, columns or 0), dtype)
            raise InputError(f"{file} is empty")
        try:
            table = np.loadtxt(io.BytesIO(content), dtype, delimiter=",", ndmin=2, comments=None, encoding="ascii")
        except ValueError as error:
            raise InputError(f"{file} is not a table of numbers: {error}") from error
        for what, found, expected in (("columns", table.shape[1], columns), ("lines", table.shape[0], rows)):
            if expected is not None and found != expected:
                raise InputError(f"{file} has {found} {what}, expected {expected}")
        return table


def _collection(files: _Files, attributes: bool) -> GraphCollection:
    classes, y = np.unique(files.table("graph_labels", columns=1)[:, 0], return_inverse=True)
    offsets = _offsets(files, len(y))
    union = DisjointUnion(_graph(files, int(offsets[-1])), offsets)
    x, names = _features(files, union.graph, attributes), tuple(map(str, classes.tolist()))
    return GraphCollection(files.name, union, x, y.astype(np.int64), names, files.folder)


def _offsets(files: _Files, n_graphs: int) -> NDArray[np.int64]:
    """Return the first node of each graph, (G + 1,); graphs are numbered from 1 and their nodes are contiguous."""
    file, indicator = f"{files.name}_graph_indicator.txt", files.table("graph_indicator", columns=1)[:, 0]
    previous = np.concatenate([[0], indicator[:-1]])
    wrong = np.flatnonzero((indicator != previous) & (indicator != previous + 1) | (indicator == 0))
    if len(wrong):
        line = wrong[0]
        raise InputError(
            f"line {line + 1} of {file} is {indicator[line]} after {previous[line]}: the graphs are 1, 2, … in this "
            "order, each with at least one node"
        )
    if indicator[-1] != n_graphs:
        raise InputError(f"{file} has {indicator[-1]} graphs, but {files.name}_graph_labels.txt has {n_graphs} lines")
    return np.concatenate([[0], np.cumsum(np.bincount(indicator - 1))])


def _graph(files: _Files, n_nodes: int) -> Graph:
    """Return all edges, each once and with weight 1."""
    pairs = files.table("A", columns=2, empty=True) - 1
    outside = np.flatnonzero(((pairs < 0) | (pairs >= n_nodes)).any(axis=1))
    if len(outside):
        i, j = pairs[outside[0]] + 1
        raise InputError(
            f"line {outside[0] + 1} of {files.name}_A.txt joins nodes {i} and {j}, but nodes are 1..{n_nodes}"
        )
    _check_whole(files, pairs, n_nodes)
    low, high = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1).T
    low, high = np.divmod(np.unique(low * n_nodes + high), n_nodes)
    return Graph.from_edge_list(np.stack([low, high], axis=1), n_nodes=n_nodes)


def _check_whole(files: _Files, pairs: NDArray[np.int64], n_nodes: int) -> None:
    """Reject a list of edges, (M, 2), whose length differs from that of other files; warn if it looks truncated."""
    for part in ("edge_labels", "edge_attributes"):
        content = files.read(part)
        lines = len(pairs) if content is None else sum(bool(line.strip()) for line in content.splitlines())
        if lines != len(pairs):
            raise InputError(
                f"{files.name}_A.txt has {len(pairs)} lines, but {files.name}_{part}.txt has {lines}: one is truncated"
            )
    there, back = (np.unique(first * n_nodes + second) for first, second in (pairs.T, pairs.T[::-1]))
    single = len(np.setdiff1d(there, back, assume_unique=True))
    if 0 < single < len(there):
        warnings.warn(
            f"{files.name}_A.txt lists {single} edges in one direction only and the others in both: is a part missing?",
            TornFileWarning,
            stacklevel=2,
        )


def _features(files: _Files, graph: Graph, attributes: bool) -> NDArray[np.float64]:
    n = graph.n_nodes
    parts = []
    if attributes:
        values = files.table("node_attributes", np.float64, rows=n)
        infinite = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(infinite):
            line = infinite[0] + 1
            raise InputError(f"line {line} of {files.name}_node_attributes.txt has a value that is not finite")
        parts.append(values)
    if files.read("node_labels") is not None:
        labels = files.table("node_labels", rows=n)
        labels -= labels.min(axis=0)
        parts += [(column[:, None] == np.arange(column.max() + 1)).astype(np.float64) for column in labels.T]
    return np.concatenate(parts, axis=1) if parts else np.diff(graph.indptr)[:, None].astype(np.float64)
