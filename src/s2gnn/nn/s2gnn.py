"""S2GNN: the network of sparse Sobolev layers."""

from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from s2gnn.graphs import Graph
from s2gnn.nn.arguments import layer_widths
from s2gnn.nn.conv import NormName, S2Conv
from s2gnn.nn.epsilon import EpsilonName, LearnedEpsilon, make_epsilon
from s2gnn.nn.fusion import FusionName
from s2gnn.nn.inputs import Features, LayerInput, NetworkInput, dense, layer_input, n_nonzero, table
from s2gnn.nn.network import GraphNetwork
from s2gnn.nn.plan import LayerPlan, plan_input
from s2gnn.operators import BranchOperator, GraphOperator, Shift, SobolevFamily, SobolevOperator, SparseInput
from s2gnn.operators.powers import product_dtype


@dataclass(frozen=True)
class S2GNNConfig:
    """The arguments of `S2GNN`, as saved with its weights."""

    in_channels: int
    hidden_channels: int
    out_channels: int
    num_layers: int = 2
    alpha: int = 4
    epsilon: float | EpsilonName = 1.0
    fusion: FusionName = "mlp"
    dropout: float = 0.5
    shift: Shift | None = None
    norm: NormName | None = None
    residual: bool = False
    initial_epsilon: float | None = None
    conv_options: dict[str, Any] = field(default_factory=dict)


