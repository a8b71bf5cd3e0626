"""What a run records is what the functions that it is made of give when they are called directly."""

from dataclasses import replace

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data import (
    TEST_SEEDS,
    Dataset,
    collection_graphs,
    dataset_graph,
    dataset_split,
    load_collection,
    load_dataset,
    paper_split,
)
from s2gnn.data.splits import fold_split
from s2gnn.experiments import load_task, make_experiment
from s2gnn.experiments.protocols import FAIR, RELEASED_GRAPHS, TEN_FOLD
from s2gnn.graphs import diffuse
from s2gnn.learning import fit, predict_logits
from s2gnn.learning.classical import LabelSpreading
from s2gnn.learning.metrics import mean_roc_auc
from s2gnn.links import LinkPredictor, fit_links, link_scores, predict_links, split_links
from s2gnn.nn import make_graph_model, make_model
from tests.random_graphs import random_graph

SHORT = replace(FAIR, epochs=8)
SEED = TEST_SEEDS[0]


def right(logits, y, part):
    """The share of `part` that is classified correctly."""
    return np.mean(np.asarray(logits).argmax(axis=1)[part] == y[part])


@pytest.mark.parametrize("share", [None, 0.004])
def test_a_node_classification_is_fit_on_the_papers_split(share):
    run = load_task(make_experiment("digits", "gcn", SHORT, k=10, share=share)).run(SEED)
    dataset, graph = dataset_graph(load_dataset("digits"), "knn", 10)
    model = make_model("gcn", 64, 10, hidden_channels=32, num_layers=2, dropout=0.5)
    x, op = model.prepare(dataset.x, graph)
    split = paper_split(dataset.y, SEED, **({} if share is None else {"share": share}))
    trained = fit(model, x, op, dataset.y, split.train, split.val, config=SHORT.fit_config(0.01, 5e-4), seed=SEED)
    assert run.metrics.pop("test_macro_f1") > 0
    assert run.metrics == {
        "test_accuracy": right(predict_logits(model, x, op), dataset.y, split.test),
        "val_accuracy": max(trained.history.val_accuracy),
        "epoch": trained.best_epoch,
        **({} if share is None else {"train_nodes": len(split.train)}),
    }
    assert (run.seed, run.seconds > 0) == (SEED, True)
    if share is not None:
        assert len(split.train) > int(share * len(dataset.y))  # every class has at least one label


def test_the_test_part_is_not_used_in_training(monkeypatch):
    experiment = make_experiment("digits", "mlp", SHORT, k=10)
    fitted = load_task(experiment).fit(SEED)
    digits = load_dataset("digits")
    y, test = digits.y.copy(), dataset_split(digits, SEED).test
    y[test] = np.random.default_rng(0).permutation(y[test])
    monkeypatch.setattr("s2gnn.experiments.tasks.load_dataset", lambda name: replace(digits, y=y))
    other = load_task(experiment).fit(SEED)
    assert fitted.result.history == other.result.history
    assert (fitted.validation, fitted.logits.tolist()) == (other.validation, other.logits.tolist())


def test_other_hyperparameters_on_loaded_data_give_what_a_new_task_gives():
    task = load_task(make_experiment("digits", "s2gnn", SHORT, k=10))
    task.run(SEED)
    changed = make_experiment("digits", "s2gnn", SHORT, k=10, changes={"epsilon": 0.7, "alpha": 2, "lr": 0.02})
    assert task.with_experiment(changed).run(SEED).metrics == load_task(changed).run(SEED).metrics


def test_several_labels_are_scored_by_roc_auc_and_a_learned_epsilon_is_kept(monkeypatch):
    digits = load_dataset("digits")
    y = np.stack([digits.y % 2, digits.y > 4, digits.y == 0], axis=1).astype(np.int64)
    labelled = np.arange(len(y)) % 3 > 0
    several = Dataset("digits", digits.x, y, ("odd", "large", "zero"), None, "scikit-learn", labelled)
    monkeypatch.setattr("s2gnn.experiments.tasks.load_dataset", lambda name: several)
    experiment = make_experiment("digits", "s2gnn", SHORT, k=10, changes={"alpha": 2, "epsilon": "learn"})
    run = load_task(experiment).run(SEED)
    model = make_model("s2gnn", 64, 3, **experiment.hyperparameters.model)
    x, op = model.prepare(several.x, dataset_graph(several, "knn", 10)[1])
    split, config = dataset_split(several, SEED), SHORT.fit_config(0.01, 5e-4, "auc")
    trained = fit(model, x, op, y, split.train, split.val, config=config, seed=SEED)
    logits = predict_logits(model, x, op).numpy()
    assert run.metrics == {
        "test_roc_auc": mean_roc_auc(y[split.test], logits[split.test]),
        "val_roc_auc": max(trained.history.val_auc),
        "epoch": trained.best_epoch,
        "epsilon": pytest.approx(float(model.epsilon), rel=1e-4),
    }
    assert abs(run.metrics["epsilon"] - 1) > 1e-3


