"""Layers that multiply filtered features by weights; filters of constant features are computed once."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from s2gnn.graphs import Graph
from s2gnn.nn.baselines.stack import Stack
from s2gnn.nn.inputs import Features, LayerInput, sparse_if_cheaper, table
from s2gnn.operators import BranchOperator, GraphOperator, PreparedInput, SobolevOperator, SparseInput


class FilterLayer(nn.Module, ABC):
    """A linear layer on features under one or several filters, which commute with the weights.

    It can filter first, only once if the features are constant, or transform first, which is cheaper for sparse or wide
    features.

    Shapes:
        - input: x (N, in_channels), dense, sparse or prepared, and the operator of N nodes
        - output: (N, out_channels)
    """

    products: float = 1  # products with the operator for each product X W, if the layer transforms first

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels

    @abstractmethod
    def filters(self, x: Tensor, op: BranchOperator) -> tuple[Tensor, ...]:
        """Return the features under each filter, each (N, in_channels)."""

    @abstractmethod
    def combine(self, *signals: Tensor) -> Tensor:
        """Return the output (N, out_channels), given the result of `filters`."""

    @abstractmethod
    def transform_first(self, x: Tensor | SparseInput, op: BranchOperator) -> Tensor:
        """Return the same output (N, out_channels), multiplied by the weights before the operator."""

    def forward(self, x: LayerInput, op: BranchOperator) -> Tensor:
        """Return the output before the activation, (N, out_channels)."""
        if isinstance(x, PreparedInput):
            return self.combine(*x.by(op).unbind(1))
        if isinstance(x, Tensor) and self.in_channels <= self.out_channels:
            return self.combine(*self.filters(x, op))
        return self.transform_first(x, op)


class FilterNetwork(Stack):
    r"""A stack whose operator is :math:`S_1 = D_1^{-1/2} (A + \epsilon I) D_1^{-1/2}`, and whose first layer filters.

    For ε = 1 this is GCN's renormalised adjacency matrix; for ε = 0 the normalised adjacency matrix, with zero rows for
    isolated nodes. A subclass sets ε. Arguments and shapes: see `Stack`.
    """

    EPSILON: float

    def operator(self, graph: Graph) -> BranchOperator:
        """Return the operator that the network propagates with on `graph`."""
        return SobolevOperator(graph, 1, self.EPSILON, dtype=self.parameter.dtype, device=self.parameter.device)

    def prepare(self, x: Features, graph: Graph) -> tuple[LayerInput, BranchOperator]:
        """Return the filtered features, or X as a sparse matrix where filtering X W is cheaper, and the operator."""
        features = table(x, graph, self.in_channels)
        op, first = self.operator(graph), self.layers[0]
        assert isinstance(first, FilterLayer), "the first layer of a FilterNetwork filters"
        # S_1 has 2 n_edges off its diagonal, and the kernel is about twice as fast as the product of sparse features.
        inputs = sparse_if_cheaper(features, self.parameter, first.products * graph.n_edges)
        if isinstance(inputs, SparseInput):
            return inputs, op
        return PreparedInput(torch.stack(first.filters(inputs, op), dim=1), op), op

    def accepts(self, op: GraphOperator | None) -> bool:
        """Return whether `op` is S_1."""
        return isinstance(op, SobolevOperator) and (op.alpha, op.epsilon, op.shift) == (1, self.EPSILON, "adjacency")


def propagate(op: BranchOperator, h: Tensor) -> Tensor:
    """Return S_1 h, (N, F) → (N, F)."""
    return op.propagate(h)[0].contiguous()


def powers(op: BranchOperator, h: Tensor, highest: int) -> tuple[Tensor, ...]:
    """Return S_1 h, S_1² h, … up to the power `highest`, each (N, F)."""
    signals = []
    for _ in range(highest):
        h = propagate(op, h)
        signals.append(h)
    return tuple(signals)
