from dataclasses import replace
from pathlib import Path

import pytest
import torch

from s2gnn import Graph, InputError
from s2gnn.data import CATALOGUE, TEST_SEEDS
from s2gnn.experiments import PUBLISHED, Experiment, Hyperparameters, Protocol, make_experiment
from s2gnn.experiments.experiment import canonical_json, record_key
from s2gnn.experiments.protocols import FAIR, RELEASED, TEN_FOLD
from s2gnn.experiments.records import RecordsFolder

RESULTS = Path(__file__).parents[2] / "results"

# Written out in full, so that no default and no renamed field can change the key of stored records.
PROTOCOL = Protocol("fair", "plain", "best", "all", ("fusion",), 500, 100, 32, 10, "loss")
LITERAL = Experiment(
    "cora", "given", None, "gcn", Hyperparameters(0.01, 5e-4, {"hidden_channels": 32, "dropout": 0.5}), PROTOCOL,
    seeds=(1, 2), share=0.05, decoder="dot", embedding=16,
)  # fmt: skip
DESCRIPTION = {
    "version": 2,
    "task": "links",
    "data": "cora",
    "recipe": 2,
    "graph": "given",
    "share": 0.05,
    "model": "gcn",
    "decoder": "dot",
    "embedding": 16,
    "lr": 0.01,
    "weight_decay": 0.0005,
    "arguments": {"hidden_channels": 32, "dropout": 0.5},
    "protocol": {
        "name": "fair",
        "head": "plain",
        "keep": "best",
        "decay": "all",
        "frozen": ["fusion"],
        "epochs": 500,
        "patience": 100,
        "batch_size": 32,
        "folds": 10,
        "monitor": "loss",
    },
}


def test_the_key_is_pinned():
    assert LITERAL.describe() == DESCRIPTION
    assert LITERAL.key == record_key(DESCRIPTION) == "a357b87628376bf6"
    assert make_experiment("digits", "mlp", "fair").key == "8fcd8bf28af441f4"


def test_keys_of_stored_records_are_those_of_their_experiments():
    records = RecordsFolder(RESULTS, "table2-knn").read()
    assert len(records) >= 3900
    assert {record.key for record in records} == {record_key(record.experiment) for record in records}
    stored = {record.key for record in records}
    for data in PUBLISHED:
        assert make_experiment(data, "s2gnn", replace(RELEASED, patience=100)).key in stored


def test_the_key_is_that_of_sorted_json_in_every_process():
    description = {"frozen": ["fusion"], "epsilon": 1.5, "alpha": 4}
    assert canonical_json(description) == '{"alpha":4,"epsilon":1.5,"frozen":["fusion"]}'
    assert record_key(description) == "a681c5a8f058f9dd"  # the first digits that sha256sum prints for that text
    for bad in (float("nan"), {1, 2}):
        with pytest.raises(InputError, match="use finite numbers, strings and lists"):
            canonical_json({"value": bad})


def test_defaults_are_the_papers():
    experiment = make_experiment("har", "s2gnn")
    assert (experiment.graph, experiment.k, experiment.protocol, experiment.seeds) == ("knn", 40, RELEASED, TEST_SEEDS)
    assert experiment.hyperparameters == PUBLISHED["har"]
    assert experiment.title == "har knn s2gnn released"
    cora = make_experiment("cora", "gcn", "fair", seeds=3)
    assert (cora.graph, cora.k, cora.protocol, cora.seeds) == ("diffusion", None, FAIR, TEST_SEEDS[:3])


def test_the_key_covers_everything_but_the_seeds(monkeypatch):
    experiment = make_experiment("har", "s2gnn")
    for same in (
        make_experiment("har", "s2gnn", seeds=(1, 2), k=40, graph="knn"),
        make_experiment("har", "s2gnn", changes={"lr": 0.0057, "alpha": 6}),
        make_experiment("har", "s2gnn", share=0.1),
        replace(experiment, embedding=8),  # only links have embeddings
    ):
        assert same.key == experiment.key
    others = [
        make_experiment("isolet", "s2gnn", k=40),
        make_experiment("har", "s2gnn", graph="smooth"),
        make_experiment("har", "s2gnn", k=30),
        make_experiment("har", "gcn"),
        make_experiment("har", "s2gnn", "fair"),
        make_experiment("har", "s2gnn", changes={"lr": 0.01}),
        make_experiment("har", "s2gnn", changes={"alpha": 5}),
        make_experiment("har", "s2gnn", share=0.005),
        *(replace(experiment, protocol=replace(RELEASED, **of)) for of in ({"epochs": 10}, {"patience": 9})),
        make_experiment("cora", "gcn", graph="given"),
        make_experiment("cora", "gcn", graph="given", decoder="dot"),
        make_experiment("cora", "gcn", graph="given", decoder="mlp"),
        make_experiment("cora", "gcn", graph="given", decoder="mlp", embedding=8),
        make_experiment("mutag", "gcn", TEN_FOLD),
        make_experiment("mutag", "gcn", TEN_FOLD, changes={"pooling": "attention"}),
    ]
    assert len({experiment.key, *(other.key for other in others)}) == len(others) + 1
    before = experiment.key
    monkeypatch.setitem(CATALOGUE, "har", replace(CATALOGUE["har"], recipe=99))
    assert make_experiment("har", "s2gnn").key != before