class S2GNN(GraphNetwork):
    """A stack of `S2Conv` layers that maps node features to logits (the paper, Figure 4).

    Args:
        in_channels: width of the node features.
        hidden_channels: width between layers.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        alpha: highest Hadamard power of each layer.
        epsilon: weight of the identity in the operator; "learn" trains one value, `float(model.epsilon)`, for all
            layers, and the network takes a `SobolevFamily` (see `prepare`) instead of a `SobolevOperator`.
        fusion: "linear", "mlp" or "attention".
        dropout: probability of dropping an element of a branch in training.
        shift: see `S2Conv`.
        norm: "batch" for batch normalisation after every layer except the last.
        residual: every layer adds its input to its output, see `S2Conv`.
        initial_epsilon: initial value of a learned ε; default 1.
        **conv_options: further arguments of the layers: `bias`, `directed`; with PyTorch Geometric also `cached`,
            `normalize` and `flow`.

    Shapes:
        - input: x (N, in_channels), or the result of `prepare`; a `SobolevOperator` or `SobolevFamily`, or edge_index
          (2, E) and edge_weight (E,)
        - output: logits (N, out_channels)

    Example:
        >>> import torch
        >>> from s2gnn import Graph, SobolevOperator
        >>> op = SobolevOperator(Graph.from_edge_list([(0, 1), (1, 2)], weights=[0.5, 2.0]))
        >>> S2GNN(8, 16, 3)(torch.ones(3, 8), op).shape
        torch.Size([3, 3])
    """

    LAYER: ClassVar[type[S2Conv]] = S2Conv

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        alpha: int = 4,
        epsilon: float | EpsilonName = 1.0,
        fusion: FusionName = "mlp",
        dropout: float = 0.5,
        shift: Shift | None = None,
        norm: NormName | None = None,
        residual: bool = False,
        initial_epsilon: float | None = None,
        **conv_options: Any,
    ) -> None:
        super().__init__()
        widths = [in_channels, *layer_widths(1, hidden_channels, out_channels, num_layers)[1:]]  # the first: its layer
        own = make_epsilon(epsilon, initial_epsilon)
        options: dict[str, Any] = {
            "alpha": alpha, "epsilon": None if isinstance(own, LearnedEpsilon) else own, "fusion": fusion,
            "dropout": dropout, "shift": shift, "residual": residual, **conv_options,
        }  # fmt: skip
        norms = [norm] * (len(widths) - 2) + [None]
        self.convs = nn.ModuleList(
            self.LAYER(*sizes, norm=layer_norm, **options)
            for sizes, layer_norm in zip(pairwise(widths), norms, strict=True)
        )
        self.epsilon = own  # one that is learned is the network's
        self._config = S2GNNConfig(
            in_channels, int(hidden_channels), widths[-1], len(self.convs), int(alpha),
            "learn" if isinstance(own, LearnedEpsilon) else own, fusion, float(dropout), shift, norm, bool(residual),
            None if initial_epsilon is None else float(initial_epsilon), conv_options,
        )  # fmt: skip

    @property
    def config(self) -> S2GNNConfig:
        """The arguments of the network."""
        return replace(self._config, in_channels=self._first.in_channels)

    @classmethod
    def from_config(cls, config: S2GNNConfig) -> "S2GNN":
        """Create a network with new parameters from a configuration."""
        arguments = asdict(config)
        return cls(**arguments.pop("conv_options"), **arguments)

    def forward(
        self, x: NetworkInput, edge_index: GraphOperator | Tensor | None = None, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Return the logits (N, out_channels), given an operator, or `edge_index` and `edge_weight`."""
        return self.layer_outputs(x, edge_index, edge_weight)[-1]

    def layer_outputs(
        self, x: NetworkInput, edge_index: GraphOperator | Tensor | None, edge_weight: Tensor | None = None
    ) -> list[Tensor]:
        """Return the output (N, width) of every layer; the last one is the logits."""
        features = layer_input(x, self._first.weight)
        op = self.layer_operator(features, edge_index, edge_weight)
        outputs: list[Tensor] = []
        for conv in self.convs:
            outputs.append(conv(outputs[-1] if outputs else features, op))
        return outputs

    def operator(self, graph: Graph) -> BranchOperator | SobolevFamily:
        """Build the network's operator on `graph`; a `SobolevFamily` if ε is learned."""
        c, weight = self.config, self._first.weight
        shift, dtype = c.shift or "adjacency", product_dtype(weight.dtype)
        if isinstance(self.epsilon, LearnedEpsilon):
            return SobolevFamily(graph, c.alpha, shift, dtype=dtype, device=weight.device)
        return SobolevOperator(graph, c.alpha, self.epsilon, shift, dtype=dtype, device=weight.device)

    def prepare(self, x: Features, graph: Graph) -> tuple[LayerInput, BranchOperator | SobolevFamily]:
        """Prepare constant features x (N, in_channels) and the operator of `graph` once, for all epochs.

        Returns the features in the form that is cheapest to train on (unchanged, sparse, or propagated once), and the
        operator. Both can be shared by all networks of this shape. A dense `x` may be modified or deleted afterwards.
        """
        first, weight = self._first, self._first.weight
        features = table(x, graph, first.in_channels)
        op = self.operator(graph)
        if op.dtype != weight.dtype:  # half precision
            return dense(features, weight), op
        form = plan_input(op, first.in_channels, first.out_channels, n_nonzero(features))
        if form == "sparse":
            return SparseInput(sp.csr_array(features), weight.dtype), op
        if form == "prepared" and isinstance(op, BranchOperator):
            return op.prepare(dense(features, weight, shared=True)), op
        return dense(features, weight), op

    def plan(self, x: LayerInput, op: GraphOperator) -> list[LayerPlan]:
        """Return the order of multiplication of each layer for the input `x`, in the current mode."""
        plans, evaluated = [], self.layer_operator(x, op)
        for conv in self.layers:
            plans.append(conv.plan(x, evaluated))
            x = torch.empty(0, requires_grad=torch.is_grad_enabled())  # what comes out of a layer needs a gradient
        return plans

    def layer_operator(
        self, x: LayerInput, edge_index: GraphOperator | Tensor | None, edge_weight: Tensor | None = None
    ) -> BranchOperator:
        """Return the operator of all layers, at the network's ε."""
        return self._first.operator(x, edge_index, edge_weight, self.epsilon)

    @property
    def layers(self) -> list[S2Conv]:
        """The modules of `convs`, typed."""
        return [conv for conv in self.convs if isinstance(conv, S2Conv)]

    @property
    def _first(self) -> S2Conv:
        return self.layers[0]
