import numpy as np
import pytest
from sklearn.datasets import load_iris

from s2gnn import InputError, S2GNNClassifier, S2GNNRegressor, knn_graph
from s2gnn.analysis import dropped_edges
from s2gnn.estimator.other_graph import on_graph
from s2gnn.learning import predict_logits

QUICK = {"max_epochs": 10, "n_networks": 2, "random_state": 0}
X, Y = load_iris(return_X_y=True)
LABELS = np.where(np.arange(150) % 5 == 0, Y, -1)


@pytest.mark.parametrize("graph", ["knn", "smooth"])
def test_the_same_graph_gives_the_same_answers(graph):
    classifier = S2GNNClassifier(graph, **QUICK).fit(X, LABELS)
    same = on_graph(classifier, classifier.graph_)
    np.testing.assert_allclose(same.label_distributions_, classifier.label_distributions_, atol=1e-6)
    np.testing.assert_allclose(same.predict_proba(X + 0.01), classifier.predict_proba(X + 0.01), atol=1e-6)


def test_another_graph_is_what_the_networks_see():
    classifier = S2GNNClassifier(**QUICK).fit(X, LABELS)
    before = classifier.predict_proba(X + 0.01)
    noisy = dropped_edges(classifier.graph_, 0.5, np.random.default_rng(0))
    other = on_graph(classifier, noisy)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    logits = [predict_logits(model, *model.prepare(scaled, noisy)).numpy() for model in classifier.networks_]
    probabilities = np.mean([np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) for z in logits], axis=0)
    np.testing.assert_allclose(other.label_distributions_, probabilities, atol=1e-5)
    assert other.graph_ == noisy
    assert np.abs(other.predict_proba(X + 0.01) - before).max() > 1e-3
    np.testing.assert_array_equal(classifier.predict_proba(X + 0.01), before)
    assert classifier.graph_ != noisy


def test_a_regressor_and_a_graph_of_other_rows():
    regressor = S2GNNRegressor(**QUICK).fit(X, np.where(LABELS < 0, np.nan, Y + 0.5))
    np.testing.assert_allclose(on_graph(regressor, regressor.graph_).transduction_, regressor.transduction_, atol=1e-5)
    with pytest.raises(InputError, match="the graph has 20 nodes, but the estimator was trained on 150 rows"):
        on_graph(regressor, knn_graph(X[:20], 3))
