"""What the benchmarks run on: real data when it is at hand, random graphs of that size otherwise."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from s2gnn.graphs import Graph, knn_graph


@dataclass(frozen=True)
class Workload:
    """A training task.

    Attributes:
        name: with "(random)" when the real data is not at hand.
        graph: N nodes.
        x: features (N, M).
        classes: number of classes.
        hidden: width between layers.
        layers: number of layers.
        alpha: highest Hadamard power.
    """

    name: str
    graph: Graph
    x: Tensor
    classes: int
    hidden: int
    layers: int
    alpha: int


def random_graph(n: int, n_edges: int, seed: int = 0) -> Graph:
    """An Erdős–Rényi graph with about `n_edges` edges and weights uniform in [0.05, 1]."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(n, size=(int(1.1 * n_edges) + 16, 2))
    low, high = ends.min(axis=1), ends.max(axis=1)
    keys = np.unique((low * n + high)[low < high])
    keys = rng.permutation(keys)[:n_edges]
    return Graph.from_edge_list(np.stack(np.divmod(keys, n), axis=1), rng.uniform(0.05, 1, len(keys)), n)


# name: nodes, edges, features, classes, hidden, layers, alpha (the published hyperparameters; Pubmed's are ours)
SIZES = {
    "cancer-b": (1_250, 25_734, 38, 2, 32, 2, 6),
    "cancer-m": (5_000, 101_439, 38, 8, 64, 3, 6),
    "har": (3_000, 87_032, 561, 6, 64, 2, 6),
    "pubmed": (19_717, 1_723_360, 500, 3, 64, 2, 6),
}


def workload(name: str) -> Workload:
    """The training task called `name`, one of `SIZES`."""
    n, n_edges, width, *rest = SIZES[name]
    real = _real_features(name)
    if real is not None:
        x, k = real
        return Workload(name, knn_graph(x, k), torch.tensor(x, dtype=torch.float32), *rest)
    x = np.random.default_rng(0).normal(size=(n, width))
    return Workload(f"{name} (random)", random_graph(n, n_edges), torch.tensor(x, dtype=torch.float32), *rest)


def data_file(name: str) -> Path | None:
    """The file of real data called `name` below the folder that S2GNN_DATA names, if it is there."""
    folder = os.environ.get("S2GNN_DATA")
    path = Path(folder or "") / name
    return path if folder and path.is_file() else None


def _real_features(name: str) -> tuple[np.ndarray, int] | None:
    """Features and k of a constructed graph, when S2GNN_DATA names the folder of the data sets."""
    files = {"cancer-b": "kather/kather_lbp38.npz", "cancer-m": "kather/kather_lbp38.npz", "har": "har/har.npz"}
    path = data_file(files[name]) if name in files else None
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as archive:
        X, y = archive["X"], archive["y"]
        if name == "har":
            rows = np.flatnonzero(~archive["is_test"])
            return X[np.random.default_rng(0).choice(rows, 3_000, replace=False)], 40
    return (X[y < 2] if name == "cancer-b" else X), 30
