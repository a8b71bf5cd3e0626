"""S2GNN as a network of PyTorch Geometric layers."""

from torch import Tensor

from s2gnn.nn.calling import edge_operator
from s2gnn.nn.inputs import LayerInput
from s2gnn.nn.s2gnn import S2GNN as PlainS2GNN
from s2gnn.operators import BranchOperator, GraphOperator
from s2gnn.pyg.conv import Edges, S2Conv, edge_list, joined


class S2GNN(PlainS2GNN):
    """`s2gnn.nn.S2GNN` whose layers are `MessagePassing` modules, so that explainers can mask its edges.

    If PyTorch Geometric is installed, `s2gnn.S2GNN` is this class. It accepts edges in every form that `S2Conv`
    accepts, and loads the `state_dict` of an `s2gnn.nn.S2GNN`.
    """

    LAYER = S2Conv

    def _bound(
        self, x: LayerInput, graph: GraphOperator | Edges | None, edge_weight: Tensor | None = None
    ) -> BranchOperator:
        """Return the operator passed to all layers."""
        if graph is None or isinstance(graph, GraphOperator):
            return super()._bound(x, graph, edge_weight)
        if isinstance(graph, list | tuple):
            return super()._bound(x, joined(graph), edge_weight)
        edge_index, edge_weight = edge_list(graph, edge_weight)
        if isinstance(x, Tensor) and any(isinstance(conv, S2Conv) and conv.uses_messages for conv in self.convs):
            c = self.config
            return edge_operator(x, edge_index, edge_weight, c.alpha, self.epsilon, c.shift)
        return super()._bound(x, edge_index, edge_weight)
