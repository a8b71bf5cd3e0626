import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2gnn import InputError
from s2gnn.analysis import (
    conditioning,
    kronecker_form,
    laplacian_bound,
    noise,
    penalisation,
    perturbation,
    stability_bound,
)
from tests.random_graphs import random_graph


def example(seed, n=10, p=0.3, snr=20.0, sign=0):
    """An Erdős–Rényi graph and perturbations as in the paper's appendix; `sign` makes E of one sign."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < p, 1).astype(float)
    A += A.T
    E = perturbation(A, snr, rng)
    if sign:
        E = sign * np.abs(E)
    X, W = rng.normal(size=(n, 16)), rng.normal(size=(16, 2))
    return A, E, X, W, W + noise(W, snr, rng)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 10**6),
    st.floats(0.1, 0.9),
    st.floats(0, 40),
    st.sampled_from([-1, 0, 1]),
    st.integers(1, 4),
    st.floats(0, 10),
)
def test_the_full_bound_always_holds(seed, p, snr, sign, rho, epsilon):
    found = stability_bound(*example(seed, p=p, snr=snr, sign=sign), rho, epsilon)
    assert found.distance <= found.full * (1 + 1e-12)
    lemma = laplacian_bound(*example(seed, p=p, snr=snr, sign=sign)[:2], rho, epsilon)
    assert lemma.distance <= lemma.full * (1 + 1e-12)


def test_the_printed_lemma_fails_when_weight_is_taken_away():
    found = [laplacian_bound(*example(seed, sign=-1)[:2], 2, 0.5) for seed in range(50)]
    assert all(bound.distance > bound.literal for bound in found)
    assert all(bound.distance <= bound.full for bound in found)


def test_the_printed_theorem_fails_sometimes_then():
    examples = [example(seed, sign=-1) for seed in range(50)]
    found = [stability_bound(A, E, X, W, W, 3, 0.5) for A, E, X, W, _ in examples]
    assert any(bound.distance > bound.literal for bound in found)
    assert all(bound.distance <= bound.full for bound in found)


def test_the_terms_are_those_of_the_lemma():
    A, E, X, W, W_hat = example(3)
    rho, epsilon = 3, 0.5
    found = stability_bound(A, E, X, W, W_hat, rho, epsilon)
    d, d_e = A.sum(1).max() + epsilon, np.abs(E.sum(1)).max()
    root, size = np.sqrt((X**2).sum()), np.linalg.svd(W)[1][0]
    pattern = (A > 0).astype(float)
    etas = [np.sqrt((M**2).sum(1)).max() for M in (A**2, A, pattern)]
    terms = [
        binomial * (eta * np.linalg.svd(E**m)[1][0] + d ** (rho - m) * d_e**m)
        for m, binomial, eta in zip((1, 2, 3), (3, 3, 1), etas, strict=True)
    ]
    weights = ((d + d_e) ** rho + np.linalg.svd((A + E) ** rho)[1][0]) * np.linalg.svd(W - W_hat)[1][0]
    assert found.full == pytest.approx(root * (weights + sum(terms) * size))
    assert found.first_order == pytest.approx(root * (weights + terms[0] * size))
    L, L_hat = (np.diag(M.sum(1)) - M + epsilon * np.eye(10) for M in (A, A + E))
    Y, Y_hat = np.maximum(L**rho @ X @ W, 0), np.maximum(L_hat**rho @ X @ W_hat, 0)
    assert found.distance == pytest.approx(np.linalg.norm(Y - Y_hat, 2))


def test_orders_agree_for_a_first_power_and_nothing_moves_without_noise():
    A, E, X, W, W_hat = example(5)
    first = stability_bound(A, E, X, W, W_hat, 1, 0.5)
    assert first.full == pytest.approx(first.first_order)
    still = stability_bound(A, 0 * E, X, W, W, 3, 0.5)
    assert (still.distance, still.full) == (0, 0)


@pytest.mark.parametrize("snr", [0, 10, 40])
def test_perturbations_are_in_the_papers_set_and_have_the_ratio(snr):
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((40, 40)), 1)
    A = (A + A.T) * (A + A.T > 0.5)
    E = perturbation(A, snr, rng)
    assert np.array_equal(E, E.T)
    assert np.all(np.abs(E) <= A)
    ratio = 10 * np.log10((A**2).sum() / (E**2).sum())
    assert ratio == pytest.approx(snr, abs=1e-9) if snr == 40 else ratio >= snr - 1e-9
    W = rng.normal(size=(16, 2))
    added = noise(W, snr, rng)
    assert 10 * np.log10((W**2).sum() / (added**2).sum()) == pytest.approx(snr)
    assert not perturbation(np.zeros((3, 3)), snr, rng).any()


def test_what_the_theorem_does_not_cover_is_refused():
    A, E, X, W, W_hat = example(1)
    with pytest.raises(InputError, match=r"E must be symmetric with \|E_ij\| <= A_ij"):
        stability_bound(A, E + 1, X, W, W_hat, 2, 0.5)
    with pytest.raises(InputError, match="A must be symmetric with a zero diagonal"):
        stability_bound(A + np.eye(10), E, X, W, W_hat, 2, 0.5)
    with pytest.raises(InputError, match=r"X \(9, 16\)"):
        stability_bound(A, E, X[:9], W, W_hat, 2, 0.5)
    with pytest.raises(InputError, match=r"both must be \(N, N\)"):
        stability_bound(A, E[:5], X, W, W_hat, 2, 0.5)
    with pytest.raises(InputError, match="rho is 0 and epsilon 0.5"):
        stability_bound(A, E, X, W, W_hat, 0, 0.5)


def test_graphs_and_matrices_and_seeds_are_accepted_everywhere():
    graph = random_graph(12)
    A = graph.to_scipy().toarray()
    E = perturbation(graph, 10.0, 3)
    assert np.array_equal(E, perturbation(A, 10.0, np.random.default_rng(3)))
    assert laplacian_bound(graph, E, 2, 0.5) == laplacian_bound(A, E, 2, 0.5)
    assert kronecker_form(A, 2).error == kronecker_form(graph, 2).error
    assert conditioning(A, orders=2).orders == penalisation(A, orders=2).orders == (2,)
    with pytest.raises(InputError, match=r"orders is \(0,\), but a power here is an integer >= 1"):
        conditioning(graph, orders=0)
