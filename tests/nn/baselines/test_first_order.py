"""GCN, SGC, Cheby and SIGN against PyG's layers with the same weights, or against the dense formula."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch_geometric.nn import ChebConv, GCNConv, SGConv

from s2gnn import Graph, InputError, SobolevOperator
from s2gnn.nn import GCN, SGC, SIGN, Cheby
from s2gnn.nn.baselines.cheby import ChebyLayer
from tests.dense import shift
from tests.random_graphs import random_graph

GRAPHS = {
    "random": random_graph(20),
    "isolated": Graph.from_edge_list([(0, 1), (1, 2), (4, 5)], [0.5, 2.0, 1e-3], n_nodes=20),
    "one edge": Graph.from_edge_list([(3, 7)], [0.2], n_nodes=20),
}


@pytest.fixture(params=GRAPHS)
def graph(request):
    return GRAPHS[request.param]


def peer_output(peers, x, graph):
    data = graph.to_pyg(torch.float32)
    *hidden, last = peers
    for peer in hidden:
        x = F.relu(peer(x, data.edge_index, data.edge_weight))
    return last(x, data.edge_index, data.edge_weight)


def test_gcn_equals_pyg(graph):
    model = GCN(6, 16, 3, num_layers=3).eval()
    peers = [GCNConv(6, 16), GCNConv(16, 16), GCNConv(16, 3)]
    for peer, layer in zip(peers, model.layers, strict=True):
        torch.nn.init.normal_(layer.linear.bias)
        peer.load_state_dict({"lin.weight": layer.linear.weight, "bias": layer.linear.bias})
    x = torch.randn(20, 6)
    expected = peer_output(peers, x, graph)
    torch.testing.assert_close(model(*model.prepare(x, graph)), expected)
    torch.testing.assert_close(model(x, SobolevOperator(graph, 1, 1.0)), expected)


@pytest.mark.parametrize("K", [1, 3])
def test_sgc_equals_pyg(graph, K):
    model = SGC(6, 16, 3, num_layers=K).eval()
    peer = SGConv(6, 3, K=K)
    peer.load_state_dict({f"lin.{name}": p for name, p in model.layers[0].state_dict().items()})
    x = torch.randn(20, 6)
    expected = peer_output([peer], x, graph)
    torch.testing.assert_close(model(*model.prepare(x, graph)), expected)
    torch.testing.assert_close(model(x, SobolevOperator(graph, 1, 1.0)), expected)


@pytest.mark.parametrize("K", [1, 2, 3, 5])
def test_cheby_equals_pyg(graph, K):
    model = Cheby(6, 16, 3, num_layers=3, K=K).eval()
    peers = [ChebConv(6, 16, K), ChebConv(16, 16, K), ChebConv(16, 3, K)]
    for peer, layer in zip(peers, model.layers, strict=True):
        torch.nn.init.normal_(layer.bias)
        peer.load_state_dict({"bias": layer.bias} | {f"lins.{k}.weight": layer.weight[k].T for k in range(K)})
    x = torch.randn(20, 6)
    expected = peer_output(peers, x, graph)
    torch.testing.assert_close(model(*model.prepare(x, graph)), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model(x, SobolevOperator(graph, 1, 0.0)), expected, rtol=1e-4, atol=1e-5)


def test_both_orders_of_a_chebyshev_layer_have_the_same_gradients():
    op = SobolevOperator(random_graph(15), 1, 0.0, dtype=torch.float64)
    narrow, wide = ChebyLayer(5, 3, K=4).double(), ChebyLayer(5, 8, K=4).double()
    with torch.no_grad():
        wide.weight[..., :3] = narrow.weight
    h = torch.randn(15, 5, dtype=torch.float64, requires_grad=True)
    one, two = narrow(h, op), wide(h, op)[:, :3]
    torch.testing.assert_close(one, two)
    for first, second in zip(
        torch.autograd.grad(one.square().sum(), [h, narrow.weight]),
        torch.autograd.grad(two.square().sum(), [h, wide.weight]),
        strict=True,
    ):
        torch.testing.assert_close(first, second[..., : first.shape[-1]])


@pytest.mark.parametrize("powers", [1, 2, 3])
def test_sign_is_its_formula(graph, powers):
    model = SIGN(6, 8, 3, powers=powers).eval()
    x = torch.randn(20, 6)
    A_N = shift(graph.to_scipy().toarray(), "normalized_adjacency")
    state = {name: p.numpy() for name, p in model.state_dict().items()}
    hidden = [
        np.linalg.matrix_power(A_N, k + 1) @ x.numpy() @ state[f"layers.0.linears.{k}.weight"].T
        + state[f"layers.0.linears.{k}.bias"]
        for k in range(powers)
    ]
    expected = np.maximum(np.concatenate(hidden, axis=1), 0) @ state["layers.1.weight"].T + state["layers.1.bias"]
    np.testing.assert_allclose(model(*model.prepare(x, graph)).detach(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model(x, SobolevOperator(graph, 1, 0.0)).detach(), expected, rtol=1e-4, atol=1e-5)


def test_sign_with_further_layers():
    model = SIGN(6, 8, 3, num_layers=3, powers=2)
    assert [tuple(p.shape) for p in model.layers[1:].parameters()] == [(8, 16), (8,), (3, 8), (3,)]
    with pytest.raises(InputError, match="num_layers is 1, but SIGN has at least 2"):
        SIGN(6, 8, 3, num_layers=1)


def test_each_wants_its_own_operator():
    x, g = torch.ones(5, 2), random_graph(5)
    with pytest.raises(InputError, match="GCN cannot compute with SobolevOperator.*alpha=2.*model.prepare"):
        GCN(2, 2, 2)(x, SobolevOperator(g, 2, 1.0))
    with pytest.raises(InputError, match="Cheby cannot compute with SobolevOperator.*epsilon=1"):
        Cheby(2, 2, 2)(x, SobolevOperator(g, 1, 1.0))
    with pytest.raises(InputError, match="SIGN cannot compute with None"):
        SIGN(2, 2, 2)(x)


def test_input_prepared_by_another_operator_is_refused():
    model, g = GCN(2, 2, 2), random_graph(5)
    x, _ = model.prepare(torch.ones(5, 2), g)
    _, op = model.prepare(torch.ones(5, 2), g)
    with pytest.raises(InputError, match="prepared input was made by another operator"):
        model(x, op)
