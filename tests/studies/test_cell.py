import pickle
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from s2gnn import InputError
from s2gnn.data import CATALOGUE, TEST_SEEDS
from s2gnn.learning.hyperparameters import PUBLISHED
from s2gnn.learning.protocol import FAIR, RELEASED
from s2gnn.learning.records import Records
from s2gnn.learning.yardsticks import LabelSpreading
from s2gnn.studies import make_cell

STORED = Path(__file__).parents[2] / "results" / "table2-knn.jsonl"


def test_defaults_are_the_papers():
    cell = make_cell("har", "s2gnn")
    assert (cell.graph, cell.k, cell.protocol, cell.seeds) == ("knn", 40, RELEASED, TEST_SEEDS)
    assert cell.hyperparameters == PUBLISHED["har"]
    assert cell.title == "har knn s2gnn released"
    cora = make_cell("cora", "gcn", "fair", seeds=3)
    assert (cora.graph, cora.k, cora.protocol, cora.seeds) == ("diffusion", None, FAIR, TEST_SEEDS[:3])


def test_the_hash_covers_everything_but_the_seeds():
    cell = make_cell("har", "s2gnn")
    assert cell.config_hash == make_cell("har", "s2gnn", seeds=(1, 2), k=40, graph="knn").config_hash
    assert cell.config_hash == make_cell("har", "s2gnn", changes={"lr": 0.0057, "alpha": 6}).config_hash
    twice = [make_cell("har", "s2gnn", changes={"epsilon": epsilon}).config_hash for epsilon in (2, 2.0)]
    assert twice[0] == twice[1]
    others = [
        make_cell("isolet", "s2gnn", k=40),
        make_cell("har", "s2gnn", graph="smooth"),
        make_cell("har", "s2gnn", k=30),
        make_cell("har", "gcn"),
        make_cell("har", "s2gnn", "fair"),
        make_cell("har", "s2gnn", changes={"lr": 0.01}),
        make_cell("har", "s2gnn", changes={"alpha": 5}),
        replace(cell, protocol=replace(RELEASED, epochs=10)),
    ]
    assert len({cell.config_hash, *(other.config_hash for other in others)}) == 9


def test_the_hash_covers_defaults_of_the_model_and_the_recipe_of_the_data(monkeypatch):
    gat = make_cell("cora", "gat", "fair")
    assert gat.hyperparameters.model["heads"] == 1
    assert gat.config_hash == make_cell("cora", "gat", "fair", changes={"heads": 1}).config_hash
    losses = [make_cell("digits", "supergat", "fair", changes={"attention_loss": loss}) for loss in (2, 2.0)]
    assert losses[0].config_hash == losses[1].config_hash
    before = gat.config_hash
    monkeypatch.setitem(CATALOGUE, "cora", replace(CATALOGUE["cora"], recipe=99))
    assert gat.config_hash != before


def test_the_model_has_the_head_of_the_protocol_and_can_be_made_elsewhere():
    before = torch.random.get_rng_state()
    cell = make_cell("digits", "gcn", changes={"hidden_channels": 5})
    assert torch.equal(torch.random.get_rng_state(), before)
    model = pickle.loads(pickle.dumps(cell.model_factory(64, 10)))()
    assert model.head == "released"
    assert model.layers[0].linear.out_features == 5


def test_supergat_is_released_without_its_own_loss():
    assert make_cell("digits", "supergat").hyperparameters.model["attention_loss"] == 0
    assert make_cell("digits", "supergat", "fair").hyperparameters.model["attention_loss"] == 1
    assert make_cell("digits", "supergat", changes={"attention_loss": 2.0}).new_model(4, 3).attention_loss == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": "mnist"}, "there is no data set 'mnist'"),
        ({"model": "gnc"}, "there is no model 'gnc'"),
        ({"protocol": "strict"}, "there is no protocol 'strict'"),
        ({"graph": "grid"}, "the kind of graph is 'grid'"),
        ({"graph": "given", "k": 3}, "k is 3, but a given graph has no k"),
        ({"changes": {"heads": 3}}, "gcn has no hyperparameter 'heads'"),
        ({"changes": {"dropout": 1.5}}, "dropout is 1.5"),
        ({"changes": {"lr": -1}}, "lr is -1.0, but the learning rate must be positive"),
        ({"changes": {"head": "plain"}}, "the head belongs to the protocol"),
        ({"changes": {"dropout": "abc"}}, "dropout is 'abc', but it must be a number"),
        ({"seeds": 51}, r"seeds is 51, but it must be 1..50"),
        ({"seeds": (1, 1)}, "at least one seed and each once"),
        ({"share": 0.6}, "share is 0.6, but it must lie between 0 and 0.55"),
        ({"model": "svm", "changes": {"C": -1}}, "C is -1.0, but it must be positive"),
    ],
)
def test_unusable_cells(arguments, message):
    with pytest.raises(InputError, match=message):
        make_cell(**{"data": "digits", "model": "gcn", **arguments})


def test_early_stopping_is_another_configuration_and_its_absence_changes_no_hash():
    cell = make_cell("cancer-b", "gcn", "fair")
    hurried = make_cell("cancer-b", "gcn", replace(FAIR, patience=100))
    assert "patience" not in cell.config["protocol"]
    assert hurried.config["protocol"]["patience"] == 100
    assert cell.config_hash != hurried.config_hash


def test_another_share_is_another_configuration_and_the_papers_changes_no_hash():
    cell = make_cell("cancer-b", "gcn", "fair")
    assert make_cell("cancer-b", "gcn", "fair", share=0.1) == cell
    assert "share" not in cell.config
    few = make_cell("cancer-b", "gcn", "fair", share=0.005)
    assert few.config["share"] == 0.005
    assert few.config_hash != cell.config_hash
    assert few.title == "cancer-b knn gcn fair 0.5 % labelled"


def test_hashes_of_stored_records_are_those_of_their_cells():
    (record, *_) = [r for r in Records(STORED).read() if r.config["model"] == "s2gnn" and r.config["data"] == "har"]
    patience = record.config["protocol"].get("patience")
    assert make_cell("har", "s2gnn", replace(RELEASED, patience=patience)).config_hash == record.config_hash


def test_a_yardstick_is_a_cell_without_a_learning_rate():
    cell = make_cell("digits", "label-spreading", changes={"alpha": 0.9})
    assert cell.new_yardstick() == LabelSpreading(alpha=0.9)
    assert cell.hyperparameters.lr == 0
