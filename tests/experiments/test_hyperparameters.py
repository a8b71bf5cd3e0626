from itertools import product

import numpy as np
import pytest

from s2gnn import S2GNN, InputError
from s2gnn.experiments.hyperparameters import (
    PAPER_SPACE,
    PUBLISHED,
    Choice,
    Hyperparameters,
    Integers,
    Uniform,
    default_hyperparameters,
    search_space,
)
from s2gnn.nn import MODELS, hyperparameters, make_model

# lr, weight decay, hidden, layers, dropout, fusion, alpha
TABLE = """
cancer-b 0.0177 0.0006 32 2 0.3077 mlp    6
cancer-m 0.0085 0.0001 64 3 0.3525 mlp    6
20news   0.0057 0.0004 32 2 0.4569 linear 4
har      0.0057 0.0004 64 2 0.3763 mlp    6
isolet   0.0071 0.0006 64 2 0.6219 mlp    2
"""

COMMON = {"lr", "weight_decay", "hidden_channels", "num_layers", "dropout"}
OWN = {
    "s2gnn": {"alpha", "epsilon", "fusion"},
    "regular-sobolev": {"alpha", "epsilon", "fusion"},
    "no-hadamard": {"alpha", "fusion"},
    "cheby": {"K"},
    "sign": {"powers"},
    **{name: {"heads"} for name in ("gat", "gatv2", "supergat", "transformer")},
}


def test_published_values_are_those_of_the_table_and_make_a_model():
    rows = [line.split() for line in TABLE.strip().splitlines()]
    assert [row[0] for row in rows] == list(PUBLISHED)
    for name, *expected in rows:
        chosen = PUBLISHED[name]
        config = S2GNN(10, out_channels=3, **chosen.model).config
        sizes = config.hidden_channels, config.num_layers, config.dropout, config.fusion, config.alpha
        assert [str(value) for value in (chosen.lr, chosen.weight_decay, *sizes)] == expected
        assert config.epsilon == 1.5
        assert default_hyperparameters("s2gnn", name) == chosen


def test_defaults_elsewhere():
    assert default_hyperparameters("gcn", "cancer-b").model == {"hidden_channels": 32, "num_layers": 2, "dropout": 0.5}
    assert default_hyperparameters("s2gnn", "cora").model["alpha"] == 4
    assert default_hyperparameters("regular-sobolev", "har").model == PUBLISHED["har"].model
    assert "epsilon" not in default_hyperparameters("no-hadamard", "har").model
    for data, model in product(("ppi-human", "ogbn-proteins"), ("s2gnn", "gcn")):
        proteins = default_hyperparameters(model, data)
        assert (proteins.model["hidden_channels"], proteins.model["num_layers"], proteins.model["dropout"]) == (8, 3, 0)
        assert (proteins.lr, proteins.weight_decay) == (1e-3 if data == "ogbn-proteins" else 0.01, 0)
    assert default_hyperparameters("supergat", "ppi-human").model["attention_loss"] == 0
    assert default_hyperparameters("supergat", "har").model["attention_loss"] == 1
    assert default_hyperparameters("svm", "har") == Hyperparameters(0.0, 0.0, {"C": 1.0})


def test_given_values_replace_and_leave_the_rest():
    chosen = Hyperparameters(0.01, 5e-4, {"alpha": 4, "dropout": 0.5})
    changed = chosen.with_values({"lr": 1, "alpha": 2, "heads": 3})
    assert changed == Hyperparameters(1.0, 5e-4, {"alpha": 2, "dropout": 0.5, "heads": 3})
    assert isinstance(changed.lr, float)
    assert chosen.model == {"alpha": 4, "dropout": 0.5}
    for value in ("fast", float("nan")):
        with pytest.raises(InputError, match="lr is .*, but it must be a finite number"):
            chosen.with_values({"lr": value})


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
    ranges = {name: PAPER_SPACE[name] for name in ("heads", "K", "powers")}
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
    with pytest.raises(InputError, match="there is no model 'gan'"):
        search_space("gan")
    with pytest.raises(InputError, match="max_heads is 0, but it must be an integer >= 1"):
        search_space("gat", max_heads=0)


def test_ranges_draw_python_values():
    generator = np.random.default_rng(0)
    assert [type(r.draw(generator)) for r in (Uniform(0, 1), Integers(1, 2), Choice((16, 32)))] == [float, int, int]


def test_the_nearest_values_of_a_space():
    space = search_space("gat", max_heads=2)
    far = Hyperparameters(1.0, 0.0, {"hidden_channels": 128, "num_layers": 1, "dropout": 0.45678, "heads": 8})
    expected = {"lr": 0.02, "weight_decay": 1e-4, "hidden_channels": 64, "num_layers": 2, "dropout": 0.4568, "heads": 2}
    assert space.nearest(far) == expected
    assert Choice(("linear", "mlp")).nearest("sum") == "linear"
