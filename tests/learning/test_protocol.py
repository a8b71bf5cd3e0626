from dataclasses import replace

import pytest

from s2gnn import InputError
from s2gnn.learning import FitConfig
from s2gnn.learning.protocol import PROTOCOLS, named_protocol


@pytest.mark.parametrize(
    ("name", "head", "keep", "decay", "frozen"),
    [
        ("released", "released", "best", "all", ()),
        ("released-last", "released", "last", "all", ()),
        ("released-citation", "released", "best", "first-layer", ("fusion",)),
        ("fair", "plain", "best", "all", ()),
        ("fair-citation", "plain", "best", "first-layer", ()),
        ("released-graphs", "released", "best", "first-layer", ("fusion",)),
        ("fair-graphs", "plain", "best", "first-layer", ()),
    ],
)
def test_what_a_protocol_fixes(name, head, keep, decay, frozen):
    protocol = named_protocol(name)
    assert protocol.head == head
    common = {"lr": 0.02, "weight_decay": 1e-3, "epochs": 500, "patience": None, "monitor": "accuracy"}
    assert protocol.fit_config(0.02, 1e-3) == FitConfig(**common, keep=keep, decay=decay, frozen=frozen)
    assert protocol.fit_config(0.02, 1e-3, several_labels=True).monitor == "auc"


def test_a_cross_validation_has_batches_and_goes_by_the_loss():
    protocol = named_protocol("ten-fold")
    assert (protocol.head, protocol.folds) == ("plain", 10)
    fixed = {"epochs": 500, "patience": None, "monitor": "loss", "batch_size": 32}
    assert protocol.fit_config(0.02, 1e-3) == FitConfig(lr=0.02, weight_decay=1e-3, **fixed)


def test_a_model_may_take_longer_than_in_the_paper():
    fair, longer = named_protocol("fair"), named_protocol("fair-converged")
    assert replace(fair, name=longer.name, epochs=3000, patience=300) == longer


def test_all_protocols_are_listed_and_others_are_refused():
    assert list(PROTOCOLS) == [
        *("released", "released-last", "released-citation", "fair", "fair-converged"),
        *("fair-citation", "released-graphs", "fair-graphs", "ten-fold"),
    ]
    with pytest.raises(InputError, match="no protocol 'unfair': choose from released, released-last, .*fair"):
        named_protocol("unfair")
