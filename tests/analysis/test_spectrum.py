import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from s2gnn import Graph, InputError, SobolevOperator, knn_graph
from s2gnn.analysis import kronecker_form, penalisation
from s2gnn.analysis.spectrum import spectral_quantiles
from tests.dense import shift


def laplacian(graph):
    return shift(graph.to_scipy().toarray(), "laplacian")


@pytest.fixture(scope="module")
def graph():
    return knn_graph(np.random.default_rng(0).normal(size=(60, 4)), k=6)


def test_penalisation_is_that_of_the_dense_matrices(graph):
    found = penalisation(graph)
    L = laplacian(graph)
    for row, rho in enumerate(found.orders):
        regular = np.sort(np.linalg.eigvalsh(np.linalg.matrix_power(L, rho)))
        sparse = np.sort(np.linalg.eigvalsh(L**rho))
        np.testing.assert_allclose(found.regular[row], regular / regular[-1], atol=1e-10)
        np.testing.assert_allclose(found.sparse[row], sparse / sparse[-1], atol=1e-10)
        expected = stats.wasserstein_distance(regular / regular[-1], sparse / sparse[-1])
        assert found.distances[row] == pytest.approx(expected, abs=1e-10)
    assert found.distances[0] == 0
    assert found.correlations[0] == pytest.approx(1)
    assert found.method == "decomposition"


def test_large_graphs_have_nearly_the_same_curves_by_kernel_polynomials():
    graph = knn_graph(np.random.default_rng(1).normal(size=(900, 5)), k=10)
    exact, approximate = penalisation(graph, (1, 3)), penalisation(graph, (1, 3), exact_nodes=100)
    assert approximate.method == "kernel polynomials"
    for row in range(2):
        for curves in ("regular", "sparse"):
            at = np.interp(exact.shares, approximate.shares, getattr(approximate, curves)[row])
            assert np.abs(at - getattr(exact, curves)[row]).mean() < 0.01


def test_quantiles_of_a_known_spectrum():
    values = np.linspace(-1, 3, 2000)
    shares = np.linspace(0.05, 0.95, 19)
    found = spectral_quantiles(sp.diags_array(values).tocsr(), shares, -1, 3)
    np.testing.assert_allclose(found, -1 + 4 * shares, atol=0.02)
    with pytest.raises(InputError, match="must have a width"):
        spectral_quantiles(sp.eye_array(3).tocsr(), shares, 1, 1)


@pytest.mark.parametrize("rho", [2, 3, 4])
def test_theorem_2_and_the_interlacing_it_implies(graph, rho):
    form = kronecker_form(graph, rho)
    assert form.error < 1e-12
    assert form.interlaces
    kronecker = np.kron(laplacian(graph), laplacian(graph) ** (rho - 1))
    values = np.linalg.eigvalsh(kronecker)
    np.testing.assert_allclose(form.lower, values[:60], atol=1e-8 * values[-1])
    np.testing.assert_allclose(form.upper, values[-60:], atol=1e-8 * values[-1])
    np.testing.assert_allclose(form.eigenvalues, np.linalg.eigvalsh(laplacian(graph) ** rho), atol=1e-10)


def test_the_eigenvalues_of_a_hadamard_power_are_not_products(graph):
    form = kronecker_form(graph, 2)
    squares = np.linalg.eigvalsh(laplacian(graph)) ** 2
    assert np.abs(form.eigenvalues - squares).max() > 0.1


def test_what_has_no_spectrum_is_refused(graph):
    with pytest.raises(InputError, match="the graph has no edges"):
        penalisation(Graph.from_edge_index(np.empty((2, 0), dtype=int), n_nodes=3))
    with pytest.raises(InputError, match=r"orders is \(0,\)"):
        penalisation(graph, (0,))
    with pytest.raises(InputError, match="rho is 1, but a Kronecker form needs rho >= 2"):
        kronecker_form(graph, 1)
    with pytest.raises(InputError, match="at most 300"):
        kronecker_form(knn_graph(np.random.default_rng(0).normal(size=(301, 2)), k=2), 2)


def test_a_node_without_an_edge_strongest_at_both_ends_loses_its_row_at_high_powers():
    path = Graph.from_edge_list([(0, 1), (1, 2)], weights=[0.5, 2.0])
    expected = [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    limit = SobolevOperator(path, alpha=40, epsilon=0.1).matrix(40).toarray()
    np.testing.assert_allclose(limit, expected, atol=1e-6)
