"""Transforms of PyTorch Geometric's data: weights for the edges of unweighted graphs, diffusion, prebuilt operators."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from s2gnn.graphs import Graph, diffuse, weights
from s2gnn.graphs.validation import as_array, check_choice
from s2gnn.operators import Shift, SobolevOperator

WeightName = Literal["jaccard", "adamic_adar", "cosine", "gaussian"]


class EdgeWeights(BaseTransform):  # type: ignore[misc]  # PyG has no types
    """Write `edge_weight` (E,), so that the branches of a layer differ on a graph that has no weights.

    The edges stay what they are, in their order; of edges that are listed repeatedly each has its share, and self-loops
    have weight zero. Weights that are there are replaced.

    Args:
        kind: "jaccard" or "adamic_adar", by common neighbours; "cosine" or "gaussian", by the features `x`. See
            `s2gnn.graphs.weights`.

    Example:
        >>> data = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> EdgeWeights("jaccard")(data).edge_weight
        tensor([0.6667, 0.6667, 0.6667, 0.6667])
    """

    def __init__(self, kind: WeightName) -> None:
        check_choice("kind", kind, get_args(WeightName))
        self.kind = kind

    def forward(self, data: Data) -> Data:
        """`data` with `edge_weight`."""
        graph = _graph(data)
        of: Callable[..., Graph] = getattr(weights, self.kind)
        weighted = of(graph, as_array(data.x)) if self.kind in ("cosine", "gaussian") else of(graph)
        source, target = as_array(data.edge_index)
        times_listed, values = (np.asarray(g.to_scipy()[source, target]) for g in (graph, weighted))
        shares = np.divide(values, times_listed, out=np.zeros(len(source)), where=times_listed > 0)
        data.edge_weight = torch.from_numpy(shares).to(data.edge_index.device, _real(data))
        return data

    def __repr__(self) -> str:
        return f"EdgeWeights({self.kind!r})"


class Diffusion(BaseTransform):  # type: ignore[misc]
    """Replace `edge_index` and `edge_weight` by those of `s2gnn.diffuse`; `edge_attr` is dropped.

    Args:
        teleport: see `s2gnn.diffuse`.
        top: entries kept for each node.
    """

    def __init__(self, teleport: float = 0.05, top: int = 128) -> None:
        self.teleport, self.top = teleport, top

    def forward(self, data: Data) -> Data:
        """`data` on the diffused graph."""
        options = {"sum_duplicates": True, "drop_self_loops": True}
        edges = diffuse(Graph.from_pyg(data, **options), self.teleport, self.top).to_pyg(_real(data))
        device = data.edge_index.device
        data.edge_index, data.edge_weight = edges.edge_index.to(device), edges.edge_weight.to(device)
        data.edge_attr = None
        return data

    def __repr__(self) -> str:
        return f"Diffusion(teleport={self.teleport:g}, top={self.top})"


class WithOperator(BaseTransform):  # type: ignore[misc]
    """Attach the operator of a graph, built once, as `data.operator`: `conv(data.x, data.operator)`.

    PyG's `DataLoader` collects the operators of a batch in a list, which the layers of `s2gnn.pyg` take too: it stands
    for the operator of the disjoint union.

    Args:
        alpha: α of the layers.
        epsilon: ε of the layers.
        shift: their shift operator.
    """

    def __init__(self, alpha: int = 4, epsilon: float = 1.0, shift: Shift = "adjacency") -> None:
        self.alpha, self.epsilon, self.shift = alpha, epsilon, shift

    def forward(self, data: Data) -> Data:
        """`data` with `operator`."""
        graph = Graph.from_pyg(data, sum_duplicates=True, drop_self_loops=True)
        options: dict[str, Any] = {"dtype": _real(data), "device": data.edge_index.device}
        data.operator = SobolevOperator(graph, self.alpha, self.epsilon, self.shift, **options)
        return data

    def __repr__(self) -> str:
        return f"WithOperator(alpha={self.alpha}, epsilon={self.epsilon:g}, shift={self.shift!r})"


def _graph(data: Data) -> Graph:
    """The graph with as many parallel edges as listed for weights."""
    return Graph.from_edge_index(data.edge_index, None, data.num_nodes, sum_duplicates=True, drop_self_loops=True)


def _real(data: Data) -> torch.dtype:
    """The type of the features, or float32."""
    return torch.float64 if data.x is not None and data.x.dtype == torch.float64 else torch.float32
