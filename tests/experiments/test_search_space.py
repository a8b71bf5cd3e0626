import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.experiments.hyperparameters import Hyperparameters, default_hyperparameters
from s2gnn.experiments.search_space import PAPER_SPACE, draw_values, nearest_values, search_space
from s2gnn.nn import MODELS, hyperparameters, make_model

COMMON = {"lr", "weight_decay", "hidden_channels", "num_layers", "dropout"}
OWN = {
    "s2gnn": {"alpha", "epsilon", "fusion"},
    "s2gnn+": {"alpha", "epsilon", "fusion", "shift", "norm", "residual"},
    "regular-sobolev": {"alpha", "epsilon", "fusion"},
    "no-hadamard": {"alpha", "fusion"},
    "cheby": {"K"},
    "sign": {"powers"},
    **{name: {"heads"} for name in ("gat", "gatv2", "supergat", "transformer")},
}


@pytest.mark.parametrize("model", MODELS)
def test_the_space_of_a_model_has_what_the_model_accepts_and_the_paper_searched(model):
    expected = COMMON | OWN.get(model, set())
    if model == "sgc":
        assert set(search_space(model, "released")) == expected - {"hidden_channels"}
        expected = expected - {"hidden_channels", "dropout"}
    space = search_space(model)
    assert set(space) == expected
    assert expected - {"lr", "weight_decay"} <= set(hyperparameters(model))
    values = draw_values(space, 0, 0)
    assert make_model(model, 5, 3, **{name: values[name] for name in expected - {"lr", "weight_decay"}})


def test_draws_stay_in_bounds_reach_them_and_have_four_decimals():
    draws = [draw_values(search_space("s2gnn"), 3, index) for index in range(2000)]
    for name, low, high in [
        ("lr", 0.005, 0.02),
        ("weight_decay", 1e-4, 1e-3),
        ("dropout", 0.3, 0.7),
        ("epsilon", 0.5, 2),
    ]:
        values = np.array([draw[name] for draw in draws])
        assert low <= values.min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < values.max() <= high
        assert abs(values.mean() - (low + high) / 2) < 0.03 * (high - low)
        assert all(value == float(f"{value:.4f}") for value in values)
    for name, values in [
        ("hidden_channels", {16, 32, 64}),
        ("num_layers", {2, 3, 4, 5}),
        ("alpha", set(range(1, 7))),
        ("fusion", {"linear", "mlp"}),
    ]:
        found, counts = np.unique([draw[name] for draw in draws], return_counts=True)
        assert set(found.tolist()) == values
        assert counts.min() > 0.85 * 2000 / len(values)
    assert [(PAPER_SPACE[name].low, PAPER_SPACE[name].high) for name in ("heads", "K", "powers")] == [
        (1, 6),
        (1, 3),
        (1, 3),
    ]


def test_a_draw_depends_on_the_seed_and_its_index_alone():
    space = search_space("gat")
    backwards = {index: draw_values(space, 7, index) for index in reversed(range(20))}
    assert [draw_values(space, 7, index) for index in range(20)] == [backwards[index] for index in range(20)]
    assert len({tuple(draw.items()) for draw in backwards.values()}) == 20
    assert draw_values(space, 8, 0) != draw_values(space, 7, 0)
    assert all(isinstance(value, int | float | str) for value in draw_values(space, 7, 0).values())


def test_fewer_heads():
    space = search_space("gat", max_heads=2)
    assert {draw_values(space, 0, index)["heads"] for index in range(50)} == {1, 2}
    assert search_space("gat", max_heads=9)["heads"].high == 6
    with pytest.raises(InputError, match="there is no model 'gan'"):
        search_space("gan")
    with pytest.raises(InputError, match="max_heads is 0, but it must be an integer >= 1"):
        search_space("gat", max_heads=0)


def test_draws_are_python_values():
    values = draw_values(search_space("s2gnn"), 0, 0)
    assert {name: type(values[name]) for name in ("lr", "alpha", "hidden_channels", "fusion")} == {
        "lr": float, "alpha": int, "hidden_channels": int, "fusion": str
    }  # fmt: skip


def test_the_nearest_values_of_a_space():
    space = search_space("gat", max_heads=2)
    far = Hyperparameters(1.0, 0.0, {"hidden_channels": 128, "num_layers": 1, "dropout": 0.45678, "heads": 8})
    expected = {"lr": 0.02, "weight_decay": 1e-4, "hidden_channels": 64, "num_layers": 2, "dropout": 0.4568, "heads": 2}
    assert nearest_values(space, far) == expected
    s2gnn = default_hyperparameters("s2gnn", "cora").with_values({"fusion": "attention"})
    assert nearest_values(search_space("s2gnn"), s2gnn)["fusion"] == "linear"
