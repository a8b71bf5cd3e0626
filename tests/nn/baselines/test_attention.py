import pytest
import torch
import torch_geometric.nn
from torch.nn import functional as F

from s2gnn import Graph, InputError
from s2gnn.nn import GAT, GATv2, SuperGAT, Transformer
from tests.random_graphs import random_graph

PEERS = {GAT: "GATConv", GATv2: "GATv2Conv", SuperGAT: "SuperGATConv", Transformer: "TransformerConv"}


@pytest.mark.parametrize("network", PEERS)
@pytest.mark.parametrize("heads", [1, 3])
def test_is_the_stack_of_pyg_layers_with_heads_averaged_and_no_weights(network, heads):
    graph = Graph.from_edge_list([(0, 1), (1, 2), (4, 5), (0, 5)], [0.5, 2.0, 1e-3, 9.0], n_nodes=8)
    model = network(6, 7, 3, num_layers=3, heads=heads).eval()
    layer = getattr(torch_geometric.nn, PEERS[network])
    peers = [layer(i, o, heads=heads, concat=False).eval() for i, o in ((6, 7), (7, 7), (7, 3))]
    for peer, ours in zip(peers, model.layers, strict=True):
        torch.nn.init.normal_(ours.get_parameter("lin_skip.bias" if network is Transformer else "bias"))
        peer.load_state_dict(ours.state_dict())
    x, edge_index = torch.randn(8, 6), graph.to_pyg().edge_index
    logits = model(*model.prepare(x, graph))
    h = x
    for i, peer in enumerate(peers):
        h = peer(F.relu(h) if i else h, edge_index)
    torch.testing.assert_close(logits, h)
    logits.square().sum().backward()
    h.square().sum().backward()
    scale = max(parameter.grad.abs().max().item() for peer in peers for parameter in peer.parameters())
    for peer, ours in zip(peers, model.layers, strict=True):
        gradients = {name: p.grad for name, p in ours.named_parameters()}
        for name, parameter in peer.named_parameters():
            torch.testing.assert_close(gradients[name], parameter.grad, rtol=1e-3, atol=1e-5 * max(1.0, scale))


@pytest.mark.parametrize("network", PEERS)
def test_parameters_start_in_the_same_range_as_pyg_s(network):
    torch.manual_seed(0)
    ours = network(40, 30, 30, num_layers=1, heads=4).layers[0]
    peer = getattr(torch_geometric.nn, PEERS[network])(40, 30, heads=4, concat=False)
    for name, parameter in peer.named_parameters():
        mine = ours.get_parameter(name)
        assert mine.shape == parameter.shape, name
        assert mine.abs().max().item() == pytest.approx(parameter.abs().max().item(), rel=0.25), name


@pytest.mark.parametrize(("network", "n_edges"), [(GAT, 2 * 10 + 5), (Transformer, 2 * 10)])
def test_self_loops_are_added_where_the_layer_has_them(network, n_edges):
    graph = Graph.from_edge_list([(i, j) for i in range(5) for j in range(i)])
    x, edges = network(2, 2, 2).prepare(torch.ones(5, 2), graph)
    assert x.shape == (5, 2)
    assert len(edges) == n_edges
    assert (edges.codes.diff() > 0).all()


def test_heads_are_at_least_one():
    with pytest.raises(InputError, match="heads is 0"):
        GAT(2, 2, 2, heads=0)
    assert "heads=4" in repr(GATv2(2, 2, 2, heads=4))


def test_the_weights_of_edges_play_no_part():
    graph = random_graph(10)
    pattern = graph.to_scipy()
    pattern.data[:] = 1.0
    x = torch.randn(10, 3)
    for network in PEERS:
        model = network(3, 4, 2).eval()
        assert torch.equal(model(*model.prepare(x, graph)), model(*model.prepare(x, Graph.from_scipy(pattern))))
