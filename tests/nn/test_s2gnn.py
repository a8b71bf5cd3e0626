import tracemalloc

import numpy as np
import pytest
import torch

from s2gnn import S2GNN, Graph, InputError, SobolevOperator
from s2gnn.learning import FitConfig, fit
from s2gnn.learning.config import make_adam
from s2gnn.operators import PreparedInput, SobolevFamily
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


def test_reset_parameters_redraws_all_and_config_rebuilds():
    model = S2GNN(6, 8, 4, fusion="linear", epsilon=2)
    before = [p.clone() for p in model.parameters() if torch.count_nonzero(p)]
    model.reset_parameters()
    after = [p for p in model.parameters() if torch.count_nonzero(p)]
    assert all(not torch.equal(b, a) for b, a in zip(before, after, strict=True))
    assert repr(S2GNN.from_config(model.config)) == repr(model)


def test_the_pyg_way_equals_the_operator_way():
    g = random_graph(15)
    x = torch.randn(15, 6)
    data = g.to_pyg(torch.float64)
    for shift in ("adjacency", "laplacian"):
        model = S2GNN(6, 8, 4, shift=shift).eval()
        expected = model(x, SobolevOperator(g, shift=shift))
        torch.testing.assert_close(model(x, data.edge_index, data.edge_weight), expected)
    with pytest.raises(InputError, match="shift='laplacian', but the operator 'adjacency'"):
        model(x, SobolevOperator(g))


def test_unusable_arguments_and_input():
    with pytest.raises(InputError, match="num_layers is 0"):
        S2GNN(6, 8, 4, num_layers=0)
    with pytest.raises(InputError, match=r"x is torch.float64.*pass x.to\(torch.float32\)"):
        S2GNN(6, 8, 4)(torch.ones(15, 6, dtype=torch.float64), SobolevOperator(random_graph(15)))


def test_a_learned_epsilon_is_one_for_all_layers():
    g, x = random_graph(15), torch.randn(15, 6)
    model = S2GNN(6, 8, 4, num_layers=3, epsilon="learn", initial_epsilon=0.6).eval()
    assert [name for name, _ in model.named_parameters() if "epsilon" in name] == ["epsilon.log"]
    prepared, family = model.prepare(x, g)
    assert isinstance(family, SobolevFamily)
    assert not isinstance(prepared, PreparedInput)
    fixed = S2GNN(6, 8, 4, num_layers=3, epsilon=0.6).eval()
    fixed.load_state_dict(model.state_dict(), strict=False)
    torch.testing.assert_close(model(prepared, family), fixed(*fixed.prepare(x, g)))
    data = g.to_pyg(torch.float64)
    torch.testing.assert_close(model(x, data.edge_index, data.edge_weight), model(x, family))
    assert [plan.order for plan in model.plan(x, family)] == ["transform"] * 3
    with pytest.raises(InputError, match="the layer learns epsilon, but the SobolevOperator has one"):
        model(x, SobolevOperator(g))


def test_training_moves_epsilon():
    g, y = random_graph(30, 0.2), torch.arange(30) % 3
    x = torch.randn(30, 6) + y[:, None]
    model = S2GNN(6, 8, 3, epsilon="learn", initial_epsilon=2.0, dropout=0.0)
    fit(model, *model.prepare(x, g), y, torch.arange(30), config=FitConfig(epochs=20, patience=None))
    assert abs(float(model.epsilon) - 2.0) > 0.01


@pytest.mark.parametrize("decay", ["all", "first-layer"])
def test_weight_decay_leaves_epsilon_where_it_is(decay):
    model = S2GNN(6, 8, 3, epsilon="learn", initial_epsilon=2.0)
    first, last = (conv.weight.clone() for conv in model.convs)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)  # so that only decay moves anything
    make_adam(model, FitConfig(lr=0.1, weight_decay=0.5, decay=decay)).step()
    assert float(model.epsilon) == pytest.approx(2.0)
    assert not torch.equal(model.convs[0].weight, first)
    assert torch.equal(model.convs[1].weight, last) == (decay == "first-layer")


def test_normalisation_leaves_the_logits_alone_and_residuals_are_everywhere():
    model = S2GNN(6, 8, 4, num_layers=3, norm="batch", residual=True)
    assert [conv.norm is not None for conv in model.convs] == [True, True, False]
    assert [conv.residual for conv in model.convs] == [True] * 3
    assert [None if conv.skip is None else tuple(conv.skip.shape) for conv in model.convs] == [(6, 8), None, (8, 4)]
    assert repr(S2GNN.from_config(model.config)) == repr(model)


def path_of(n):
    return Graph.from_edge_list(np.stack([np.arange(n - 1), np.arange(1, n)], axis=1), np.linspace(0.5, 2, n - 1))


@pytest.mark.parametrize("form", ["dense", "prepared"])
def test_preparing_float32_features_makes_no_copy_in_another_type(form, monkeypatch):
    """torch's own memory, the prepared input, is not traced."""
    monkeypatch.setattr("s2gnn.nn.s2gnn.plan_input", lambda *_: form)
    x, graph = np.random.default_rng(0).normal(size=(2_000, 500)).astype(np.float32), path_of(2_000)
    model = S2GNN(500, 4, 2, alpha=2)
    tracemalloc.start()
    try:
        model.prepare(x, graph)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < x.nbytes / 5  # the float64 numbers of the operator among it


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("form", ["dense", "prepared", "sparse"])
def test_features_that_change_afterwards_leave_the_prepared_input_alone(form, dtype, monkeypatch):
    monkeypatch.setattr("s2gnn.nn.s2gnn.plan_input", lambda *_: form)
    x, model = torch.randn(15, 6, dtype=dtype), S2GNN(6, 8, 4).to(dtype).eval()
    prepared = model.prepare(x, random_graph(15))
    before = model(*prepared)
    x.zero_()
    torch.testing.assert_close(model(*prepared), before, rtol=0, atol=0)
