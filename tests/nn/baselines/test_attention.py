import subprocess
import sys

import pytest
import torch
import torch_geometric.nn
from torch.nn import functional as F

from s2gnn import Graph, InputError
from s2gnn.nn import GAT, GATv2, SuperGAT, Transformer
from tests.random_graphs import random_graph


@pytest.mark.parametrize("network", [GAT, GATv2, SuperGAT, Transformer])
@pytest.mark.parametrize("heads", [1, 3])
def test_is_the_stack_of_pyg_layers_with_heads_averaged_and_no_weights(network, heads):
    graph = Graph.from_edge_list([(0, 1), (1, 2), (4, 5), (0, 5)], [0.5, 2.0, 1e-3, 9.0], n_nodes=8)
    model = network(6, 7, 3, num_layers=3, heads=heads).eval()
    layer = getattr(torch_geometric.nn, network.LAYER)
    peers = [layer(i, o, heads=heads, concat=False).eval() for i, o in ((6, 7), (7, 7), (7, 3))]
    for peer, ours in zip(peers, model.layers, strict=True):
        peer.load_state_dict({name.removeprefix("conv."): p for name, p in ours.state_dict().items()})
    h, edge_index = torch.randn(8, 6), graph.to_pyg().edge_index
    logits = model(*model.prepare(h, graph))
    for i, peer in enumerate(peers):
        h = peer(F.relu(h) if i else h, edge_index)
    torch.testing.assert_close(logits, h)


@pytest.mark.parametrize(("network", "n_edges"), [(GAT, 2 * 10 + 5), (Transformer, 2 * 10)])
def test_edges_are_sorted_by_target_with_self_loops_where_the_layer_has_them(network, n_edges):
    graph = Graph.from_edge_list([(i, j) for i in range(5) for j in range(i)])
    x, edge_index = network(2, 2, 2).prepare(torch.ones(5, 2), graph)
    assert x.shape == (5, 2)
    codes = edge_index[1] * 5 + edge_index[0]
    assert len(codes) == n_edges
    assert (codes.diff() > 0).all()


def test_heads_are_at_least_one():
    with pytest.raises(InputError, match="heads is 0"):
        GAT(2, 2, 2, heads=0)


def test_pytorch_geometric_is_loaded_by_the_models_that_need_it_only():
    program = """
import sys
from s2gnn.nn import make_model
make_model("gcn", 2, 2), make_model("sign", 2, 2), make_model("clustergcn", 2, 2)
print("torch_geometric" in sys.modules)
sys.modules["torch_geometric"] = sys.modules["torch_geometric.nn"] = None
try:
    make_model("gat", 2, 2)
except ImportError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.splitlines() == [
        "False",
        "GAT needs PyTorch Geometric: install it with pip install 's2gnn[pyg]'",
    ], result.stderr


def test_graphs_are_symmetric_so_that_the_direction_of_messages_does_not_matter():
    graph = random_graph(10)
    model = GAT(3, 4, 2).eval()
    x, edge_index = model.prepare(torch.randn(10, 3), graph)
    torch.testing.assert_close(model(x, edge_index.flip(0)), model(x, edge_index))
