"""Stack, the base class of the baselines: layers with ReLU and dropout between them, and the head."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, ClassVar, Literal, get_args

from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.errors import InputError
from s2gnn.graphs.validation import check_choice
from s2gnn.nn.arguments import layer_widths, probability
from s2gnn.nn.inputs import NetworkInput, check_shape, layer_input
from s2gnn.nn.network import GraphNetwork
from s2gnn.operators import GraphOperator, SparseInput

HeadName = Literal["plain", "released"]


class Stack(GraphNetwork):
    """Layers called as `layer(x, op)`, with ReLU and dropout between them; a subclass sets the class of the layers.

    Args:
        in_channels: width of the node features.
        hidden_channels: width between layers.
        out_channels: number of classes C.
        num_layers: number of layers, at least 1.
        dropout: probability of dropping a hidden element in training.
        head: "plain" returns the output of the last layer as logits; "released" applies ReLU and dropout to it, as the
            authors' code does.
        **of_layers: keyword-only arguments of the layer, such as `heads` of attention.

    Shapes:
        - input: x (N, in_channels) or the prepared features, and the operator, both returned by `prepare`
        - output: logits (N, C)
    """

    LAYER: ClassVar[Callable[..., nn.Module]]
    HEADS: ClassVar[tuple[HeadName, ...]] = get_args(HeadName)

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        head: HeadName = "plain",
        **of_layers: Any,
    ) -> None:
        super().__init__()
        widths = layer_widths(in_channels, hidden_channels, out_channels, num_layers)
        check_choice("head", head, self.HEADS)
        self.in_channels = widths[0]
        self.dropout = probability(dropout, "dropout")
        self.head: HeadName = head
        self.layers = nn.ModuleList(self.new_layers(widths, **of_layers))

    def new_layers(self, widths: list[int], **of_layers: Any) -> Iterable[nn.Module]:
        """Return the layers between these widths, with new parameters."""
        return (self.LAYER(width_in, width_out, **of_layers) for width_in, width_out in pairwise(widths))

    def forward(self, x: NetworkInput, op: GraphOperator | None = None) -> Tensor:
        """Return the logits (N, C)."""
        if not self.accepts(op):
            raise InputError(
                f"{type(self).__name__} cannot compute with {op!r}: call it with the operator that "
                "model.prepare(x, graph) returns"
            )
        h = layer_input(x, self.parameter)
        check_shape(h.shape, h.shape[0] if op is None else op.n_nodes, self.in_channels)
        *hidden, last = self.layers
        for layer in hidden:
            h = self._activate(layer(h, op))
        logits: Tensor = last(h, op)
        return self._activate(logits) if self.head == "released" else logits

    def accepts(self, op: GraphOperator | None) -> bool:
        """Return whether `op` has the type that `prepare` returns."""
        del op
        return True

    def _activate(self, h: Tensor) -> Tensor:
        return F.dropout(F.relu(h), self.dropout, self.training)

    def extra_repr(self) -> str:
        """Return the settings that are not part of the layers, for `repr`."""
        return f"dropout={self.dropout:g}, head={self.head!r}"


class LinearLayer(nn.Linear):
    """`torch.nn.Linear` that also accepts sparse inputs, and ignores an operator."""

    def forward(self, x: Tensor | SparseInput, op: GraphOperator | None = None) -> Tensor:
        """Return x W + b, (N, out_features)."""
        del op
        if isinstance(x, Tensor):
            return super().forward(x)
        product = x @ self.weight.T
        return product if self.bias is None else product + self.bias


class GlorotLinear(LinearLayer):
    """A linear layer with the initialisation of PyG's `Linear` with `weight_initializer="glorot"`."""

    def reset_parameters(self) -> None:
        """Draw Glorot-uniform weights, and the bias as `torch.nn.Linear` does."""
        super().reset_parameters()
        nn.init.xavier_uniform_(self.weight)
