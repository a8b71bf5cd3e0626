import pytest
import torch
from torch.nn import functional as F
from torch_geometric.nn import GCNConv

from s2gnn import InputError, SobolevOperator
from s2gnn.nn import GCN, MLP
from tests.random_graphs import random_graph


def test_gcn_equals_pyg_layers_with_the_same_weights():
    g = random_graph(20)
    op = SobolevOperator(g, 1, 1.0)
    model = GCN(6, 16, 3).eval()
    data = g.to_pyg(torch.float32)
    peers = [GCNConv(6, 16), GCNConv(16, 3)]
    for peer, layer in zip(peers, model.layers, strict=True):
        torch.nn.init.normal_(layer.linear.bias)
        peer.load_state_dict({"lin.weight": layer.linear.weight, "bias": layer.linear.bias})
    x = torch.randn(20, 6)
    hidden = F.relu(peers[0](x, data.edge_index, data.edge_weight))
    expected = peers[1](hidden, data.edge_index, data.edge_weight)
    torch.testing.assert_close(model(x, op), expected)
    torch.testing.assert_close(model(op.prepare(x), op), expected)


def test_gcn_wants_its_own_operator():
    with pytest.raises(InputError, match="alpha=1, epsilon=1.*given alpha=2"):
        GCN(2, 2, 2)(torch.ones(5, 2), SobolevOperator(random_graph(5), 2, 1.0))


def test_inputs_prepared_by_another_operator_and_wrong_arguments_are_refused():
    op, other = (SobolevOperator(random_graph(5), 1, 1.0) for _ in range(2))
    with pytest.raises(InputError, match="prepared input was made by another operator"):
        GCN(2, 2, 2)(other.prepare(torch.ones(5, 2)), op)
    for network in (GCN, MLP):
        with pytest.raises(InputError, match="num_layers is 0"):
            network(2, 2, 2, num_layers=0)
        with pytest.raises(InputError, match="dropout is 2.0"):
            network(2, 2, 2, dropout=2.0)


def test_dropout_acts_in_training_only():
    op = SobolevOperator(random_graph(20), 1, 1.0)
    x = torch.randn(20, 6)
    for model in (GCN(6, 16, 3), MLP(6, 16, 3)):
        assert not torch.equal(model(x, op), model(x, op))
        model.eval()
        assert torch.equal(model(x, op), model(x, op))


def test_mlp_is_its_linear_layers():
    model = MLP(6, 8, 3, num_layers=3).eval()
    x = torch.randn(4, 6)
    first, second, last = model.layers
    torch.testing.assert_close(model(x), last(F.relu(second(F.relu(first(x))))))
