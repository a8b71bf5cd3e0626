"""Pooling of node signals into one signal per graph."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from s2gnn.graphs.validation import check_choice

PoolingName = Literal["mean", "sum", "max", "attention"]


@dataclass(frozen=True, eq=False)
class NodeGroups:
    """The assignment of nodes to the graphs of a disjoint union.

    Attributes:
        graph_of_node: index of the graph of every node, (N,) int64, non-decreasing.
        sizes: number of nodes of every graph, (G,) int64, at least 1.
    """

    graph_of_node: Tensor
    sizes: Tensor

    @classmethod
    def of(cls, offsets: NDArray[np.int64], device: torch.device) -> "NodeGroups":
        """Return the groups of a union with these offsets (G + 1,)."""
        sizes = torch.from_numpy(np.diff(offsets)).to(device)
        return cls(torch.repeat_interleave(torch.arange(len(sizes), device=device), sizes), sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    def sum(self, h: Tensor) -> Tensor:
        """Return the sum over the nodes of every graph, differentiable: (N, F) → (G, F)."""
        return h.new_zeros(len(self), h.shape[1]).index_add(0, self.graph_of_node, h)

    def max(self, h: Tensor) -> Tensor:
        """Return the largest value of every channel over the nodes of every graph, differentiable: (N, F) → (G, F)."""
        rows = self.graph_of_node[:, None].expand_as(h)
        return h.new_zeros(len(self), h.shape[1]).scatter_reduce(0, rows, h, "amax", include_self=False)

    def softmax(self, scores: Tensor) -> Tensor:
        """Return exp(s_i) / Σ_j exp(s_j) over the nodes j of the graph of i, differentiable: (N, F) → (N, F)."""
        powers = torch.exp(scores - self.max(scores.detach())[self.graph_of_node])
        return powers / self.sum(powers)[self.graph_of_node]


class MeanPooling(nn.Module):
    """The mean over the nodes of every graph; PyG's `global_mean_pool`.

    Shapes:
        - input: h (N, F) and the groups of N nodes
        - output: (G, F)
    """

    def forward(self, h: Tensor, groups: NodeGroups) -> Tensor:
        """Return one mean for every graph, (G, F)."""
        return groups.sum(h) / groups.sizes[:, None]


class SumPooling(nn.Module):
    """The sum over the nodes of every graph; PyG's `global_add_pool`. Shapes: see `MeanPooling`."""

    def forward(self, h: Tensor, groups: NodeGroups) -> Tensor:
        """Return one sum for every graph, (G, F)."""
        return groups.sum(h)


class MaxPooling(nn.Module):
    """The largest value of each channel over a graph's nodes; PyG's `global_max_pool`. Shapes: see `MeanPooling`."""

    def forward(self, h: Tensor, groups: NodeGroups) -> Tensor:
        """Return one maximum for every graph and channel, (G, F)."""
        return groups.max(h)


class AttentionPooling(nn.Module):
    r"""Σ_i p_i h_i with p = softmax_i(aᵀ h_i + b) over the nodes of every graph (Li et al., 2016).

    PyG's `AttentionalAggregation` with a linear gate.

    Args:
        channels: F.

    Shapes:
        - input: h (N, F) and the groups of N nodes
        - output: (G, F)
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gate = nn.Linear(channels, 1)

    def forward(self, h: Tensor, groups: NodeGroups) -> Tensor:
        """Return one weighted mean for every graph, (G, F)."""
        return groups.sum(groups.softmax(self.gate(h)) * h)


def make_pooling(name: PoolingName, channels: int) -> nn.Module:
    """Create the pooling `name` for signals with `channels` channels."""
    check_choice("pooling", name, get_args(PoolingName))
    if name == "attention":
        return AttentionPooling(channels)
    return {"mean": MeanPooling, "sum": SumPooling, "max": MaxPooling}[name]()
