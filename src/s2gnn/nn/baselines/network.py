"""The stack that the baselines share: ReLU and dropout between layers, and what is done to the logits."""

from collections.abc import Iterable
from typing import Any, Literal, get_args

from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.errors import InputError
from s2gnn.nn.arguments import probability

HeadName = Literal["plain", "released"]


class Network(nn.Module):
    """Layers called as `layer(x, op)`, with ReLU and dropout between them.

    Args:
        layers: the first takes what `prepare` gives, the last gives (N, C).
        dropout: probability of dropping a hidden element in training.
        head: "plain" gives the output of the last layer as logits; "released" applies ReLU and dropout to it, as the
            code that the paper's authors released does.

    Shapes:
        - output: logits (N, C)
    """

    def __init__(self, layers: Iterable[nn.Module], dropout: float, head: HeadName = "plain") -> None:
        super().__init__()
        if head not in get_args(HeadName):
            raise InputError(f"head is {head!r}, but it must be one of {', '.join(get_args(HeadName))}")
        self.dropout = probability(dropout, "dropout")
        self.head: HeadName = head
        self.layers = nn.ModuleList(layers)

    def reset_parameters(self) -> None:
        """Draw new parameters for every layer."""
        for layer in self.layers:
            layer.reset_parameters()  # type: ignore[operator]

    def forward(self, x: Any, op: Any = None) -> Tensor:
        """The logits (N, C) of what `prepare` gave."""
        *hidden, last = self.layers
        for layer in hidden:
            x = self._activate(layer(x, op))
        logits: Tensor = last(x, op)
        return self._activate(logits) if self.head == "released" else logits

    def _activate(self, h: Tensor) -> Tensor:
        return F.dropout(F.relu(h), self.dropout, self.training)

    def extra_repr(self) -> str:
        """What is not among the layers, for `repr`."""
        return f"dropout={self.dropout:g}, head={self.head!r}"

    @property
    def _parameter(self) -> Tensor:
        """Any parameter, for the type and device of the model."""
        return next(self.parameters())
