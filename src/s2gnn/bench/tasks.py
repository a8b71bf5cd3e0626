"""What the benchmarks run on: real data where available, otherwise random graphs of the same size."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from s2gnn.bench.cost import Size
from s2gnn.data import CATALOGUE, Kind, cache_folder, data_file, dataset_graph, load_dataset
from s2gnn.files import write_atomically
from s2gnn.graphs import Graph

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


@dataclass(frozen=True)
class Workload:
    """A training task on one graph of N nodes; `name` ends in "(random)" where the real data is not available.

    Attributes:
        x: features (N, M), an array, a tensor or a SciPy CSR array.
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

    @property
    def size(self) -> Size:
        """Of the graph and its branches."""
        return Size(self.graph.n_nodes, len(self.graph.indices), self.alpha)

    def supervision(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Labels (N,) that cycle through the classes, and every tenth node (N / 10,) to train on."""
        n = self.graph.n_nodes
        return torch.arange(n) % self.classes, torch.arange(0, n, 10)


@dataclass(frozen=True)
class LargeTask:
    """A multi-label training task on a stored random graph; the default has the size of ogbn-proteins."""

    nodes: int = 132_534
    edges: int = 39_600_000
    features: int = 8
    labels: int = 112
    hidden: int = 64
    layers: int = 3
    alpha: int = 6

    @property
    def widths(self) -> list[int]:
        """Of the layers, the input first."""
        return [self.features, *[self.hidden] * (self.layers - 1), self.labels]

    @property
    def size(self) -> Size:
        """Of the graph and its branches."""
        return Size(self.nodes, 2 * self.edges, self.alpha)


def workload(name: str) -> Workload:
    """The training task called `name`, one of `SIZES`."""
    n, n_edges, width, *rest = SIZES[name]
    if name in REAL and data_file(CATALOGUE[name].file or "") is not None:
        dataset, graph = dataset_graph(load_dataset(name), REAL[name], progress=True)
        return Workload(name, graph, dataset.x, *rest)
    x = torch.randn(n, width, generator=torch.Generator().manual_seed(0))
    return Workload(f"{name} (random)" if name in REAL else name, random_graph(n, n_edges), x, *rest)


def random_graph(n: int, n_edges: int, seed: int = 0) -> Graph:
    """An Erdős–Rényi graph with about `n_edges` edges and weights uniform in [0.05, 1]."""
    return Graph.from_edge_list(*_random_edges(n, n_edges, seed), n)


def _random_edges(n: int, n_edges: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    ends = rng.integers(n, size=(int(1.1 * n_edges) + 16, 2))
    low, high = ends.min(axis=1), ends.max(axis=1)
    keys = np.unique((low * n + high)[low < high])
    keys = rng.permutation(keys)[:n_edges]
    return np.stack(np.divmod(keys, n), axis=1), rng.uniform(0.05, 1, len(keys))


_ARRAYS = ("data", "indices", "indptr")  # the pointers are written last: if they exist, the others are complete


def stored_csr(nodes: int, edges: int) -> Path:
    """The folder of a large random graph in the cache, made at the first call: 8 bytes per direction of an edge."""
    folder = cache_folder() / "bench" / f"random-{nodes}-{edges}"
    if not (folder / "indptr.npy").is_file():
        pairs, weights = _random_edges(nodes, edges)
        ends = pairs.T.astype(np.int32)
        del pairs
        upper = sp.coo_array((weights.astype(np.float32), ends), shape=(nodes,) * 2).tocsr()
        both = upper + upper.T.tocsr()
        for name in _ARRAYS:
            buffer = io.BytesIO()
            np.save(buffer, getattr(both, name))
            write_atomically(folder / f"{name}.npy", buffer.getvalue())
    return folder


def load_csr(folder: Path) -> sp.csr_array:
    """The stored matrix, its arrays mapped from the files."""
    data, indices, indptr = (np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in _ARRAYS)
    return sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1,) * 2)
