import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from s2gnn import Graph
from s2gnn.operators import matrix_power
from s2gnn.operators.matrix_power import matrix_powers, power_factors
from tests.random_graphs import graphs, random_graph
from tests.seed import seeded


def dense(graph, rho, epsilon):
    """D_ρ^-1/2 (A + εI)^ρ D_ρ^-1/2 by the formula, the power and its row sums as exact fractions."""
    n = graph.n_nodes
    shifted = graph.to_scipy().toarray() + epsilon * np.eye(n)
    A = np.array([[Fraction(float(value)) for value in row] for row in shifted], dtype=object).reshape(n, n)
    power = np.linalg.matrix_power(A, rho)
    degrees = power.sum(axis=1)
    S = np.zeros((n, n))
    for i, j in zip(*np.nonzero(power), strict=True):
        S[i, j] = math.sqrt(power[i, j] * power[i, j] / (degrees[i] * degrees[j]))
    return S


@given(graphs(max_nodes=8), st.integers(1, 6), st.sampled_from([0.0, 0.5, 1.5]))
def test_the_factors_multiply_to_the_normalised_power(graph, alpha, epsilon):
    for rho, factors in enumerate(power_factors(graph, alpha, epsilon), start=1):
        assert len(factors) == rho
        product = factors[0].toarray()
        for factor in factors[1:]:
            product = product @ factor.toarray()
        np.testing.assert_allclose(product, dense(graph, rho, epsilon), rtol=1e-11, atol=1e-200)
        for factor, mirrored in zip(factors, reversed(factors), strict=True):
            assert np.array_equal(factor.toarray().T, mirrored.toarray())
            assert factor.nnz == 0 or 0 <= factor.data.min() <= factor.data.max() <= 1 + 1e-12


@given(graphs(max_nodes=8), st.sampled_from([0.0, 1.5]), st.sampled_from([torch.float32, torch.float64]))
def test_both_forms_multiply_as_the_formula_in_either_precision(graph, epsilon, dtype):
    h = torch.randn(graph.n_nodes, 3, dtype=dtype, generator=torch.Generator().manual_seed(seeded(0)))
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-11}[dtype]
    for factored, share in ((True, math.inf), (False, 0.0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(matrix_power, "SPARSE_BELOW", share)
            powers = matrix_powers(graph, 4, epsilon, h)
        for rho, S in enumerate(powers, start=1):
            expected = torch.from_numpy(dense(graph, rho, epsilon)) @ h.double()
            torch.testing.assert_close((S @ h).double(), expected, rtol=tolerance, atol=tolerance)
            # Without an entry there is nothing to save by a dense matrix.
            assert len(S.factors) == (rho if factored else 1) or graph.n_edges == 0


def test_a_product_of_factors_is_differentiated_as_its_matrix():
    graph = random_graph(30, 0.02)
    powers = matrix_powers(graph, 3, 0.7, torch.empty(0, dtype=torch.float64))
    for rho, S in enumerate(powers, start=1):
        assert [factor._nnz() for factor in S.factors] == [2 * graph.n_edges + 30] * rho
    h = torch.randn(30, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda signal: powers[2] @ signal, h)


def test_the_cheaper_form_is_taken():
    sparse, full = random_graph(60, 0.02), random_graph(12, 0.9)
    like = torch.empty(0)
    costs = [rho * (2 * sparse.n_edges + 60) <= 0.2 * 60**2 for rho in range(1, 7)]
    assert True in costs
    assert False in costs
    for cheap, (rho, S) in zip(costs, enumerate(matrix_powers(sparse, 6, 1.0, like), start=1), strict=True):
        assert len(S.factors) == (rho if cheap else 1)
    assert [len(S.factors) for S in matrix_powers(full, 2, 1.0, like)] == [1, 1]


def test_weights_that_overflow_when_multiplied():
    huge = Graph.from_edge_list([(0, 1), (1, 2)], [1e200, 1e-200])
    for factors in power_factors(huge, 5, 1.0):
        assert all(np.isfinite(factor.data).all() for factor in factors)
