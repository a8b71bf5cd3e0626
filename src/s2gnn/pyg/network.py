"""S2GNN as a network of PyTorch Geometric layers."""

from typing import cast

from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.graphs.features import checked_features
from s2gnn.nn.inputs import Features, LayerInput
from s2gnn.nn.s2gnn import S2GNN as PlainS2GNN
from s2gnn.operators import BranchOperator, GraphOperator, SobolevFamily
from s2gnn.pyg.conv import Edges, S2Conv


class S2GNN(PlainS2GNN):
    """`s2gnn.nn.S2GNN` whose layers are `MessagePassing` modules, so that explainers can mask its edges.

    If PyTorch Geometric is installed, `s2gnn.S2GNN` is this class. It accepts edges in every form that `S2Conv`
    accepts, takes `in_channels=-1`, and loads the `state_dict` of an `s2gnn.nn.S2GNN`.
    """

    LAYER = S2Conv

    def prepare(self, x: Features, graph: Graph) -> tuple[LayerInput, BranchOperator | SobolevFamily]:
        """Prepare constant features and the operator of `graph` once, see `s2gnn.nn.S2GNN`."""
        first = self._layers[0]
        if not first.normalize:
            raise InputError(
                "prepare normalises the operator, but the network has normalize=False: call model(x, edge_index, "
                "edge_weight)"
            )
        if first.in_channels == -1:
            first.initialize(checked_features(x).shape[1])
        return super().prepare(x, graph)

    def layer_operator(
        self, x: LayerInput, edge_index: GraphOperator | Edges | None, edge_weight: Tensor | None = None
    ) -> BranchOperator:
        """Return the operator of all layers, at the network's ε."""
        self._layers[0].initialize(x.shape[-1])
        conv = self._layers[0]
        for other in self._layers:
            if other.uses_messages:  # messages need edges
                conv = other
        return conv.operator(x, edge_index, edge_weight, self.epsilon)

    @property
    def _layers(self) -> list[S2Conv]:
        return cast(list[S2Conv], self.layers)
