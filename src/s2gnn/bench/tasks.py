"""Workloads of the benchmarks: real data if available, otherwise random graphs of the same size."""

import io
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from s2gnn.data import CATALOGUE, Kind, cache_folder, data_file, dataset_graph, load_dataset
from s2gnn.files import write_atomically
from s2gnn.graphs import Graph
from s2gnn.nn.inputs import Features


@dataclass(frozen=True)
class Task:
    """The size of a graph and of the network to train on it; the default is that of ogbn-proteins."""

    nodes: int = 132_534
    edges: int = 39_600_000
    features: int = 8
    labels: int = 112
    hidden: int = 64
    layers: int = 3
    alpha: int = 6

    @property
    def widths(self) -> list[int]:
        """The widths of the layers, the input first."""
        return [self.features, *[self.hidden] * (self.layers - 1), self.labels]

    @property
    def directions(self) -> int:
        """Stored entries of the adjacency matrix."""
        return 2 * self.edges

    @property
    def nonzeros(self) -> int:
        """Nonzeros of one S_ρ, including its diagonal."""
        return self.directions + self.nodes


# With the published hyperparameters; Pubmed's are ours.
TASKS = {
    "cancer-b": Task(1_250, 25_734, 38, 2, 32, 2),
    "cancer-m": Task(5_000, 101_439, 38, 8, 64, 3),
    "har": Task(3_000, 87_032, 561, 6, 64, 2),
    "pubmed": Task(19_717, 1_723_360, 500, 3, 64, 2),
    "er-10000": Task(10_000, 2_999_700, 64, 10, 64, 2),
    "random-132000": Task(132_000, 3_900_000, 64, 10, 64, 2),
}
REAL: dict[str, Kind] = {"cancer-b": "knn", "cancer-m": "knn", "har": "knn", "pubmed": "diffusion"}


@dataclass(frozen=True)
class Workload:
    """A task with its graph and features (N, M); `name` ends in "(random)" if the real data is not available."""

    name: str
    task: Task
    graph: Graph
    x: Features

    def supervision(self) -> tuple[Tensor, Tensor]:
        """Return labels (N,) that cycle through the classes, and every tenth node (N / 10,) to train on."""
        return torch.arange(self.task.nodes) % self.task.labels, torch.arange(0, self.task.nodes, 10)


def workload(name: str) -> Workload:
    """Load the workload `name`, one of `TASKS`."""
    task = TASKS[name]
    if name in REAL and data_file(CATALOGUE[name].file or "") is not None:
        dataset, graph = dataset_graph(load_dataset(name), REAL[name], progress=True)
        return Workload(name, replace(task, nodes=graph.n_nodes, edges=graph.n_edges), graph, dataset.x)
    x = torch.randn(task.nodes, task.features, generator=torch.Generator().manual_seed(0))
    return Workload(f"{name} (random)" if name in REAL else name, task, random_graph(task.nodes, task.edges), x)


def random_graph(n: int, n_edges: int, seed: int = 0) -> Graph:
    """Return an Erdős–Rényi graph with about `n_edges` edges and weights uniform in [0.05, 1]."""
    return Graph.from_edge_list(*_random_edges(n, n_edges, seed), n)


def _random_edges(n: int, n_edges: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    ends = rng.integers(n, size=(int(1.1 * n_edges) + 16, 2))
    low, high = ends.min(axis=1), ends.max(axis=1)
    keys = np.unique((low * n + high)[low < high])
    keys = rng.permutation(keys)[:n_edges]
    return np.stack(np.divmod(keys, n), axis=1), rng.uniform(0.05, 1, len(keys))


def stored_graph(nodes: int, edges: int) -> Path:
    """Return the CSR matrix of a large random graph, cached after the first call: 8 bytes per direction of an edge."""
    path = cache_folder() / "bench" / f"random-{nodes}-{edges}.npz"
    if not path.is_file():
        pairs, weights = _random_edges(nodes, edges)
        ends = pairs.T.astype(np.int32)
        del pairs
        upper = sp.coo_array((weights.astype(np.float32), ends), shape=(nodes,) * 2).tocsr()
        buffer = io.BytesIO()
        sp.save_npz(buffer, upper + upper.T.tocsr(), compressed=False)
        write_atomically(path, buffer.getvalue())
    return path
