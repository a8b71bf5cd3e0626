import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.learning.hyperparameters import Hyperparameters
from s2gnn.learning.space import PAPER_RANGES, Choice, Integers, Uniform, search_space
from s2gnn.nn import MODELS, hyperparameters, make_model

COMMON = {"lr", "weight_decay", "hidden_channels", "num_layers", "dropout"}
OWN = {
    "s2gnn": {"alpha", "epsilon", "fusion"},
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
        assert set(search_space(model, "released").ranges) == expected - {"hidden_channels"}
        expected = expected - {"hidden_channels", "dropout"}
    space = search_space(model)
    assert set(space.ranges) == expected
    assert expected - {"lr", "weight_decay"} <= set(hyperparameters(model))
    values = space.draw(0, 0)
    assert make_model(model, 5, 3, **{name: values[name] for name in expected - {"lr", "weight_decay"}})


def test_draws_stay_in_bounds_reach_them_and_have_four_decimals():
    draws = [search_space("s2gnn").draw(3, index) for index in range(2000)]
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
    ranges = {name: PAPER_RANGES[name] for name in ("heads", "K", "powers")}
    assert ranges == {"heads": Integers(1, 6), "K": Integers(1, 3), "powers": Integers(1, 3)}


def test_a_draw_depends_on_the_seed_and_its_index_alone():
    space = search_space("gat")
    backwards = {index: space.draw(7, index) for index in reversed(range(20))}
    assert [space.draw(7, index) for index in range(20)] == [backwards[index] for index in range(20)]
    assert len({tuple(draw.items()) for draw in backwards.values()}) == 20
    assert space.draw(8, 0) != space.draw(7, 0)
    assert all(isinstance(value, int | float | str) for value in space.draw(7, 0).values())


def test_fewer_heads():
    space = search_space("gat", max_heads=2)
    assert {space.draw(0, index)["heads"] for index in range(50)} == {1, 2}
    assert search_space("gat", max_heads=9).ranges["heads"] == Integers(1, 6)
    with pytest.raises(InputError, match="max_heads is 0, but it must be an integer >= 1"):
        search_space("gat", max_heads=0)


def test_unknown_model():
    with pytest.raises(InputError, match="there is no model 'gan'"):
        search_space("gan")


def test_ranges_draw_python_values():
    generator = np.random.default_rng(0)
    assert [type(r.draw(generator)) for r in (Uniform(0, 1), Integers(1, 2), Choice((16, 32)))] == [float, int, int]


def test_the_nearest_values_of_a_space():
    space = search_space("gat", max_heads=2)
    far = Hyperparameters(1.0, 0.0, {"hidden_channels": 128, "num_layers": 1, "dropout": 0.45678, "heads": 8})
    expected = {"lr": 0.02, "weight_decay": 1e-4, "hidden_channels": 64, "num_layers": 2, "dropout": 0.4568, "heads": 2}
    assert space.nearest(far) == expected
    assert Choice(("linear", "mlp")).nearest("sum") == "linear"
