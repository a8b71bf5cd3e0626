"""The networks of PyTorch Geometric's attention layers: heads averaged, and no edge weights."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from s2gnn.graphs import Graph
from s2gnn.graphs.measures import closed_neighbourhoods
from s2gnn.nn.arguments import layer_widths, positive_integer
from s2gnn.nn.baselines.network import HeadName, Network
from s2gnn.nn.features import dense, table


class AttentionNetwork(Network):
    """A stack of attention layers with ReLU and dropout between them; a subclass names its layer.

    Args:
        in_channels: width of the node features.
        hidden_channels: width between layers, and of each head.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        dropout: probability of dropping a hidden element in training; attention coefficients are not dropped.
        heads: number of attention heads, which are averaged.
        head: see `Network`.

    Shapes:
        - input: x (N, in_channels) and edge_index (2, E) as `prepare` gives them
        - output: logits (N, out_channels)
    """

    LAYER: str
    SELF_LOOPS = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        heads: int = 1,
        head: HeadName = "plain",
    ) -> None:
        widths = layer_widths(in_channels, hidden_channels, out_channels, num_layers)
        n_heads = positive_integer(heads, "heads")
        super().__init__((self._layer(i, o, n_heads) for i, o in pairwise(widths)), dropout, head)
        self.in_channels = widths[0]
        self.heads = n_heads

    @classmethod
    def _layer(cls, width_in: int, width_out: int, heads: int) -> nn.Module:
        """PyG's layer; the self-loops that it would add at every call are added by `prepare`."""
        try:
            import torch_geometric.nn
        except ImportError as error:
            raise ImportError(
                f"{cls.__name__} needs PyTorch Geometric: install it with pip install 's2gnn[pyg]'"
            ) from error
        options = {"add_self_loops": False} if cls.SELF_LOOPS else {}
        layer: nn.Module = getattr(torch_geometric.nn, cls.LAYER)(
            width_in, width_out, heads=heads, concat=False, **options
        )
        return layer

    def prepare(self, x: Any, graph: Graph) -> tuple[Tensor, Tensor]:
        """The features as a dense tensor (N, in_channels), and edge_index (2, E) sorted by target, then source."""
        features = dense(table(x, graph, self.in_channels), self._parameter)
        pattern = closed_neighbourhoods(graph) if self.SELF_LOOPS else graph.to_scipy()
        pattern.sort_indices()
        targets, sources = (torch.from_numpy(axis.astype("int64")) for axis in pattern.tocoo().coords)
        return features, torch.stack([sources, targets]).to(features.device)
