import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from s2gnn import Graph, InputError, S2GNNClassifier, S2GNNRegressor, knn_graph
from s2gnn.labelling import STRATEGIES, suggest
from s2gnn.labelling.strategies import Known, margins, suggest_rows


def clusters(sizes, distance=20.0):
    """Points in tight clusters far from each other, and the cluster of each."""
    rng = np.random.default_rng(0)
    members = np.repeat(np.arange(len(sizes)), sizes)
    return np.stack([members * distance, np.zeros(len(members))], axis=1) + rng.normal(size=(len(members), 2)), members


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_suggestions_are_distinct_unlabelled_and_allowed(strategy):
    X, _ = clusters([20, 20])
    p = np.random.default_rng(1).dirichlet([1, 1, 1], size=40)
    known = Known(knn_graph(X, 5), np.array([0, 20]), p)
    rows = suggest_rows(known, 100, strategy=strategy, without=np.array([1, 2, 3]))
    assert sorted(rows.tolist()) == sorted(set(range(40)) - {0, 1, 2, 3, 20})
    np.testing.assert_array_equal(suggest_rows(known, 6, strategy=strategy, without=np.array([1, 2, 3])), rows[:6])


def test_coverage_visits_every_cluster_but_those_with_labels():
    X, members = clusters([9, 6, 8, 7])
    graph = knn_graph(X, 5)
    assert sorted(members[suggest_rows(Known(graph, np.array([], dtype=int)), 4)].tolist()) == [0, 1, 2, 3]
    rows = suggest_rows(Known(graph, np.flatnonzero(members == 0)[:3]), 3)
    assert sorted(members[rows].tolist()) == [1, 2, 3]


def test_uncertainty_takes_the_smallest_margins():
    X = np.arange(30.0)[:, None] ** 1.5
    p = np.full((30, 2), [0.9, 0.1])
    p[[3, 17, 28]] = [[0.55, 0.45], [0.5, 0.5], [0.6, 0.4]]
    rows = suggest_rows(Known(knn_graph(X, 2), np.array([0]), p), 3, strategy="uncertain")
    assert rows.tolist() == [17, 3, 28]


@pytest.mark.parametrize("strategy", ["uncertain", "change", "auto"])
def test_a_batch_is_not_a_heap_of_near_duplicates(strategy):
    X, members = clusters([30, 30, 30, 30])
    X[members == 0] = X[members == 0] * 1e-3
    p = np.where((members == 0)[:, None], [0.5, 0.5], [0.7, 0.3])
    rows = suggest_rows(Known(knn_graph(X, 10), np.array([], dtype=int), p), 8, strategy=strategy)
    assert np.sum(members[rows] == 0) <= 4
    assert len(set(members[rows])) == 4


def test_expected_change_weighs_uncertainty_by_influence():
    """A star: its centre is every leaf's only neighbour, so that its label changes more than that of a leaf."""
    star = sp.csr_array(([1.0] * 12, ([0] * 6 + list(range(1, 7)), list(range(1, 7)) + [0] * 6)), shape=(7, 7))
    p = np.full((7, 2), 0.5)
    known = Known(Graph.from_scipy(star), np.array([], dtype=int), p)
    assert suggest_rows(known, 1, strategy="change").tolist() == [0]
    p[0] = [1, 0]  # nothing to learn there
    assert suggest_rows(known, 1, strategy="change")[0] != 0


def test_margins_of_known_probabilities():
    np.testing.assert_allclose(margins(np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])), [0.2, 1.0])


def test_random_depends_on_its_seed_and_the_labels():
    known = Known(knn_graph(clusters([20, 20])[0], 5), np.array([0]))
    first, again, other = (suggest_rows(known, 10, strategy="random", seed=seed).tolist() for seed in (0, 0, 1))
    assert first == again != other


def test_a_fitted_classifier_suggests_rows_between_the_classes():
    X, y = load_iris(return_X_y=True)
    labels = np.where(np.arange(150) % 10 == 0, y, -1)
    classifier = S2GNNClassifier(network="s2gnn", random_state=0).fit(X, labels)
    rows = suggest(classifier, 8)
    assert not np.isin(rows, classifier.labelled_).any()
    assert np.sum(y[rows] == 0) <= 2  # setosa is far from the other two species


def test_bad_input_is_refused():
    X, _ = clusters([5, 5])
    known = Known(knn_graph(X, 3), np.array([0]))
    with pytest.raises(InputError, match="n is 0, but at least one row"):
        suggest_rows(known, 0)
    with pytest.raises(InputError, match="there is no strategy 'uncertainty': did you mean 'uncertain'"):
        suggest_rows(known, 1, strategy="uncertainty")
    regressor = S2GNNRegressor(network="s2gnn", max_epochs=1).fit(X, np.arange(10.0))
    with pytest.raises(InputError, match="suggestions need an S2GNNClassifier"):
        suggest(regressor, 1)
