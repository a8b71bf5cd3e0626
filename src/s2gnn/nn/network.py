"""GraphNetwork: the base class of all networks."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import cast

from torch import Tensor, nn

from s2gnn.graphs import Graph
from s2gnn.nn.inputs import Features, NetworkInput
from s2gnn.operators import GraphOperator


def reset(module: nn.Module) -> None:
    """Reinitialise `module`, or its submodules in order if it has no `reset_parameters`."""
    if hasattr(module, "reset_parameters"):
        cast(Trainable, module).reset_parameters()
    else:
        for child in module.children():
            reset(child)


class Trainable(nn.Module):
    """A module that can be trained from scratch."""

    __call__: Callable[..., Tensor]

    def reset_parameters(self) -> None:
        """Reinitialise the parameters of all submodules, in order."""
        for child in self.children():
            reset(child)

    def auxiliary_loss(self) -> Tensor:
        """Return a scalar that training adds to the loss of the last forward pass: the sum over submodules, or zero."""
        losses = (
            cast(Trainable, child).auxiliary_loss() for child in self.children() if hasattr(child, "auxiliary_loss")
        )
        return sum(losses, start=self.parameter.new_zeros(()))

    @property
    def parameter(self) -> Tensor:
        """One of the parameters, to read the module's dtype and device."""
        return next(self.parameters())


class GraphNetwork(Trainable, ABC):
    """Base class of networks on the nodes of a graph.

    Training, prediction, mini-batches, link prediction and analysis work with every subclass, and with every
    `nn.Module` that has these methods. A subclass implements `prepare`, which returns the arguments of `forward`, and
    `forward`:

    Example:
        >>> import torch
        >>> from s2gnn import Graph, S2Conv, SobolevOperator
        >>> class OneLayer(GraphNetwork):
        ...     def __init__(self, in_channels, out_channels):
        ...         super().__init__()
        ...         self.convs = nn.ModuleList([S2Conv(in_channels, out_channels, alpha=2)])
        ...
        ...     def prepare(self, x, graph):
        ...         op = SobolevOperator(graph, alpha=2)
        ...         return op.prepare(x), op
        ...
        ...     def forward(self, x, op=None):
        ...         return self.convs[0](x, op)
        >>> model = OneLayer(4, 3)
        >>> x, op = model.prepare(torch.ones(3, 4), Graph.from_edge_list([(0, 1), (1, 2)], weights=[0.5, 2.0]))
        >>> model(x, op).shape
        torch.Size([3, 3])
    """

    @abstractmethod
    def prepare(self, x: Features, graph: Graph) -> tuple[NetworkInput, GraphOperator | None]:
        """Prepare constant features x (N, F) on `graph` once for all epochs; returns the arguments of `forward`."""

    @abstractmethod
    def forward(self, x: NetworkInput, op: GraphOperator | None = None) -> Tensor:
        """Compute the logits (N, C)."""
