"""What the benchmarks run on: real data when it is at hand, random graphs of that size otherwise."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from s2gnn.graphs import Graph, diffuse, knn_graph, largest_component, load_graph, save_graph


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


def random_edges(n: int, n_edges: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """About `n_edges` distinct pairs (E, 2) of `n` nodes, and weights (E,) uniform in [0.05, 1]."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(n, size=(int(1.1 * n_edges) + 16, 2))
    low, high = ends.min(axis=1), ends.max(axis=1)
    keys = np.unique((low * n + high)[low < high])
    keys = rng.permutation(keys)[:n_edges]
    return np.stack(np.divmod(keys, n), axis=1), rng.uniform(0.05, 1, len(keys))


def random_graph(n: int, n_edges: int, seed: int = 0) -> Graph:
    """An Erdős–Rényi graph with about `n_edges` edges and weights uniform in [0.05, 1]."""
    return Graph.from_edge_list(*random_edges(n, n_edges, seed), n)


# name: nodes, edges, features, classes, hidden, layers, alpha (the published hyperparameters; Pubmed's are ours)
SIZES = {
    "cancer-b": (1_250, 25_734, 38, 2, 32, 2, 6),
    "cancer-m": (5_000, 101_439, 38, 8, 64, 3, 6),
    "har": (3_000, 87_032, 561, 6, 64, 2, 6),
    "pubmed": (19_717, 1_723_360, 500, 3, 64, 2, 6),
    "er-10000": (10_000, 2_999_700, 64, 10, 64, 2, 6),
    "random-132000": (132_000, 3_900_000, 64, 10, 64, 2, 6),
}
REAL = ("cancer-b", "cancer-m", "har", "pubmed")


def workload(name: str) -> Workload:
    """The training task called `name`, one of `SIZES`."""
    n, n_edges, width, *rest = SIZES[name]
    real = _real_task(name)
    if real is not None:
        features, graph = real
        return Workload(name, graph, torch.tensor(features, dtype=torch.float32), *rest)
    x = torch.randn(n, width, generator=torch.Generator().manual_seed(0))
    return Workload(f"{name} (random)" if name in REAL else name, random_graph(n, n_edges), x, *rest)


def cache_folder() -> Path:
    """The user's cache: S2GNN_CACHE, else s2gnn below XDG_CACHE_HOME, else ~/.cache/s2gnn. It may not exist yet."""
    chosen = os.environ.get("S2GNN_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "s2gnn"


def data_file(name: str) -> Path | None:
    """The file of real data called `name` below the folder that S2GNN_DATA names, if it is there."""
    folder = os.environ.get("S2GNN_DATA")
    path = Path(folder or "") / name
    return path if folder and path.is_file() else None


def _real_task(name: str) -> tuple[NDArray[np.float64], Graph] | None:
    """Features and graph of a data set of the paper, when S2GNN_DATA names the folder of the data sets."""
    files = {"har": "har/har.npz", "pubmed": "citation/pubmed.npz"}
    path = data_file(files.get(name, "kather/kather_lbp38.npz")) if name in REAL else None
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as archive:
        if name == "pubmed":
            matrix = [archive[f"x_{part}"] for part in ("data", "indices", "indptr")]
            features = sp.csr_array(tuple(matrix), shape=tuple(archive["x_shape"])).toarray()
            component, nodes = largest_component(Graph.from_edge_index(archive["edge_index"], n_nodes=len(features)))
            return features[nodes], _diffused(component, "pubmed")
        X, y = archive["X"], archive["y"]
        if name == "har":
            rows = np.random.default_rng(0).choice(np.flatnonzero(~archive["is_test"]), 3_000, replace=False)
            return X[rows], knn_graph(X[rows], 40)
    X = X[y < 2] if name == "cancer-b" else X
    return X, knn_graph(X, 30)


def _diffused(graph: Graph, name: str) -> Graph:
    """The diffusion of `graph`, which takes minutes for Pubmed and is therefore kept in the cache."""
    path = cache_folder() / "bench" / f"{name}-diffusion.npz"
    if not path.is_file():
        save_graph(diffuse(graph), path)
    return load_graph(path)
