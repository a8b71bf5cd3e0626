"""What the benchmarks run on: real data when it is at hand, random graphs of that size otherwise."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from s2gnn.data import CATALOGUE, Kind, data_file, dataset_graph, load_dataset
from s2gnn.graphs import Graph


@dataclass(frozen=True)
class Workload:
    """A training task.

    Attributes:
        name: with "(random)" when the real data is not at hand.
        graph: N nodes.
        x: features (N, M), an array, a tensor or a SciPy CSR array.
        classes: number of classes.
        hidden: width between layers.
        layers: number of layers.
        alpha: highest Hadamard power.
    """

    name: str
    graph: Graph
    x: Any
    classes: int
    hidden: int
    layers: int
    alpha: int

    @property
    def widths(self) -> list[int]:
        """Of the layers, the input first."""
        return [self.x.shape[1], *[self.hidden] * (self.layers - 1), self.classes]

    def supervision(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Labels (N,) that go round the classes, and every tenth node (N / 10,) to train on."""
        n = self.graph.n_nodes
        return torch.arange(n) % self.classes, torch.arange(0, n, 10)


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
REAL: dict[str, Kind] = {"cancer-b": "knn", "cancer-m": "knn", "har": "knn", "pubmed": "diffusion"}


def workload(name: str) -> Workload:
    """The training task called `name`, one of `SIZES`; building the graph of a data set shows its progress."""
    n, n_edges, width, *rest = SIZES[name]
    if name in REAL and data_file(CATALOGUE[name].file or "") is not None:
        dataset, graph = dataset_graph(load_dataset(name), REAL[name], progress=True)
        return Workload(name, graph, dataset.x, *rest)
    x = torch.randn(n, width, generator=torch.Generator().manual_seed(0))
    return Workload(f"{name} (random)" if name in REAL else name, random_graph(n, n_edges), x, *rest)
