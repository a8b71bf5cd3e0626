"""The networks that propagate with a first-order operator: S_1 of the paper, at ε = 1 or at ε = 0."""

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.nn.baselines.network import HeadName, Network
from s2gnn.nn.features import Propagated, sparse_if_cheaper, table
from s2gnn.operators import SobolevOperator, SparseInput

LayerInput = Tensor | SparseInput | Propagated


class FirstOrderNetwork(Network):
    r"""A `Network` whose operator is :math:`S_1 = D_1^{-1/2} (A + \epsilon I) D_1^{-1/2}`.

    At ε = 1 that is GCN's renormalised adjacency matrix. At ε = 0 it is the normalised adjacency matrix, with a row of
    zeros for an isolated node. A subclass says which, and what its first layer needs of the features.

    Args:
        layers: see `Network`.
        in_channels: width of the node features.
        products: how many products with S_1 go with one product X W if the first layer propagates at every step.
        dropout: see `Network`.
        head: see `Network`.
    """

    EPSILON: float

    def __init__(
        self, layers: Iterable[nn.Module], in_channels: int, products: float, dropout: float, head: HeadName
    ) -> None:
        super().__init__(layers, dropout, head)
        self.in_channels = in_channels
        self._products = products

    def _signals(self, op: SobolevOperator, x: Tensor) -> tuple[Tensor, ...]:
        """What the first layer needs of the features x (N, in_channels), each (N, in_channels)."""
        raise NotImplementedError

    def prepare(self, x: Any, graph: Graph) -> tuple[Propagated | SparseInput, SobolevOperator]:
        """The propagated features, or X as a sparse matrix where propagating X W is cheaper, and the operator."""
        features = table(x, graph, self.in_channels)
        op = SobolevOperator(graph, 1, self.EPSILON, dtype=self._parameter.dtype, device=self._parameter.device)
        # S_1 has 2 n_edges off its diagonal, and the kernel is about twice as fast as the product of sparse features.
        inputs = sparse_if_cheaper(features, self._parameter, self._products * graph.n_edges)
        return Propagated(self._signals(op, inputs), op) if isinstance(inputs, Tensor) else inputs, op

    def forward(self, x: LayerInput, op: Any = None) -> Tensor:
        """The logits (N, C) of what `prepare` gave; plain features x (N, in_channels) are propagated here."""
        if not isinstance(op, SobolevOperator) or (op.alpha, op.epsilon, op.shift) != (1, self.EPSILON, "adjacency"):
            raise InputError(
                f"{type(self).__name__} propagates with SobolevOperator(graph, alpha=1, epsilon={self.EPSILON:g}), "
                f"but was given {op!r}: call it with what model.prepare(x, graph) gives"
            )
        return super().forward(x, op)


def propagate(op: SobolevOperator, h: Tensor) -> Tensor:
    """S_1 h, (N, F) → (N, F)."""
    return op.propagate(h)[0].contiguous()


def powers(op: SobolevOperator, h: Tensor, highest: int) -> tuple[Tensor, ...]:
    """S_1 h, S_1² h, … up to the power `highest`, each (N, F)."""
    signals = []
    for _ in range(highest):
        h = propagate(op, h)
        signals.append(h)
    return tuple(signals)
