import numpy as np
import pytest

from s2gnn import SobolevOperator, knn_graph
from s2gnn.estimator.new_rows import FrozenDegrees
from s2gnn.estimator.smoothing import (
    AMOUNT,
    new_row_weights,
    smoothed,
    smoothed_new,
    smoothing_operator,
    smoothing_weights,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
GRAPH = knn_graph(X, 5)
LABELLED = np.array([0, 3, 11, 30])
KNOWN = np.eye(2)[[0, 1, 0, 1]]
SIGNAL = RNG.dirichlet([1, 1], size=40)


def mean_operator(graph, alpha, epsilon):
    op = SobolevOperator(graph, alpha=alpha, epsilon=epsilon)
    return sum(op.matrix(rho).toarray() for rho in range(1, alpha + 1)) / alpha


@pytest.mark.parametrize(("alpha", "epsilon"), [(1, 1.0), (4, 0.5)])
def test_the_fixed_point_is_that_of_the_dense_equations(alpha, epsilon):
    S = mean_operator(GRAPH, alpha, epsilon)
    free = np.setdiff1d(np.arange(40), LABELLED)
    # F_u = a (S_uu F_u + S_ul Y) + (1 − a) Z_u
    left = np.eye(len(free)) - AMOUNT * S[np.ix_(free, free)]
    right = AMOUNT * S[np.ix_(free, LABELLED)] @ KNOWN + (1 - AMOUNT) * SIGNAL[free]
    found = smoothed(SIGNAL, smoothing_operator(GRAPH, alpha, epsilon), LABELLED, KNOWN)
    np.testing.assert_allclose(found[free], np.linalg.solve(left, right), atol=1e-4)
    np.testing.assert_array_equal(found[LABELLED], KNOWN)


def test_a_new_row_with_the_edges_of_a_training_row_gets_its_signal():
    """The equation of a row is the same whether it was in training or not, if degrees and neighbours are the same."""
    trained = smoothed(SIGNAL, smoothing_operator(GRAPH, 3, 1.0), LABELLED, KNOWN)
    rows = np.array([1, 7, 20])
    edges = GRAPH.to_scipy().tocsr()[rows]
    found = smoothed_new(SIGNAL[rows], trained, edges, FrozenDegrees.of(GRAPH, 3, 1.0))
    np.testing.assert_allclose(found, trained[rows], atol=1e-4)


def test_weights_say_what_another_label_would_change():
    rows = [5, 11]  # unlabelled, labelled
    operator = smoothing_operator(GRAPH, 3, 0.5)
    of_known, of_signal = smoothing_weights(np.eye(40)[rows], operator, LABELLED)
    before = smoothed(SIGNAL, operator, LABELLED, KNOWN)[rows]
    np.testing.assert_allclose(of_known @ KNOWN + of_signal @ SIGNAL, before, rtol=1e-12)
    for place in range(len(LABELLED)):
        changed = KNOWN.copy()
        changed[place] = [0.3, 0.2]
        after = smoothed(SIGNAL, operator, LABELLED, changed)[rows]
        expected = np.outer(of_known[:, place], (changed - KNOWN)[place])
        np.testing.assert_allclose(after - before, expected, atol=1e-14)


def test_weights_of_new_rows():
    trained = smoothed(SIGNAL, smoothing_operator(GRAPH, 3, 1.0), LABELLED, KNOWN)
    degrees = FrozenDegrees.of(GRAPH, 3, 1.0)
    edges = GRAPH.to_scipy().tocsr()[[1, 7]]
    rows, own = new_row_weights(edges, degrees)
    expected = smoothed_new(SIGNAL[[1, 7]], trained, edges, degrees)
    np.testing.assert_allclose(rows @ trained + own[:, None] * SIGNAL[[1, 7]], expected, rtol=1e-12)


def test_weak_labels_are_kept_in_part():
    """F = C Y + (I − C) (a S F + (1 − a) Z), solved as a linear system; strength 0 is no label."""
    S = mean_operator(GRAPH, 3, 0.5)
    strength = np.array([1.0, 0.4, 0.0, 0.8])
    keep, known = np.zeros((40, 1)), np.zeros((40, 2))
    keep[LABELLED, 0], known[LABELLED] = strength, KNOWN
    exact = np.linalg.solve(np.eye(40) - (1 - keep) * AMOUNT * S, keep * known + (1 - keep) * (1 - AMOUNT) * SIGNAL)
    operator = smoothing_operator(GRAPH, 3, 0.5)
    found = smoothed(SIGNAL, operator, LABELLED, KNOWN, strength=strength)
    np.testing.assert_allclose(found, exact, atol=1e-4)
    of_known, of_signal = smoothing_weights(np.eye(40)[[5, 3]], operator, LABELLED, strength=strength)
    np.testing.assert_allclose(of_known @ KNOWN + of_signal @ SIGNAL, found[[5, 3]], rtol=1e-12)
