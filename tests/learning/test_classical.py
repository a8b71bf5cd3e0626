import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import semi_supervised
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from s2gnn import Graph, InputError, knn_graph
from s2gnn.learning.classical import CLASSICAL, SVM, LabelSpreading, classical_defaults, make_classical
from tests.random_graphs import random_graph


@pytest.fixture(scope="module")
def digits():
    images, y = load_digits(n_class=4, return_X_y=True)
    return images[:300], y[:300], knn_graph(images[:300], k=8), np.arange(40)


@pytest.mark.parametrize("alpha", [0.2, 0.9])
def test_label_spreading_is_scikit_learn_s_with_the_adjacency_matrix_as_kernel(digits, alpha):
    X, y, graph, train = digits
    partial = np.full_like(y, -1)
    partial[train] = y[train]
    A = graph.to_scipy().toarray()
    reference = semi_supervised.LabelSpreading(kernel=lambda X, _=None: A, alpha=alpha, max_iter=300)
    expected = reference.fit(X, partial).label_distributions_
    scores = LabelSpreading(alpha=alpha, max_iter=300).fit_predict(X, graph, y, train, seed=0)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)


def test_label_spreading_converges_to_the_closed_form():
    graph = random_graph(25)
    y = np.arange(25) % 3
    A = graph.to_scipy().toarray()
    root = np.diag(A.sum(axis=1) ** -0.5)
    labels = np.eye(3)[y] * (np.arange(25) < 6)[:, None]
    limit = np.linalg.solve(np.eye(25) - 0.7 * root @ A @ root, labels)
    scores = LabelSpreading(0.7, max_iter=1000, tol=1e-13).fit_predict(None, graph, y, np.arange(6), seed=0)
    np.testing.assert_allclose(scores, limit / limit.sum(axis=1, keepdims=True), rtol=1e-9)


def test_nodes_that_no_label_reaches_score_zero():
    graph = Graph.from_edge_list([(0, 1), (2, 3)], n_nodes=5)
    scores = LabelSpreading().fit_predict(None, graph, [1, 0, 0, 0, 0], [0], seed=0)
    np.testing.assert_allclose(scores, [[0, 1], [0, 1], [0, 0], [0, 0], [0, 0]])


def test_svm_is_scikit_learn_s(digits):
    X, y, graph, train = digits
    scores = SVM().fit_predict(X, graph, y, train, seed=0)
    reference = make_pipeline(StandardScaler().fit(X), SVC())
    reference[-1].fit(reference[0].transform(X[train]), y[train])
    assert scores.shape == (300, 4)
    np.testing.assert_array_equal(scores.argmax(axis=1), reference.predict(X))
    sparse = SVM().fit_predict(sp.csr_array(X), graph, y, train, seed=3)
    np.testing.assert_array_equal(
        sparse.argmax(axis=1), LinearSVC(random_state=3).fit(sp.csr_matrix(X[train]), y[train]).predict(X)
    )
    long = sp.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    np.testing.assert_array_equal(SVM().fit_predict(long, graph, y, train, seed=3), sparse)


def test_svm_on_two_classes_and_on_classes_without_a_label(digits):
    X, y, graph, _ = digits
    train = np.flatnonzero((y == 1) | (y == 3))[:30]
    scores = SVM().fit_predict(X, graph, y, train, seed=0)
    assert scores.shape == (300, 4)
    rest = np.setdiff1d(np.flatnonzero((y == 1) | (y == 3)), train)
    assert (scores.argmax(axis=1)[rest] == y[rest]).mean() > 0.9
    assert (scores[:, [0, 2]] < scores[:, [1, 3]].min()).all()


@pytest.mark.parametrize("name", CLASSICAL)
def test_labels_outside_training_are_not_used_and_chance_is_beaten(digits, name):
    X, y, graph, train = digits
    baseline = CLASSICAL[name]()
    scores = baseline.fit_predict(X, graph, y, train, seed=0)
    assert (scores.argmax(axis=1)[40:] == y[40:]).mean() > 0.8
    shuffled = y.copy()
    shuffled[40:] = np.random.default_rng(0).permutation(y[40:])
    np.testing.assert_array_equal(baseline.fit_predict(X, graph, shuffled, np.arange(300) < 40, seed=0), scores)


def test_unusable_input():
    graph, X = random_graph(4), np.ones((4, 2))
    y = np.array([0, 1, 0, 1])
    for baseline in (LabelSpreading(), SVM()):
        with pytest.raises(InputError, match=r"y has shape \(4, 2\)"):
            baseline.fit_predict(X, graph, np.eye(4, 2, dtype=int), [0], 0)
        with pytest.raises(InputError, match="train names nodes 0..9, but nodes are 0..3"):
            baseline.fit_predict(X, graph, y, [0, 9], 0)
        with pytest.raises(InputError, match=r"train has shape \(0,\)"):
            baseline.fit_predict(X, graph, y, [], 0)
        with pytest.raises(InputError, match="a training node has the label -1"):
            baseline.fit_predict(X, graph, y - 1, [0, 1], 0)
    with pytest.raises(InputError, match="all of class 0"):
        SVM().fit_predict(X, graph, y, [0, 2], 0)
    with pytest.raises(InputError, match="x has 3 rows, but the graph has 4 nodes"):
        SVM().fit_predict(X[:3], graph, y, [0, 1], 0)
    with pytest.raises(InputError, match="alpha is 1.0"):
        LabelSpreading(alpha=1.0)
    with pytest.raises(InputError, match="C is 0"):
        SVM(C=0)


def test_baselines_by_name():
    assert make_classical("label-spreading", alpha=0.9) == LabelSpreading(alpha=0.9)
    assert make_classical("svm", **classical_defaults("svm")) == SVM()
    with pytest.raises(InputError, match="svm has no hyperparameter 'alpha': allowed are C"):
        make_classical("svm", alpha=0.9)
    with pytest.raises(InputError, match="alpha is 'much', but it must be a number"):
        make_classical("label-spreading", alpha="much")
