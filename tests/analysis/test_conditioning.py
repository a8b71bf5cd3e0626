from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from s2gnn import Graph, knn_graph
from s2gnn.analysis import conditioning, is_definite
from s2gnn.operators import sobolev_term
from tests.random_graphs import graphs


def exact_power(graph, rho, epsilon, shift):
    """A rational matrix congruent to (M + εI)^(ρ): of the normalised adjacency matrix, (A + εD)^(ρ)."""
    A = [[Fraction(float(value)) for value in row] for row in graph.to_scipy().toarray()]
    degrees, epsilon = [sum(row) for row in A], Fraction(epsilon)
    for i, degree in enumerate(degrees):
        if shift == "laplacian":
            A[i] = [-value for value in A[i]]
            A[i][i] = degree + epsilon
        else:
            A[i][i] = epsilon * degree if degree else epsilon
    return [[value**rho for value in row] for row in A]


def is_exactly_definite(matrix):
    """Whether all pivots of LDLᵀ, in rational arithmetic, are positive."""
    rows = [list(row) for row in matrix]
    for k, pivot in enumerate(rows):
        if pivot[k] <= 0:
            return False
        for row in rows[k + 1 :]:
            factor = row[k] / pivot[k]
            row[k:] = [value - factor * above for value, above in zip(row[k:], pivot[k:], strict=True)]
    return True


STAR = Graph.from_edge_list([(0, i) for i in range(1, 7)], [1e3, 1e3, 1e3, 1.0, 1e-3, 1e-3])
PAIR = Graph.from_edge_list([(0, 1)], [0.3])


@settings(max_examples=150)
@given(
    graphs(max_nodes=7, weights=(1e-3, 1e3)),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0]),
    st.sampled_from(["laplacian", "normalized_adjacency"]),
)
@example(STAR, 5, 0.1, "laplacian")
@example(PAIR, 5, 0.0, "laplacian")
def test_definiteness_is_that_of_exact_arithmetic(graph, rho, epsilon, shift):
    exact = is_exactly_definite(exact_power(graph, rho, epsilon, shift))
    assert is_definite(graph, rho, epsilon, shift) == exact
    if shift == "laplacian" and epsilon > 0:
        assert exact  # as the paper says


def test_definiteness_is_known_where_the_condition_number_is_beyond_rounding():
    found = conditioning(STAR, (1, 5), (0.1,))
    assert found.definite.all()
    assert np.isfinite(found.numbers[0, 0])
    assert found.numbers[1, 0] == np.inf


def test_definite_where_the_paper_says_and_as_conditioned_as_the_dense_matrix():
    graph = knn_graph(np.random.default_rng(0).normal(size=(60, 4)), k=6)
    found = conditioning(graph, (1, 2, 3), (0.0, 0.1, 2.0))
    assert found.definite[:, 1:].all()
    assert not found.definite[0, 0]
    assert found.numbers[0, 0] == np.inf
    for row, rho in enumerate(found.orders):
        assert found.numbers[row, 2] == pytest.approx(np.linalg.cond(sobolev_term(graph, rho, 2.0).toarray()))
    normalised = conditioning(graph, (1, 2, 3), (0.5, 1.01), "normalized_adjacency")
    assert normalised.definite[:, 1].all()
    bipartite = Graph.from_edge_index([[0, 1], [1, 0]], n_nodes=2)
    assert not conditioning(bipartite, (1,), (0.5,), "normalized_adjacency").definite.any()


def test_lanczos_finds_the_same_ends():
    graph = knn_graph(np.random.default_rng(0).normal(size=(60, 4)), k=6)
    exact = conditioning(graph, (1, 2), (0.5,))
    lanczos = conditioning(graph, (1, 2), (0.5,), exact_nodes=10)
    np.testing.assert_allclose(lanczos.smallest, exact.smallest, rtol=1e-6)
    np.testing.assert_allclose(lanczos.largest, exact.largest, rtol=1e-6)
    assert lanczos.definite.all()
