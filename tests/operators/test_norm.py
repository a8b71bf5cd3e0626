import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2gnn import InputError
from s2gnn.operators import sobolev_inner, sobolev_norm, sobolev_term
from tests.random_graphs import graphs, random_graph
from tests.seed import seeded

moderate = graphs(weights=(1e-3, 1e2))
powers = st.integers(1, 6)
positive = st.sampled_from([0.01, 0.5, 1.0, 2.0])


def signals(g, seed, count):
    return np.random.default_rng(seeded(seed)).normal(size=(count, g.n_nodes))


@given(moderate, powers, st.sampled_from([0.0, 0.5, 2.0]))
def test_term_is_the_elementwise_power_of_the_dense_matrix(g, rho, epsilon):
    A = g.to_scipy().toarray()
    L = np.diag(A.sum(axis=1)) - A
    np.testing.assert_allclose(
        sobolev_term(g, rho, epsilon).toarray(), (L + epsilon * np.eye(g.n_nodes)) ** rho, rtol=1e-12
    )


@given(moderate, powers, positive, st.integers(0, 99), st.floats(-5, 5))
def test_norm_axioms_for_positive_epsilon(g, rho, epsilon, seed, scale):
    x, y = signals(g, seed, 2)
    norm_x, norm_y = (sobolev_norm(g, s, rho, epsilon) for s in (x, y))
    assert norm_x > 0
    assert sobolev_norm(g, 0 * x, rho, epsilon) == 0
    assert sobolev_norm(g, scale * x, rho, epsilon) == pytest.approx(abs(scale) * norm_x, rel=1e-9)
    assert sobolev_norm(g, x + y, rho, epsilon) <= (norm_x + norm_y) * (1 + 1e-12)


@given(moderate, powers, positive, st.integers(0, 99))
def test_inner_product_is_symmetric_linear_and_induces_the_norm(g, rho, epsilon, seed):
    x, y, z = signals(g, seed, 3)

    def inner(a, b):
        return sobolev_inner(g, a, b, rho, epsilon)

    size = max(sobolev_norm(g, s, rho, epsilon) for s in (x, y, z)) ** 2
    assert inner(x, y) == pytest.approx(inner(y, x), abs=1e-12 * size)
    assert inner(x, 2 * y - z) == pytest.approx(2 * inner(x, y) - inner(x, z), abs=1e-11 * size)
    assert sobolev_norm(g, x, rho, epsilon) ** 2 == pytest.approx(inner(x, x), rel=1e-12)


@given(moderate, powers, st.integers(0, 99))
def test_semi_norm_for_epsilon_zero(g, rho, seed):
    x, y = signals(g, seed, 2)
    norm_x, norm_y = (sobolev_norm(g, s, rho, 0.0) for s in (x, y))
    assert norm_x >= 0
    assert sobolev_norm(g, -3 * x, rho, 0.0) == pytest.approx(3 * norm_x, rel=1e-9)
    assert sobolev_norm(g, x + y, rho, 0.0) <= (norm_x + norm_y) * (1 + 1e-12) + 1e-12


def test_semi_norm_vanishes_on_a_signal_that_is_not_zero():
    g = random_graph(20)
    constant = np.ones(20)
    assert sobolev_norm(g, constant, 1, 0.0) == pytest.approx(0, abs=1e-6)
    assert sobolev_norm(g, constant, 1, 0.25) == pytest.approx(np.sqrt(0.25 * 20))


def test_the_inner_product_form_is_not_the_norm_of_a_half_power():
    """The paper equates the two; for Hadamard powers they differ already at ρ = 2."""
    g = random_graph(10)
    x = signals(g, 0, 1)[0]
    half_power = np.linalg.norm(sobolev_term(g, 1, 1.0) @ x)
    assert abs(sobolev_norm(g, x, 2, 1.0) - half_power) > 0.01 * half_power


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(4), 1, 1.0), r"x has shape \(4,\), but the graph has 5 nodes"),
        ((np.ones(5), 0, 1.0), "rho is 0"),
        ((np.ones(5), 0.5, 1.0), "rho is 0.5"),
        ((np.ones(5), 1, -1.0), "epsilon is -1.0"),
    ],
)
def test_unusable_input(arguments, message):
    with pytest.raises(InputError, match=message):
        sobolev_norm(random_graph(5), *arguments)
