"""S2GNN: the network of sparse Sobolev layers."""

from dataclasses import asdict, dataclass
from itertools import pairwise

import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from s2gnn.graphs import Graph
from s2gnn.nn.arguments import check_features, layer_widths
from s2gnn.nn.conv import S2Conv, as_operator
from s2gnn.nn.features import dense, table
from s2gnn.nn.fusion import FusionName
from s2gnn.nn.plan import LayerInput, LayerPlan, plan_input
from s2gnn.operators import Shift, SobolevOperator, SparseInput


@dataclass(frozen=True)
class S2GNNConfig:
    """The arguments of `S2GNN`, as saved beside its weights."""

    in_channels: int
    hidden_channels: int
    out_channels: int
    num_layers: int = 2
    alpha: int = 4
    epsilon: float = 1.0
    fusion: FusionName = "mlp"
    dropout: float = 0.5
    shift: Shift | None = None


class S2GNN(nn.Module):
    """A stack of `S2Conv` layers that maps node features to logits (the paper, Figure 4).

    Args:
        in_channels: width of the node features.
        hidden_channels: width between layers.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        alpha: highest Hadamard power of each layer.
        epsilon: weight of the identity in the operator.
        fusion: "linear" or "mlp".
        dropout: probability of dropping an element of a branch in training.
        shift: see `S2Conv`.

    Shapes:
        - input: x (N, in_channels), or what `prepare` made of it; a `SobolevOperator`, or edge_index (2, E) and
          edge_weight (E,)
        - output: logits (N, out_channels)

    Example:
        >>> import torch
        >>> from s2gnn import Graph, SobolevOperator
        >>> op = SobolevOperator(Graph.from_edge_list([(0, 1), (1, 2)], weights=[0.5, 2.0]))
        >>> S2GNN(8, 16, 3)(torch.ones(3, 8), op).shape
        torch.Size([3, 3])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        alpha: int = 4,
        epsilon: float = 1.0,
        fusion: FusionName = "mlp",
        dropout: float = 0.5,
        shift: Shift | None = None,
    ) -> None:
        super().__init__()
        widths = layer_widths(in_channels, hidden_channels, out_channels, num_layers)
        self.convs = nn.ModuleList(
            S2Conv(width_in, width_out, alpha, epsilon, fusion, dropout, shift)
            for width_in, width_out in pairwise(widths)
        )
        self.config = S2GNNConfig(
            in_channels=widths[0],
            hidden_channels=int(hidden_channels),
            out_channels=widths[-1],
            num_layers=len(self.convs),
            alpha=int(alpha),
            epsilon=float(epsilon),
            fusion=fusion,
            dropout=float(dropout),
            shift=shift,
        )

    @classmethod
    def from_config(cls, config: S2GNNConfig) -> "S2GNN":
        """A network with new parameters from the arguments of another."""
        return cls(**asdict(config))

    def reset_parameters(self) -> None:
        """Draw new parameters for every layer."""
        for conv in self.convs:
            conv.reset_parameters()  # type: ignore[operator]

    def forward(
        self,
        x: LayerInput,
        graph: SobolevOperator | Tensor,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """The logits (N, out_channels)."""
        check_features(x, next(self.parameters()))
        c = self.config
        op = as_operator(x, graph, edge_weight, c.alpha, c.epsilon, c.shift)
        for conv in self.convs:
            x = conv(x, op)
        return x  # type: ignore[return-value]

    def prepare(self, x: ArrayLike | Tensor | sp.sparray, graph: Graph) -> tuple[LayerInput, SobolevOperator]:
        """What the network is called with for constant features x (N, in_channels) on `graph`.

        Returns the features in the form that is the cheapest to train on (as they are, sparse, or propagated once), and
        the operator with the network's α and ε; made once, for all epochs and all networks of this shape.
        """
        c = self.config
        weight = next(self.parameters())
        features = table(x, graph, c.in_channels)
        op = SobolevOperator(
            graph, c.alpha, c.epsilon, c.shift or "adjacency", dtype=weight.dtype, device=weight.device
        )
        nnz = int((features != 0).sum())
        form = plan_input(op, c.in_channels, self.convs[0].out_channels, nnz)  # type: ignore[arg-type]
        if form == "sparse":
            return SparseInput(sp.csr_array(features), weight.dtype), op
        constant = dense(features, weight)
        return (op.prepare(constant) if form == "prepared" else constant), op

    def plan(self, x: LayerInput, op: SobolevOperator) -> list[LayerPlan]:
        """The order of multiplication that each layer would take for the input `x` in its present mode."""
        plans = []
        for conv in self.convs:
            plans.append(conv.plan(x, op))  # type: ignore[operator]
            x = torch.empty(0, requires_grad=torch.is_grad_enabled())  # what comes out of a layer needs a gradient
        return plans
