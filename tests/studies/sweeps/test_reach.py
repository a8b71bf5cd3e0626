import pytest
import torch

from s2gnn import Graph
from s2gnn.studies.budget import BUDGETS
from s2gnn.studies.sweeps.stored import SWEEPS

NODES = 30
REACH = SWEEPS["reach"]


def farthest_that_matters(model, graph, x):
    """How far from node 0 of a path the inputs are that its output depends on, by differences."""
    model.eval()
    with torch.no_grad():
        outputs = []
        for node in range(NODES):
            changed = x.clone()
            changed[node] += 1.0
            outputs.append(model(*model.prepare(changed.numpy(), graph))[0])
        reference = model(*model.prepare(x.numpy(), graph))[0]
    return max(node for node in range(NODES) if not torch.equal(outputs[node], reference))


@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("model", list(REACH.models))
def test_hops_are_how_far_a_network_sees(model, order):
    edges = torch.stack([torch.arange(NODES - 1), torch.arange(1, NODES)])
    graph = Graph.from_edge_index(torch.cat([edges, edges.flip(0)], dim=1))
    cell = REACH.cell("cancer-m", REACH.line(model), order, BUDGETS["quick"])
    network = cell.new_model(6, 24).double()
    assert farthest_that_matters(network, graph, torch.randn(NODES, 6, dtype=torch.float64)) == REACH.hops(cell)
