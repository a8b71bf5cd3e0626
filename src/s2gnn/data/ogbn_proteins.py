"""ogbn-proteins as a weighted graph, from the files of the Open Graph Benchmark, read by its package."""

import io
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.data.dataset import Dataset
from s2gnn.errors import InputError
from s2gnn.graphs import Graph

_FILES = ("edge", "edge-feat", "num-node-list", "num-edge-list", "node-label")

Arrays = dict[str, NDArray[Any]]


def load_ogbn_proteins(folder: str | Path, nodes: int | None = None) -> Dataset:
    """ogbn-proteins from a folder in OGB's layout, `ogbn_proteins` below the root of its data sets.

    `load_dataset("ogbn-proteins")` fetches the files and has the paper's first 30,000 nodes. Needs the package ogb.

    Args:
        folder: contains `raw` with `edge.csv.gz`, `edge-feat.csv.gz` and the others.
        nodes: take this number of first nodes and the edges between them; default: all 132,534.
    """
    return proteins_dataset(read_raw(Path(folder) / "raw"), nodes, f"OGB's folder {Path(folder).name}")


def proteins_dataset(arrays: Mapping[str, NDArray[Any]], nodes: int | None, source: str) -> Dataset:
    """The data set of the result of `read_raw`, or of its first `nodes`, with the features of the whole network."""
    y, edges = arrays["y"], arrays["edges"]
    n_nodes = len(y) if nodes is None else nodes
    if not 1 <= n_nodes <= len(y):
        raise InputError(f"nodes is {nodes}, but the data set has {len(y)}")
    inside = (edges < n_nodes).all(axis=1)
    graph = Graph.from_edge_list(edges[inside], arrays["edge_weight"][inside], n_nodes)
    names = tuple(f"function {label}" for label in range(y.shape[1]))
    x, labels = arrays["x"][:n_nodes].astype(np.float64), y[:n_nodes].astype(np.int64)
    return Dataset("ogbn-proteins", x, labels, names, graph, source, np.ones(n_nodes, dtype=bool))


def read_archive(path: Path) -> Arrays:
    """`read_raw` of the zip file that OGB ships."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as archive:
        for name in _FILES:
            found = [member for member in archive.namelist() if member.endswith(f"/raw/{name}.csv.gz")]
            if len(found) != 1:
                raise InputError(f"{path} has {len(found)} files raw/{name}.csv.gz, expected one: it is another file")
            with archive.open(found[0]) as packed, (Path(folder) / f"{name}.csv.gz").open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked)
        return read_raw(Path(folder))


def read_raw(raw: Path) -> Arrays:
    """The contents of OGB's folder `raw`, with one weight per edge.

    Returns:
        `edges` (E, 2), every undirected edge once; `edge_weight` (E,), the mean over the eight channels of
        associations, divided by the largest, in (0, 1]; `x` (N, 8), the mean of a protein's edges in each channel,
        zeros without edges; `y` (N, 112) of 0 and 1.
    """
    try:
        import pandas as pd
        from ogb.io.read_graph_raw import read_csv_graph_raw
    except ImportError as error:
        raise InputError("ogbn-proteins is read by OGB's package: install it with pip install 's2gnn[ogb]'") from error

    missing = [name for name in _FILES if not (raw / f"{name}.csv.gz").is_file()]
    if missing:
        raise InputError(f"{raw} has no {missing[0]}.csv.gz: give a folder in the layout of OGB's ogbn-proteins")
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):  # it reports its steps and draws bars
        (content,) = read_csv_graph_raw(str(raw))
    edges, channels, n_nodes = content["edge_index"].T, content["edge_feat"], content["num_nodes"]
    y = pd.read_csv(raw / "node-label.csv.gz", compression="gzip", header=None).to_numpy()
    if len(y) != n_nodes or not np.isin(y, (0, 1)).all():
        raise InputError(f"{raw / 'node-label.csv.gz'} has {len(y)} rows, expected {n_nodes} of 0 and 1")
    if channels is None or len(channels) != len(edges) or not (channels >= 0).all():
        raise InputError(f"{raw / 'edge-feat.csv.gz'} does not have {len(edges)} rows of associations >= 0")
    weight = channels.mean(axis=1, dtype=np.float64)
    return {
        "edges": edges.astype(np.int32),
        "edge_weight": (weight / weight.max(initial=np.finfo(np.float64).tiny)).astype(np.float32),
        "x": _incident_means(edges, channels, n_nodes),
        "y": y.astype(np.int8),
    }


def _incident_means(edges: NDArray[Any], channels: NDArray[Any], n_nodes: int) -> NDArray[np.float64]:
    """The mean of each channel over the edges of a node, (N, channels)."""
    ends = edges.T.ravel()
    counts = np.bincount(ends, minlength=n_nodes)
    sums = [np.bincount(ends, np.tile(channel, 2), n_nodes) for channel in channels.T]
    return np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None]
