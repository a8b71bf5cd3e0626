"""`torch.compile` and `torch.export` of a layer, called in both ways, against eager mode."""

import pytest
import torch
from torch.export import Dim

from s2gnn import SobolevOperator
from s2gnn.nn import S2Conv
from s2gnn.operators import SobolevFamily
from s2gnn.pyg import S2Conv as PyGS2Conv
from tests.random_graphs import random_graph

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

SIZES = (20, 31, 47)


@pytest.fixture(autouse=True)
def no_compiled_code():
    torch._dynamo.reset()


def calls(way, epsilon):
    """The arguments of a layer on graphs of several sizes."""
    for n in SIZES:
        graph, x = random_graph(n, seed=n), torch.randn(n, 5, generator=torch.Generator().manual_seed(n))
        data = graph.to_pyg()
        if way == "edges":
            yield x, data.edge_index, data.edge_weight
        elif way == "learned weights":
            yield x, data.edge_index, data.edge_weight.requires_grad_()
        elif way == "directed":
            yield x, data.edge_index[:, ::2], data.edge_weight[::2]
        else:
            yield x, SobolevFamily(graph, 3) if epsilon == "learn" else SobolevOperator(graph, 3, epsilon)


def gradients(run, conv, arguments):
    conv.zero_grad()
    learned = [given for given in arguments if isinstance(given, torch.Tensor) and given.requires_grad]
    for tensor in learned:
        tensor.grad = None
    out = run(*arguments)
    out.square().sum().backward()
    return [out.detach(), *(p.grad.clone() for p in (*conv.parameters(), *learned))]


@pytest.mark.parametrize("layer", [S2Conv, PyGS2Conv])
@pytest.mark.parametrize("epsilon", [0.7, "learn"])
@pytest.mark.parametrize("way", ["edges", "learned weights", "directed", "operator"])
def test_one_graph_of_code_serves_both_ways_and_changing_sizes(layer, epsilon, way):
    torch.manual_seed(0)
    conv = layer(5, 4, 3, epsilon, "mlp")
    compiled = torch.compile(conv, fullgraph=True, backend="aot_eager")
    for arguments in calls(way, epsilon):
        pairs = zip(gradients(compiled, conv, arguments), gradients(conv, conv, arguments), strict=True)
        for found, expected in pairs:
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert not torch._dynamo.utils.counters["graph_break"]


def test_code_without_constants():
    conv = PyGS2Conv(5, 4, 3, 0.7, "mlp")
    compiled = torch.compile(conv, fullgraph=True, backend="aot_eager", dynamic=True)  # epsilon is a symbol as well
    for arguments in calls("edges", 0.7):
        torch.testing.assert_close(compiled(*arguments), conv(*arguments))


def test_an_index_out_of_range_is_an_error_in_compiled_code_too():
    compiled = torch.compile(S2Conv(5, 4, 3, 0.7), fullgraph=True, backend="aot_eager")
    with pytest.raises((IndexError, RuntimeError), match="out of (range|bounds)"):
        compiled(torch.randn(4, 5), torch.tensor([[0, 1], [1, 9]]), torch.ones(2))


def test_directed_edges_are_refused_where_values_are_not_known_too():
    conv = PyGS2Conv(5, 4, 3, 0.7, directed=False)
    compiled = torch.compile(conv, fullgraph=True, backend="aot_eager")
    for run in (compiled, lambda x, *edges: torch.func.vjp(lambda z: conv(z, *edges), x)[0]):
        for arguments in calls("edges", 0.7):
            torch.testing.assert_close(run(*arguments), conv(*arguments))
        for arguments in calls("directed", 0.7):
            with pytest.raises(RuntimeError, match="the graph is not symmetric, but the layer has directed=False"):
                run(*arguments)


@pytest.mark.parametrize("layer", [S2Conv, PyGS2Conv])
@pytest.mark.parametrize("epsilon", [0.7, "learn"])
def test_an_exported_layer_runs_on_graphs_of_other_sizes(layer, epsilon):
    conv = layer(5, 4, 3, epsilon, "mlp").eval()
    first, *others = calls("edges", epsilon)
    nodes, edges = Dim("nodes", min=2), Dim("edges", min=2)
    exported = torch.export.export(conv, first, dynamic_shapes=({0: nodes}, {1: edges}, {0: edges})).module()
    for arguments in (first, *others, *calls("directed", epsilon)):
        torch.testing.assert_close(exported(*arguments), conv(*arguments))
