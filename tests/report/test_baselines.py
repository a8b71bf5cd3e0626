from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.semi_supervised import LabelSpreading

from s2gnn import Graph
from s2gnn.report import baselines
from s2gnn.report.baselines import CONSTANT, FOREST, LINEAR, NEIGHBOURS, OURS, SPREADING, compare
from tests.report.conftest import changed


def test_every_method_on_the_same_hidden_labels(classifier):
    progress = []
    found = compare(classifier.model, progress.append)
    assert progress == pytest.approx([1 / 3, 2 / 3, 1])
    assert [method.name for method in found.methods] == [
        OURS, LINEAR, FOREST, NEIGHBOURS, SPREADING, CONSTANT,
    ]  # fmt: skip
    estimator = classifier.model.estimator
    truth = estimator.evaluation_.targets
    ours, *_, constant = found.methods
    assert found.n == 30
    assert ours.score == pytest.approx(np.mean(estimator.evaluation_.answers.argmax(axis=1) == truth))
    assert all(method.low <= method.score <= method.high for method in found.methods)
    assert all(method.score > 0.6 for method in found.methods[:-1])
    assert constant.score == np.mean(truth == np.bincount(estimator.targets_).argmax()) < 0.5
    assert constant.p < 0.05


def test_errors_of_values(regressor):
    found = regressor.comparison
    assert not found.classifies
    assert found.n == 100
    ours, *_, constant = found.methods
    assert ours.low < ours.score < ours.high
    assert ours.score < constant.score


class Recorder:
    """A model that records what it learns from and predicts for."""

    def __init__(self, seen):
        self.seen = seen

    def fit(self, features, targets):
        self.seen.append([features, targets])
        return self

    def predict(self, features):
        self.seen[-1].append(features)
        return np.zeros(len(features), dtype=int)


def test_hidden_labels_play_no_part(classifier, monkeypatch):
    """The baselines see a fold's rows without its labels."""
    model, seen, spread_from = classifier.model, [], []
    features, labelled = model.estimator.features_, model.estimator.labelled_
    monkeypatch.setattr(baselines, "simple_models", lambda *_, **__: {LINEAR: Recorder(seen)})
    monkeypatch.setattr(
        baselines, "_spread", lambda model, known, targets: spread_from.append(known) or np.zeros(model.n_rows, int)
    )
    compare(model)
    hidden = model.estimator.evaluation_
    for fold, ((known, _, rows), spread) in enumerate(zip(seen, spread_from, strict=True)):
        in_fold = hidden.rows[hidden.folds == fold]
        np.testing.assert_array_equal(rows, features[in_fold])
        np.testing.assert_array_equal(spread, np.setdiff1d(labelled, in_fold))
        np.testing.assert_array_equal(known, features[spread])


def test_label_spreading_is_scikit_learns(classifier):
    model, estimator = classifier.model, classifier.model.estimator
    adjacency = estimator.graph_.to_scipy().toarray()
    partial = np.full(150, -1)
    partial[estimator.labelled_] = estimator.targets_
    theirs = LabelSpreading(kernel=lambda *_: adjacency, max_iter=30).fit(estimator.features_, partial)
    ours = baselines._spread(model, estimator.labelled_, estimator.targets_)
    np.testing.assert_array_equal(ours, theirs.transduction_)


def test_spread_values_are_means_of_known_ones():
    graph = Graph.from_edge_list([(0, 1), (1, 2), (3, 4)])
    model = SimpleNamespace(classes=None, estimator=SimpleNamespace(graph_=graph))
    spread = baselines._spread(model, np.array([0, 2]), np.array([4.0, 8.0]))
    assert spread[1] == pytest.approx(6.0)  # equally close to both
    assert 4.0 < spread[0] < 4.5
    assert spread[3:].tolist() == [6.0, 6.0]  # the median, because no value reaches these


def test_the_p_value_is_mcnemars():
    truth = np.zeros(20, dtype=int)
    ours, other = (np.arange(20) < 4).astype(int), (np.arange(20) < 10).astype(int)
    assert baselines._accuracy(truth, ours, ours)[::3] == (0.8, None)
    assert baselines._accuracy(truth, other, ours)[::3] == (0.5, pytest.approx(2 * binom.cdf(0, 6, 0.5)))
    assert baselines._accuracy(truth, ours.copy(), ours)[3] == 1.0


def test_without_hidden_labels_there_is_nothing_to_compare(classifier):
    assert compare(changed(classifier.model, evaluation_=None)) is None
