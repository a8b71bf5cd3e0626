"""The baselines as the networks of PyTorch Geometric's own layers, to be timed beside ours."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.bench.networks import DROPOUT
from s2gnn.graphs import Graph
from s2gnn.nn import make_model

ATTENTION = {
    "gat": "GATConv",
    "gatv2": "GATv2Conv",
    "supergat": "SuperGATConv",
    "transformer": "TransformerConv",
}
BASELINES = ("gcn", "cheby", "sgc", "clustergcn", *ATTENTION)
WEIGHTED = ("gcn", "cheby", "sgc")  # to the others the released code gives no edge weights
POLYNOMIALS = 2  # K of Cheby


class LayerNetwork(nn.Module):
    """PyG's layers with ReLU and dropout between them.

    Shapes:
        - input: x (N, M), edge_index (2, E) and, where the layers take them, edge_weight (E,)
        - output: logits (N, C)
    """

    def __init__(self, layers: Iterable[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor, *edges: Tensor) -> Tensor:
        """The logits (N, C)."""
        *hidden, last = self.layers
        for layer in hidden:
            x = F.dropout(F.relu(layer(x, *edges)), DROPOUT, self.training)
        return last(x, *edges)  # type: ignore[no-any-return]


def make_ours(model: str, graph: Graph, x: Any, widths: Sequence[int], heads: int) -> tuple[nn.Module, tuple[Any, ...]]:
    """Our network of one of the `BASELINES`, and what it is called with: what its `prepare` gives.

    Args:
        model: one of `BASELINES`.
        graph: N nodes.
        x: features (N, M), an array, a tensor or a SciPy CSR array.
        widths: of the layers, M first.
        heads: of the networks with attention.
    """
    own = {"heads": heads} if model in ATTENTION else {"K": POLYNOMIALS} if model == "cheby" else {}
    network = make_model(
        model, widths[0], widths[-1], hidden_channels=widths[1], num_layers=len(widths) - 1, dropout=DROPOUT, **own
    )
    return network, network.prepare(x, graph)  # type: ignore[operator]


def make_peer(model: str, graph: Graph, x: Any, widths: Sequence[int], heads: int) -> tuple[nn.Module, tuple[Any, ...]]:
    """The same network of PyG's layers, and what it is called with: the arguments are those of `make_ours`.

    Raises:
        ImportError: where PyG is not installed.
    """
    network = LayerNetwork(_layers(model, widths, heads))
    data = graph.to_pyg(torch.float32)
    edges = (data.edge_index, data.edge_weight) if model in WEIGHTED else (data.edge_index,)
    return network, (torch.as_tensor(x.toarray() if sp.issparse(x) else x).float(), *edges)


def _layers(model: str, widths: Sequence[int], heads: int) -> Iterable[nn.Module]:
    """PyG's layers, with what they can keep from one epoch to the next kept."""
    from torch_geometric import nn as pyg

    if model == "sgc":
        return [pyg.SGConv(widths[0], widths[-1], K=len(widths) - 1, cached=True)]
    if model in ATTENTION:
        layer = partial(getattr(pyg, ATTENTION[model]), heads=heads, concat=False)
    else:
        layer = {
            "gcn": partial(pyg.GCNConv, cached=True),
            "cheby": partial(pyg.ChebConv, K=POLYNOMIALS),
            "clustergcn": pyg.ClusterGCNConv,
        }[model]
    return [layer(i, o) for i, o in pairwise(widths)]
