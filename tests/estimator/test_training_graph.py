import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from s2gnn import Graph, IdenticalBranchesWarning, InputError, S2GNNClassifier, knn_graph, smooth_graph
from s2gnn.estimator import load_estimator, save_estimator
from s2gnn.estimator.training_graph import GaussianAttachment, learned_weights, training_graph
from s2gnn.graphs.features import squared_distances


@pytest.fixture(scope="module")
def wine():
    return scale(load_wine().data)


def test_gaussian_edges_are_those_of_the_graph_before_it_is_symmetric(wine):
    graph, attachment = training_graph("knn", wine, 7)
    edges = attachment.edges(wine, graph.degrees, wine[:10] + 1e-9).toarray()
    edges[np.arange(10), np.arange(10)] = 0  # the row itself, which training leaves out
    expected = knn_graph(wine, 7).to_scipy().toarray()[:10]
    listed = edges > 0
    assert listed.sum(axis=1).tolist() == [6] * 10  # the seventh place is the row's own
    np.testing.assert_allclose(edges[listed], expected[listed], rtol=1e-6)


def test_a_training_row_gets_its_learned_weights_again(wine):
    infos = []
    graph = smooth_graph(wine, 8, tolerance=1e-9, threshold=1e-9, candidates="all", report=infos.append)
    others = ~np.eye(len(wine), dtype=bool)
    z = squared_distances(wine, *(part.ravel() for part in np.indices(others.shape))).reshape(others.shape)
    degrees = np.broadcast_to(graph.degrees, others.shape)
    n = len(wine)
    weights = learned_weights((infos[0].theta * z)[others].reshape(n, n - 1), degrees[others].reshape(n, n - 1))
    np.testing.assert_allclose(weights, graph.to_scipy().toarray()[others].reshape(n, n - 1), atol=1e-5)


def test_learned_weights_minimise_the_objective_of_one_row():
    rng = np.random.default_rng(0)
    z, degrees = rng.uniform(0, 2, (5, 9)), rng.uniform(0.5, 3, (5, 9))
    for row, (scaled, degree) in enumerate(zip(z, degrees, strict=True)):

        def objective(w, scaled=scaled, degree=degree):
            return 2 * scaled @ w - np.log(w.sum()) - (w / degree).sum() + w @ w

        best = minimize(objective, np.full(9, 0.1), bounds=[(1e-12, None)] * 9, tol=1e-14)
        np.testing.assert_allclose(learned_weights(z, degrees)[row], best.x, atol=2e-4)
    degrees[0, np.argmin(z[0])] = 0.0
    assert learned_weights(z, degrees)[0, np.argmin(z[0])] == 0


def test_edges_added_to_a_graph_of_other_weights_have_its_degrees(wine):
    graph, attachment = training_graph(lambda X: 40 * knn_graph(X, 5).to_scipy(), wine, 5)
    assert isinstance(attachment, GaussianAttachment)
    rng = np.random.default_rng(0)
    new = wine + 0.01 * rng.normal(size=wine.shape)
    degrees = attachment.edges(wine, graph.degrees, new).sum(axis=1)
    assert 0.5 < np.mean(degrees) / np.mean(graph.degrees) < 2


@pytest.mark.parametrize("form", [lambda graph: graph, lambda graph: graph.to_scipy()], ids=["Graph", "SciPy"])
def test_a_given_graph_is_a_parameter_like_any_other(wine, form, tmp_path):
    graph = knn_graph(wine, 5)
    y = np.where(np.arange(178) % 6 == 0, load_wine().target, -1)
    quick = {"max_epochs": 5, "random_state": 0}
    classifier = S2GNNClassifier(form(graph), **quick).fit(wine, y)
    passed = S2GNNClassifier("precomputed", **quick).fit(wine, y, adjacency=graph)
    assert classifier.graph_ == graph
    np.testing.assert_array_equal(classifier.label_distributions_, passed.label_distributions_)
    np.testing.assert_array_equal(classifier.predict_proba(wine + 0.1), passed.predict_proba(wine + 0.1))
    copies = [clone(classifier), pickle.loads(pickle.dumps(classifier))]
    save_estimator(classifier, tmp_path / "model")
    assert "The edges were given" in (tmp_path / "model" / "README.md").read_text()
    for copy in (*copies, load_estimator(tmp_path / "model")[0]):
        assert Graph(copy.graph if sp.issparse(copy.graph) else copy.graph.to_scipy()) == graph
        np.testing.assert_array_equal(copy.fit(wine, y).label_distributions_, classifier.label_distributions_)
    with pytest.raises(InputError, match="graph has 178 nodes, but X has 100 rows: a graph has one node per row"):
        classifier.fit(wine[:100], y[:100])
    with pytest.raises(InputError, match=r'requires graph="precomputed", but graph is a (Graph|csr_array): omit it'):
        classifier.fit(wine, y, adjacency=graph)


def test_an_unweighted_graph_gives_one_warning(wine):
    graph = knn_graph(wine, 5).to_scipy()
    graph.data[:] = 1
    labels = np.where(np.arange(len(wine)) % 8 == 0, load_wine().target, -1)
    estimator = S2GNNClassifier(graph=graph, max_epochs=2, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(wine, labels).explain(3)
        estimator.predict(wine + 0.01)
    assert [(found.category, found.filename) for found in caught] == [(IdenticalBranchesWarning, __file__)]
    assert "all edges of the graph have the same weight" in str(caught[0].message)


def test_other_graphs_are_refused(wine):
    with pytest.raises(InputError, match=r"graph is 3, but it must be one of knn, smooth, precomputed, a Graph, a Sci"):
        S2GNNClassifier(graph=3).fit(wine, load_wine().target)
