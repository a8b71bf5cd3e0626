import pytest
import torch

from s2gnn import S2GNN, InputError, SobolevOperator
from tests.random_graphs import random_graph


@pytest.mark.parametrize("num_layers", [1, 2, 4])
@pytest.mark.parametrize("fusion", ["linear", "mlp"])
def test_is_the_composition_of_its_layers(num_layers, fusion):
    op = SobolevOperator(random_graph(15), 3, 1.2)
    model = S2GNN(6, 8, 4, num_layers, alpha=3, epsilon=1.2, fusion=fusion).eval()
    x = torch.randn(15, 6)
    h = x
    for conv in model.convs:
        h = conv(h, op)
    assert len(model.convs) == num_layers
    assert model(x, op).shape == (15, 4)
    torch.testing.assert_close(model(x, op), h)
    torch.testing.assert_close(model(op.prepare(x), op), h)


def test_the_pyg_way_equals_the_operator_way():
    g = random_graph(15)
    model = S2GNN(6, 8, 4).eval()
    x = torch.randn(15, 6)
    data = g.to_pyg()
    torch.testing.assert_close(model(x, data.edge_index, data.edge_weight), model(x, SobolevOperator(g)))


def test_reset_parameters_draws_all_anew_and_config_rebuilds():
    model = S2GNN(6, 8, 4, fusion="linear", epsilon=2)
    before = [p.clone() for p in model.parameters() if torch.count_nonzero(p)]
    model.reset_parameters()
    after = [p for p in model.parameters() if torch.count_nonzero(p)]
    assert all(not torch.equal(b, a) for b, a in zip(before, after, strict=True))
    assert repr(S2GNN.from_config(model.config)) == repr(model)


def test_the_pyg_way_takes_the_shift_of_the_model():
    g = random_graph(15)
    model = S2GNN(6, 8, 4, shift="laplacian").eval()
    x = torch.randn(15, 6)
    data = g.to_pyg()
    expected = model(x, SobolevOperator(g, shift="laplacian"))
    torch.testing.assert_close(model(x, data.edge_index, data.edge_weight), expected)
    with pytest.raises(InputError, match="shift='laplacian', but the operator 'adjacency'"):
        model(x, SobolevOperator(g))


def test_unusable_arguments_and_input():
    with pytest.raises(InputError, match="num_layers is 0"):
        S2GNN(6, 8, 4, num_layers=0)
    with pytest.raises(InputError, match=r"x is torch.float64.*pass x.float\(\)"):
        S2GNN(6, 8, 4)(torch.ones(15, 6, dtype=torch.float64), SobolevOperator(random_graph(15)))
