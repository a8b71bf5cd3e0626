import pytest
import torch
from torch.nn import functional as F

from s2gnn import InputError
from s2gnn.nn import GCN, MLP, make_model
from tests.random_graphs import random_graph


def test_mlp_is_its_linear_layers():
    model = MLP(6, 8, 3, num_layers=3).eval()
    x = torch.randn(4, 6)
    first, second, last = model.layers
    torch.testing.assert_close(model(x), last(F.relu(second(F.relu(first(x))))))


def test_the_released_head_is_relu_and_dropout_on_the_logits():
    x = torch.randn(200, 6)
    plain, released = (MLP(6, 8, 3, dropout=0.5, head=head) for head in ("plain", "released"))
    released.load_state_dict(plain.state_dict())
    logits = plain.eval()(x)
    assert (logits < 0).any()
    torch.testing.assert_close(released.eval()(x), F.relu(logits))
    for model in (plain, released):
        model.train()
        model.dropout = 0.0  # the hidden layer and the logits are then the same for both
    torch.testing.assert_close(released(x), F.relu(plain(x)))
    released.dropout = 0.5
    positive = (plain(x) > 0).sum()
    assert (released(x) > 0).sum() < 0.8 * positive


def test_dropout_acts_in_training_only():
    x = torch.randn(20, 6)
    for model in (GCN(6, 16, 3), MLP(6, 16, 3)):
        inputs = model.prepare(x, random_graph(20))
        assert not torch.equal(model(*inputs), model(*inputs))
        model.eval()
        assert torch.equal(model(*inputs), model(*inputs))


def test_unusable_arguments():
    for network in (GCN, MLP):
        with pytest.raises(InputError, match="num_layers is 0"):
            network(2, 2, 2, num_layers=0)
        with pytest.raises(InputError, match="dropout is 2.0"):
            network(2, 2, 2, dropout=2.0)
        with pytest.raises(InputError, match="head is 'linear', but it must be one of plain, released"):
            network(2, 2, 2, head="linear")
    assert repr(MLP(2, 2, 2)).startswith("MLP(\n  dropout=0.5, head='plain'")


@pytest.mark.parametrize("name", ["gcn", "gat", "gatv2", "supergat", "transformer", "sgc", "cheby"])
def test_an_input_that_does_not_fit_the_graph_or_the_network_is_refused(name):
    model = make_model(name, 3, 2)
    _, op = model.prepare(torch.randn(20, 3), random_graph(20))
    for shape in ((19, 3), (20, 4)):
        with pytest.raises(InputError, match=rf"x has shape \({shape[0]}, {shape[1]}\), expected \(20, 3\)"):
            model(torch.randn(shape), op)
