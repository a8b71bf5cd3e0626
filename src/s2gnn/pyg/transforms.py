"""Transforms of PyTorch Geometric's data: edge weights, diffusion, prebuilt operators."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import is_sparse, to_edge_index

from s2gnn.errors import InputError
from s2gnn.graphs import Graph, diffuse, weights
from s2gnn.graphs.diffusion import check_diffusion
from s2gnn.graphs.validation import as_array, check_choice
from s2gnn.operators import Shift, SobolevOperator
from s2gnn.operators.shifts import check_shift
from s2gnn.operators.sobolev import check_alpha, check_epsilon

WeightName = Literal["jaccard", "adamic_adar", "cosine", "gaussian"]
_UNTIDY = {"sum_duplicates": True, "drop_self_loops": True}


class EdgeWeights(BaseTransform):  # type: ignore[misc]  # PyG has no types
    """Compute `edge_weight` (E,), so that the branches of a layer differ on an unweighted graph.

    `edge_index` is unchanged and existing weights are replaced. The weight of a repeated edge is divided among its
    copies, and self-loops get weight zero. The graph must be undirected: apply PyG's `ToUndirected` first if necessary.

    Args:
        kind: "jaccard" or "adamic_adar", based on common neighbours; "cosine" or "gaussian", based on the features `x`.
            See `s2gnn.graphs.weights`.

    Example:
        >>> data = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> EdgeWeights("jaccard")(data).edge_weight
        tensor([0.6667, 0.6667, 0.6667, 0.6667])
    """

    def __init__(self, kind: WeightName) -> None:
        check_choice("kind", kind, get_args(WeightName))
        self.kind = kind

    def forward(self, data: Data) -> Data:
        """Return `data` with `edge_weight`."""
        _check(data)
        (i, j), n = as_array(data.edge_index).astype(np.int64), data.num_nodes
        graph = Graph.from_edge_index(data.edge_index, None, n, **_UNTIDY)  # each weight counts listed edges
        of: Callable[..., Graph] = getattr(weights, self.kind)
        weighted = of(graph, _features(data)) if self.kind in ("cosine", "gaussian") else of(graph)
        stored = np.searchsorted(graph.rows().astype(np.int64) * n + graph.indices, i * n + j)
        shares = np.append(weighted.weights / graph.weights, 0.0)[np.where(i == j, -1, stored)]
        data.edge_weight = torch.from_numpy(shares).to(data.edge_index.device, _real(data))
        return data

    def __repr__(self) -> str:
        return f"EdgeWeights({self.kind!r})"


class Diffusion(BaseTransform):  # type: ignore[misc]
    """Replace `edge_index` and `edge_weight` by those of `s2gnn.diffuse`; `edge_attr` is dropped.

    The graph must be undirected; repeated edges are summed, and self-loops dropped.

    Args:
        teleport: see `s2gnn.diffuse`.
        top: number of entries kept for each node.
    """

    def __init__(self, teleport: float = 0.05, top: int = 128) -> None:
        check_diffusion(teleport, top)
        self.teleport, self.top = teleport, top

    def forward(self, data: Data) -> Data:
        """Return `data` on the diffused graph."""
        edges = diffuse(_graph(data), self.teleport, self.top).to_pyg(_real(data))
        device = data.edge_index.device
        data.edge_index, data.edge_weight = edges.edge_index.to(device), edges.edge_weight.to(device)
        data.edge_attr = None
        return data

    def __repr__(self) -> str:
        return f"Diffusion(teleport={self.teleport:g}, top={self.top})"


class WithOperator(BaseTransform):  # type: ignore[misc]
    """Attach a prebuilt operator as `data.operator`, for `conv(data.x, data.operator)`.

    PyG's `DataLoader` collects the operators of a batch in a list, which the layers of `s2gnn.pyg` accept as the
    operator of the disjoint union. `data.to(device)` also moves the operators.

    The graph must be undirected; repeated edges are summed, and self-loops dropped. As `transform` of a data set it
    would run at every access, so apply it once: `[with_operator(data) for data in dataset]`.

    Args:
        alpha: α of the layers.
        epsilon: ε of the layers.
        shift: shift operator of the layers.
    """

    def __init__(self, alpha: int = 4, epsilon: float = 1.0, shift: Shift = "adjacency") -> None:
        check_alpha(alpha)
        check_epsilon(epsilon)
        check_shift(shift)
        self.alpha, self.epsilon, self.shift = alpha, epsilon, shift

    def forward(self, data: Data) -> Data:
        """Return `data` with `operator`."""
        graph = _graph(data)
        options: dict[str, Any] = {"dtype": _real(data), "device": data.edge_index.device}
        data.operator = SobolevOperator(graph, self.alpha, self.epsilon, self.shift, **options)
        return data

    def __repr__(self) -> str:
        return f"WithOperator(alpha={self.alpha}, epsilon={self.epsilon:g}, shift={self.shift!r})"


def _check(data: Data) -> None:
    if not isinstance(data, Data):
        raise InputError(
            f"the transform got a {type(data).__name__}, expected a Data with one kind of nodes and edges: pass "
            "data.to_homogeneous(), or a Data of one edge type"
        )
    if data.edge_index is None:
        raise InputError("data has no edge_index: apply this transform before those that remove it, as ToSparseTensor")


def _graph(data: Data) -> Graph:
    _check(data)
    return Graph.from_pyg(data, **_UNTIDY)


def _features(data: Data) -> Any:
    """Return `data.x` (N, M) as an array, or as a SciPy matrix if it is sparse."""
    if data.x is None:
        raise InputError('data has no features x, which "cosine" and "gaussian" compare: use "jaccard"')
    if not is_sparse(data.x):
        return as_array(data.x)
    index, values = to_edge_index(data.x)
    return sp.coo_array((as_array(values), as_array(index)), shape=tuple(data.x.shape))


def _real(data: Data) -> torch.dtype:
    """Return the dtype of the features, by default float32."""
    return torch.float64 if data.x is not None and data.x.dtype == torch.float64 else torch.float32
