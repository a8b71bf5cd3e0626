"""ogbn-proteins as a weighted graph, from the files of the Open Graph Benchmark."""

import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from s2gnn.data.dataset import Dataset
from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.reading import Gunzipped


def load_ogbn_proteins(folder: str | Path, nodes: int | None = None) -> Dataset:
    """Load ogbn-proteins from a folder in OGB's layout, `ogbn_proteins` below the root of its data sets.

    `load_dataset("ogbn-proteins")` downloads the files and returns the paper's first 30,000 nodes.

    Args:
        folder: contains `raw` with `edge.csv.gz`, `edge-feat.csv.gz` and `node-label.csv.gz`.
        nodes: keep only the first `nodes` nodes and the edges between them; default: all 132,534.
    """
    return proteins_dataset(read_raw(Path(folder) / "raw"), nodes, f"OGB's folder {Path(folder).name}")


def proteins_dataset(arrays: Mapping[str, NDArray[Any]], nodes: int | None, source: str) -> Dataset:
    """Build the data set of the first `nodes` from the result of `read_raw`, with the features of the whole network."""
    y, edges = arrays["y"], arrays["edges"]
    n_nodes = len(y) if nodes is None else nodes
    if not 1 <= n_nodes <= len(y):
        raise InputError(f"nodes is {nodes}, but the data set has {len(y)}")
    inside = (edges < n_nodes).all(axis=1)
    graph = Graph.from_edge_list(edges[inside], arrays["edge_weight"][inside], n_nodes)
    names = tuple(f"function {label}" for label in range(y.shape[1]))
    x, labels = arrays["x"][:n_nodes].astype(np.float64), y[:n_nodes].astype(np.int64)
    return Dataset("ogbn-proteins", x, labels, names, graph, source, np.ones(n_nodes, dtype=bool))


def read_raw(raw: Path | zipfile.Path) -> dict[str, NDArray[Any]]:
    """Read OGB's folder `raw`, on disk or in its archive, with one weight per edge.

    Returns:
        `edges` (E, 2), every undirected edge once; `edge_weight` (E,), the mean over the eight channels of
        associations, divided by the largest, in (0, 1]; `x` (N, 8), the mean of a protein's edges in each channel,
        zeros without edges; `y` (N, 112) of 0 and 1.
    """
    edges = _table(raw, "edge", np.int64)
    channels = _table(raw, "edge-feat", np.float32)
    y = _table(raw, "node-label", np.int64)
    n_nodes = len(y)
    if edges.shape[1] != 2 or edges.min() < 0 or edges.max() >= n_nodes or not np.isin(y, (0, 1)).all():
        raise InputError(f"{raw} does not have pairs of {n_nodes} nodes in edge.csv.gz and 0 or 1 in node-label.csv.gz")
    if len(channels) != len(edges) or not (channels >= 0).all():
        raise InputError(f"edge-feat.csv.gz in {raw} does not have {len(edges)} rows of associations >= 0")
    weight = channels.mean(axis=1, dtype=np.float64)
    ends = edges.T.ravel()
    sums = [np.bincount(ends, np.tile(channel, 2), n_nodes) for channel in channels.T]
    return {
        "edges": edges.astype(np.int32),
        "edge_weight": (weight / weight.max(initial=np.finfo(np.float64).tiny)).astype(np.float32),
        "x": np.stack(sums, axis=1) / np.maximum(np.bincount(ends, minlength=n_nodes), 1)[:, None],
        "y": y.astype(np.int8),
    }


def _table(raw: Path | zipfile.Path, name: str, dtype: type[np.generic]) -> NDArray[Any]:
    try:
        path = raw / f"{name}.csv.gz"
        with path.open("rb") as packed:
            size = packed.seek(0, os.SEEK_END)
            packed.seek(0)
            with Gunzipped(packed, size, path) as text:
                return pd.read_csv(text, header=None).to_numpy(dtype)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(
            f"{raw / f'{name}.csv.gz'} cannot be read ({error}): give a folder in the layout of OGB's ogbn-proteins"
        ) from error
