from dataclasses import replace

import pytest

from s2gnn import InputError
from s2gnn.experiments.protocols import BUDGETS, FAIR, PROTOCOLS, named_budget, named_protocol
from s2gnn.learning import FitConfig


@pytest.mark.parametrize(
    ("name", "head", "fixed"),
    [
        ("released", "released", {}),
        ("released-last", "released", {"keep": "last"}),
        ("released-citation", "released", {"decay": "first-layer", "frozen": ("fusion",)}),
        ("fair", "plain", {}),
        ("fair-converged", "plain", {"epochs": 3000, "patience": 300}),
        ("fair-citation", "plain", {"decay": "first-layer"}),
        ("released-graphs", "released", {"decay": "first-layer", "frozen": ("fusion",)}),
        ("fair-graphs", "plain", {"decay": "first-layer"}),
        ("ten-fold", "plain", {"monitor": "loss", "batch_size": 32}),
    ],
)
def test_what_a_protocol_fixes(name, head, fixed):
    protocol = named_protocol(name)
    assert protocol.head == head
    common = {"lr": 0.02, "weight_decay": 1e-3, "epochs": 500, "patience": None, "monitor": "accuracy"}
    expected = FitConfig(**{**common, "keep": "best", "decay": "all", "frozen": (), **fixed})
    assert protocol.fit_config(0.02, 1e-3) == expected
    by_auc = protocol.fit_config(0.02, 1e-3, "auc")
    assert by_auc == replace(expected, monitor=fixed.get("monitor", "auc"))
    assert (protocol.folds, protocol.run) == ((10, "fold") if name == "ten-fold" else (None, "seed"))


def test_all_protocols_are_listed_and_others_are_refused():
    assert list(PROTOCOLS) == [
        *("released", "released-last", "released-citation", "fair", "fair-converged"),
        *("fair-citation", "released-graphs", "fair-graphs", "ten-fold"),
    ]
    with pytest.raises(InputError, match=r"no protocol 'unfair': did you mean 'fair'.* Choose from released"):
        named_protocol("unfair")


def test_a_budget_limits_epochs_and_patience():
    quick = BUDGETS["quick"].limit(replace(FAIR, keep="last"))
    assert quick == replace(FAIR, keep="last", epochs=500, patience=100)
    assert [budget.seeds for budget in BUDGETS.values()] == [1, 3, 50, 10, 50]
    assert [budget.name for budget in BUDGETS.values() if budget.rungs] == ["standard", "full"]
    with pytest.raises(InputError, match="no budget 'huge': choose from smoke, quick, long, standard, full"):
        named_budget("huge")