def test_a_classical_baseline_is_run_like_a_network():
    run = load_task(make_experiment("digits", "label-spreading", SHORT, k=10, changes={"alpha": 0.9})).run(SEED)
    dataset, graph = dataset_graph(load_dataset("digits"), "knn", 10)
    split = paper_split(dataset.y, SEED)
    scores = LabelSpreading(alpha=0.9).fit_predict(None, graph, dataset.y, split.train, SEED)
    assert run.metrics["test_accuracy"] == right(scores, dataset.y, split.test)
    assert (run.metrics["val_accuracy"], run.metrics["epoch"]) == (right(scores, dataset.y, split.val), 0)


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("protocol", [RELEASED_GRAPHS, TEN_FOLD], ids=lambda protocol: protocol.name)
def test_a_graph_classification_is_fit_on_its_split_or_fold(protocol):
    short = replace(protocol, epochs=2)
    experiment = make_experiment("mutag", "s2gnn", short, changes={"epsilon": "learn"}, seeds=1)
    (seed,) = experiment.seeds
    run = load_task(experiment).run(seed)
    collection, graphs = collection_graphs(load_collection("mutag"), "diffusion")
    chosen = experiment.hyperparameters
    model = make_graph_model("s2gnn", 7, 2, head=protocol.head, **chosen.model)
    x, op = model.prepare(collection.x, graphs)
    split = dataset_split(collection, seed) if protocol.folds is None else fold_split(collection.y, seed)
    config = short.fit_config(chosen.lr, chosen.weight_decay)
    trained = fit(model, x, op, collection.y, split.train, split.val, config=config, seed=seed)
    assert run.metrics["test_accuracy"] == right(predict_logits(model, x, op), collection.y, split.test)
    assert run.metrics["val_accuracy"] == trained.history.val_accuracy[trained.best_epoch]
    assert 0 < run.metrics["epsilon"] != 1
    sizes = [len(part) for part in (split.train, split.val, split.test)]
    assert sizes == ([18, 85, 85] if protocol.folds is None else [152, 17, 19])


@pytest.fixture
def small(monkeypatch):
    """A small network instead of Cora."""
    x, y = np.random.default_rng(0).normal(size=(40, 6)), np.arange(40) % 7
    dataset = Dataset("cora", x, y, tuple("abcdefg"), random_graph(40, 0.2), "made", np.ones(40, dtype=bool))
    monkeypatch.setattr("s2gnn.experiments.tasks.load_dataset", lambda name: dataset)
    return dataset


@pytest.mark.parametrize("graph", ["given", "diffusion"])
def test_links_are_predicted_from_training_edges_alone(small, graph):
    changes = {"hidden_channels": 8, "dropout": 0.0}
    run = load_task(make_experiment("cora", "gcn", SHORT, graph=graph, changes=changes, decoder="mlp")).run(SEED)
    split = split_links(small.graph, SEED)
    model = LinkPredictor(make_model("gcn", 6, 16, **changes), "mlp", 16)
    x, op = model.prepare(small.x, split.graph if graph == "given" else diffuse(split.graph, 0.05, 128))
    trained = fit_links(model, x, op, split, config=SHORT.fit_config(0.01, 5e-4, "auc"), seed=SEED)
    scores = link_scores(*(predict_links(model, x, op, of) for of in (split.test.positive, split.test.negative)))
    assert run.metrics == {
        "test_roc_auc": scores.roc_auc,
        "test_average_precision": scores.average_precision,
        **{f"test_hits@{k}": hits for k, hits in scores.hits.items()},
        "val_roc_auc": max(trained.history.val_auc),
        "epoch": trained.best_epoch,
    }


def test_links_need_a_given_graph(small, monkeypatch):
    monkeypatch.setattr("s2gnn.experiments.tasks.load_dataset", lambda name: replace(small, graph=None))
    task = load_task(make_experiment("cora", "gcn", SHORT, graph="given", decoder="dot"))
    with pytest.raises(InputError, match="cora has no given graph, but links are predicted in one"):
        task.run(SEED)