def test_values_that_mean_the_same_have_the_same_key():
    gat = make_experiment("cora", "gat", "fair")
    assert gat.hyperparameters.model["heads"] == 1
    assert gat.key == make_experiment("cora", "gat", "fair", changes={"heads": 1}).key
    for model, name in (("s2gnn", "epsilon"), ("supergat", "attention_loss")):
        whole, real = (make_experiment("digits", model, "fair", changes={name: value}) for value in (2, 2.0))
        assert whole.key == real.key


def test_what_is_not_used_is_not_in_the_description():
    description = make_experiment("cancer-b", "gcn", "fair").describe()
    assert not {"share", "decoder", "embedding"} & description.keys()
    assert not {"patience", "folds", "batch_size", "monitor"} & description["protocol"].keys()
    few = make_experiment("cancer-b", "gcn", "fair", share=0.005)
    assert (few.describe()["share"], few.title) == (0.005, "cancer-b knn gcn fair 0.5 % labelled")
    links = make_experiment("cora", "gcn", "fair", graph="given", decoder="dot")
    assert (links.task, links.title) == ("links", "cora given gcn fair dot decoder")


def test_a_network_has_the_head_of_the_protocol_and_checking_draws_no_random_number():
    before = torch.random.get_rng_state()
    experiment = make_experiment("digits", "gcn", changes={"hidden_channels": 5})
    assert torch.equal(torch.random.get_rng_state(), before)
    network = experiment.new_network(64, 10)
    x, op = network.prepare(torch.ones(3, 64), Graph.from_edge_list([(0, 1), (1, 2)]))
    assert (network.head, network(x, op).shape) == ("released", (3, 10))
    mean, attention = (
        make_experiment("mutag", "gcn", TEN_FOLD, changes=changes).new_network(7, 2)
        for changes in ({}, {"pooling": "attention"})
    )
    sizes = [sum(parameter.numel() for parameter in of.parameters()) for of in (mean, attention)]
    assert sizes[1] == sizes[0] + 3


def test_supergat_is_released_without_its_loss():
    assert make_experiment("digits", "supergat").hyperparameters.model["attention_loss"] == 0
    assert make_experiment("digits", "supergat", "fair").hyperparameters.model["attention_loss"] == 1
    changed = make_experiment("digits", "supergat", changes={"attention_loss": 2.0})
    assert changed.new_network(4, 3).layers[0].attention_loss == 2


def test_a_classical_baseline_has_no_learning_rate():
    experiment = make_experiment("digits", "label-spreading", changes={"alpha": 0.9})
    assert (experiment.hyperparameters.lr, experiment.hyperparameters.model["alpha"]) == (0, 0.9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": "mnist"}, "there is no data set 'mnist'"),
        ({"model": "gnc"}, "there is no model 'gnc'"),
        ({"protocol": "strict"}, "there is no protocol 'strict'"),
        ({"graph": "grid"}, "the kind of graph is 'grid'"),
        ({"graph": "given", "k": 3}, "k is 3, but a given graph has no k: omit it"),
        ({"changes": {"heads": 3}}, "gcn has no hyperparameter 'heads'"),
        ({"changes": {"dropout": 1.5}}, "dropout is 1.5"),
        ({"changes": {"lr": -1}}, "lr is -1.0, but the learning rate must be positive"),
        ({"changes": {"head": "plain"}}, "the head belongs to the protocol"),
        ({"changes": {"dropout": "abc"}}, "dropout is 'abc', but it must be a number"),
        ({"seeds": 51}, r"seeds is 51, but it must be 1\.\.50"),
        ({"seeds": (1, 1)}, "at least one seed and each once"),
        ({"share": 0.6}, "share is 0.6, but it must lie between 0 and 0.55"),
        ({"model": "svm", "changes": {"C": -1}}, "C is -1.0, but it must be positive"),
        ({"protocol": "ten-fold"}, "ten-fold is for graph classification, but digits has nodes"),
        ({"data": "mutag", "model": "svm"}, "svm is for nodes of one graph, but mutag has many graphs"),
        ({"data": "mutag", "graph": "knn"}, "'knn', but the graphs of mutag are diffusion or given"),
        ({"data": "mutag", "changes": {"pooling": "median"}}, "pooling is 'median'"),
        ({"data": "mutag", "protocol": TEN_FOLD, "seeds": 11}, r"must be 1\.\.10, the number of folds"),
        ({"data": "mutag", "decoder": "dot"}, "mutag has many graphs, but links are predicted in one"),
        ({"data": "cora", "decoder": "dot", "graph": "knn"}, "'knn', but links are predicted in a given graph"),
        ({"data": "cora", "decoder": "cosine"}, "decoder is 'cosine'"),
        ({"data": "cora", "decoder": "dot", "embedding": 0}, "out_channels is 0"),
    ],
)
def test_an_unusable_experiment_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        make_experiment(**{"data": "digits", "model": "gcn", **arguments})


@pytest.mark.parametrize(("model", "share"), [("svm", None), ("gcn", 0.05)])
def test_link_prediction_refuses_what_is_for_nodes(model, share):
    with pytest.raises(InputError, match="is for node classification, but a decoder predicts links"):
        make_experiment("cora", model, "fair", decoder="dot", share=share)
