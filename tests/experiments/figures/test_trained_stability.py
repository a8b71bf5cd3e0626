from dataclasses import replace

import numpy as np
import pytest

from s2gnn.analysis import EdgeNoise, branch_contributions, without_branch
from s2gnn.data import dataset_graph, dataset_split, load_dataset
from s2gnn.experiments.figures import trained_stability
from s2gnn.experiments.figures.trained_stability import STUDY
from s2gnn.experiments.protocols import FAIR
from s2gnn.experiments.table import chosen_values
from s2gnn.learning import FitConfig, fit, predict_logits
from s2gnn.nn import make_model
from tests.experiments.made_records import append

SEED = trained_stability.TRAINING_SEEDS[0]
ADDED = EdgeNoise("added", 0.5)
BRIEF = replace(trained_stability.BUDGET, epochs=3, patience=None)


@pytest.fixture
def brief(tmp_path, monkeypatch, data_folder):
    """Short training, one network, one draw."""
    monkeypatch.setattr(trained_stability, "BUDGET", BRIEF)
    monkeypatch.setattr(trained_stability, "TRAINING_SEEDS", (SEED,))
    monkeypatch.setattr(trained_stability, "NOISE_SEEDS", (0,))
    monkeypatch.setattr(trained_stability, "TRAINED_ON", trained_stability.TRAINED_ON[2:])
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path))
    return tmp_path


def trained(model, graph, dataset, split, **values):
    """A network made without the engine."""
    config = FitConfig(lr=values.pop("lr"), weight_decay=values.pop("weight_decay"), epochs=3, patience=None)
    network = make_model(model, dataset.x.shape[1], 2, **values)
    fit(network, *network.prepare(dataset.x, graph), dataset.y, split.train, split.val, config=config, seed=SEED)
    return network


def test_networks_are_measured_as_they_were_trained(brief):
    STUDY.run(brief, "s2gnn study run trained-stability", ("cancer-b",), models=("gcn", "s2gnn-published"))
    s2gnn, gcn = STUDY.json(brief)["content"]["rows"]
    dataset, graph = dataset_graph(load_dataset("cancer-b"), "knn")
    split = dataset_split(dataset, SEED)
    noisy = ADDED.applied(graph, np.random.default_rng(0))

    def accuracy(logits):
        return np.mean(logits.argmax(1)[split.test] == dataset.y[split.test])

    def logits(network, on):
        return predict_logits(network, *network.prepare(dataset.x, on)).double().numpy()

    network = trained("gcn", graph, dataset, split, **chosen_values("table2-knn", "cancer-b", "gcn"))
    before, after = logits(network, graph), logits(network, noisy)
    centred = [values - values.mean(axis=1, keepdims=True) for values in (before, after)]
    last = gcn["noises"][-1]
    assert (last["kind"], last["level"]) == ("added", 0.5)
    expected = np.linalg.norm(centred[1] - centred[0]) / np.linalg.norm(centred[0])
    assert last["changes"][0][0] == pytest.approx(expected, rel=1e-3)
    assert last["accuracies"][0][0] == pytest.approx(accuracy(after), abs=1e-6)
    assert gcn["clean"][0] == accuracy(before)
    assert "branches" not in gcn

    values = dict(s2gnn["hyperparameters"]["model"])
    assert (s2gnn["source"], values["alpha"]) == ("published", 6)
    values |= {name: s2gnn["hyperparameters"][name] for name in ("lr", "weight_decay")}
    network = trained("s2gnn", graph, dataset, split, **values)
    for entry, on in ((s2gnn["branches"][0], graph), (s2gnn["branches"][-1], noisy)):
        np.testing.assert_allclose(
            entry["contributions"][0], branch_contributions(network, *network.prepare(dataset.x, on)), rtol=1e-3
        )
        with without_branch(network, 3):
            assert entry["without"][0][3] == pytest.approx(accuracy(logits(network, on)), abs=2e-3)
    again, *_ = s2gnn["trained_on"]
    network = trained("s2gnn", noisy, dataset, split, **values)
    assert again["accuracies"][0] == pytest.approx(accuracy(logits(network, noisy)), abs=2e-3)
    assert np.shape(again["weights"]) == (1, 2, 7)


def test_hyperparameters_are_those_that_the_search_found(brief):
    found, source = trained_stability._experiment(brief, "cancer-b", "gcn")
    assert (source, found.protocol) == ("searched", replace(FAIR, epochs=3))  # in the catalog
    better = replace(found, hyperparameters=found.hyperparameters.with_values({"lr": 0.0123}))
    append(brief / "table2-knn.jsonl", better, [90.0], budget="standard")
    found, source = trained_stability._experiment(brief, "cancer-b", "gcn")
    assert (found, source) == (replace(better, seeds=(SEED,)), "standard")
    assert trained_stability._depends_on(brief, "cancer-b", "gcn")["key"] == better.key
    _, source = trained_stability._experiment(brief, "cancer-b", "s2gnn-published")
    assert source == "published"
