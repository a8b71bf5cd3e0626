import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from s2gnn import Graph, InputError
from s2gnn.operators import SobolevFamily, gradients, kernel
from tests import dense
from tests.random_graphs import graphs, random_graph
from tests.seed import seeded

SHIFTS = ["adjacency", "laplacian", "normalized_adjacency", "normalized_laplacian"]
quiet = pytest.mark.filterwarnings("ignore::s2gnn.IdenticalBranchesWarning")


def double(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seeded(seed)))


def number(value):
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


def dense_products(A, epsilon, alpha, shift, h):
    """S_ρ h for ρ = 1..α by the formula on dense matrices, which autograd differentiates."""
    eye, degrees = torch.eye(len(A), dtype=A.dtype), A.sum(dim=1)
    root = torch.diag(degrees.rsqrt())
    M = {
        "adjacency": A,
        "laplacian": torch.diag(degrees) - A,
        "normalized_adjacency": root @ A @ root,
        "normalized_laplacian": eye - root @ A @ root,
    }[shift] + epsilon * eye
    products = []
    for rho in range(1, alpha + 1):
        power = M**rho
        # The absolute value has no derivative at zero, where the entries of A have one from the right.
        sizes = power if shift.endswith("adjacency") else power.abs()
        inverse = torch.diag(sizes.sum(dim=1).rsqrt())
        products.append(inverse @ power @ inverse @ h)
    return torch.stack(products)


def adjacency_of(graph, weights):
    pairs, _ = graph.to_edge_list()
    A = torch.zeros(graph.n_nodes, graph.n_nodes, dtype=weights.dtype)
    A = A.index_put((torch.tensor(pairs[:, 0]), torch.tensor(pairs[:, 1])), weights)
    return A + A.T


@quiet
@pytest.mark.parametrize("shift", SHIFTS)
@settings(max_examples=20)
@given(g=graphs(max_nodes=9), alpha=st.sampled_from([1, 2, 6, 16]), epsilon=st.sampled_from([0.0, 1e-3, 1.0, 1e3]))
def test_equals_the_dense_formula_for_any_weights(shift, g, alpha, epsilon):
    h = np.random.default_rng(seeded(0)).normal(size=(g.n_nodes, 2))
    products = SobolevFamily(g, alpha, shift, dtype=torch.float64).at(epsilon).propagate(torch.from_numpy(h))
    single = SobolevFamily(g, alpha, shift).at(epsilon).propagate(torch.from_numpy(h).float())
    for rho in {1, 2, alpha} & set(range(1, alpha + 1)):
        S = dense.sobolev(g.to_scipy().toarray(), rho, epsilon, shift)
        np.testing.assert_allclose(products[rho - 1].numpy(), S @ h, rtol=0, atol=1e-12)
        np.testing.assert_allclose(single[rho - 1].numpy(), S @ h, rtol=0, atol=1e-5)


@pytest.mark.parametrize("chosen", kernel.available())
@pytest.mark.parametrize("epsilon", [0.05, 0.8, 30.0])
@pytest.mark.parametrize("shift", SHIFTS)
def test_gradients_are_those_of_the_dense_formula(shift, epsilon, chosen, monkeypatch):
    monkeypatch.setattr(gradients, "GATHERED_AT_ONCE", 40)  # so that edges are worked on in several parts
    graph, alpha = random_graph(12, 0.6), 4
    _, weights = graph.to_edge_list()
    target = double(alpha, 12, 3, seed=1)
    found = []
    for way in ("sparse", "dense"):
        w, e, h = torch.tensor(weights, requires_grad=True), number(epsilon), double(12, 3).requires_grad_()
        if way == "sparse":
            family = SobolevFamily(graph, alpha, shift, dtype=torch.float64)
            with kernel.use(chosen):
                (family.with_weights(w).at(e).propagate(h) * target).sum().backward()
        else:
            (dense_products(adjacency_of(graph, w), e, alpha, shift, h) * target).sum().backward()
        found.append((w.grad, e.grad, h.grad))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shift", SHIFTS)
def test_gradcheck_by_epsilon_by_weights_and_by_both(shift):
    graph = Graph.from_edge_list(*random_graph(5, 0.5).to_edge_list(), n_nodes=7)  # the last two are isolated
    family = SobolevFamily(graph, 3, shift, dtype=torch.float64)
    weights = torch.tensor(graph.to_edge_list()[1], requires_grad=True)
    h = double(7, 4, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda e, h: family.at(e).propagate_branches(h), (number(0.7), h))

    def both(w, e, h):
        return family.with_weights(w).at(e).propagate_branches(h)

    assert torch.autograd.gradcheck(both, (weights, number(0.7), h))
    assert torch.autograd.gradgradcheck(both, (weights, number(0.7), h))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shift", SHIFTS)
def test_native_and_plain_factors_agree_on_a_hub_isolated_nodes_and_zero_weights(shift, dtype):
    rng = np.random.default_rng(seeded(0))
    edges = [(0, leaf) for leaf in range(1, 300)] + [(300, 301), (302, 303)]
    graph = Graph.from_edge_list(edges, rng.uniform(1e-6, 1e6, len(edges)), 310)
    target = double(310, 5, 3).to(dtype)
    found = []
    for chosen in {"torch", kernel.available()[-1]}:
        weights = torch.tensor(graph.to_edge_list()[1])
        weights[[0, 7, -1]] = 0.0
        weights.requires_grad_()
        with kernel.use(chosen):
            powers = SobolevFamily(graph, 5, shift, weights=weights, dtype=dtype).at(0.7).powers
        (powers.b.square().sum() + (powers.c * target[..., 0]).sum() + (powers.t * target[..., 1]).sum()).backward()
        found.append((powers.b, powers.c, powers.t, weights.grad))
    for native, plain in zip(*found, strict=True):
        torch.testing.assert_close(native, plain, rtol=1e-6 if dtype == torch.float32 else 1e-11, atol=1e-12)


def test_a_weight_of_zero_has_the_derivative_of_the_formula():
    """From the right, which is the only side there is; also where it is the only edge of its node."""
    graph = Graph.from_edge_list([(0, 1), (1, 2), (2, 3)])
    family, h = SobolevFamily(graph, 2, dtype=torch.float64), double(4, 2)
    target = double(2, 4, 2, seed=1)
    gradients = []
    for way in ("sparse", "dense"):
        w = torch.tensor([0.0, 0.5, 0.0], dtype=torch.float64, requires_grad=True)
        if way == "sparse":
            products = family.with_weights(w).at(0.5).propagate(h)
        else:
            products = dense_products(adjacency_of(graph, w), 0.5, 2, "adjacency", h)
        (products * target).sum().backward()
        gradients.append(w.grad)
    assert (gradients[0][[0, 2]] != 0).all()
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("log", [-800.0, -700.0, -100.0, -30.0, 0.0, 30.0, 300.0])
def test_no_epsilon_however_small_or_large_gives_nan(shift, log, dtype):
    graph = Graph.from_edge_list([(0, 1), (1, 2)], [1e-20, 1e6], n_nodes=5)
    family = SobolevFamily(graph, 6, shift, dtype=dtype)
    theta = number(log)
    weights = torch.tensor([1e-20, 1e6], dtype=torch.float64, requires_grad=True)
    products = family.with_weights(weights).at(theta.exp()).propagate(torch.ones(5, 2, dtype=dtype))
    products.sum().backward()
    assert torch.isfinite(products).all()
    assert torch.isfinite(theta.grad)
    assert torch.isfinite(weights.grad).all()
    isolated = torch.ones(6, 2, 2, dtype=dtype) if log > -745 else torch.zeros(6, 2, 2, dtype=dtype)
    torch.testing.assert_close(products[:, 3:].detach(), isolated)


def test_memory_grows_with_the_edges_only():
    graph = random_graph(3000, 0.001)
    weights = torch.tensor(graph.to_edge_list()[1], requires_grad=True)
    family = SobolevFamily(graph, 3).with_weights(weights)
    sizes = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.numel()) or t, lambda t: t):
        family.with_weights(weights).at(number(1.0)).propagate(torch.ones(3000, 2))
    assert max(sizes) <= max(2 * graph.n_edges, 3000 * 4 * 2)


def test_unusable_arguments():
    graph = random_graph(5, 0.9)
    family = SobolevFamily(graph, 2)
    n = graph.n_edges
    for call, message in [
        (lambda: SobolevFamily(graph.to_scipy()), "graph is a csr_array"),
        (lambda: SobolevFamily(graph, 0), "alpha is 0"),
        (lambda: SobolevFamily(graph, 2, "x"), "shift is 'x'"),
        (lambda: SobolevFamily(graph, 2, dtype=torch.int64), "dtype is torch.int64"),
        (lambda: family.at(-1.0), "epsilon is -1.0"),
        (lambda: family.at(torch.ones(2)), r"epsilon has shape \(2,\), but it must be one number"),
        (lambda: family.at(torch.tensor(float("nan"))), "epsilon is nan"),
        (lambda: family.with_weights(torch.ones(n + 1)), rf"expected a tensor \({n},\): one for each undirected pair"),
        (lambda: family.with_weights(torch.full((n,), -1.0)), r"weights\[0\] is -1, but .* learn their logarithms"),
        (lambda: family.at(1.0).propagate(torch.ones(4, 2)), r"shape \(4, 2\), but the operator expects \(5, F\)"),
    ]:
        with pytest.raises(InputError, match=message):
            call()
    assert repr(family.at(0.5)).startswith("DifferentiableOperator(SobolevFamily(Graph(n_nodes=5")


def test_can_be_handed_to_another_process():
    family, h = SobolevFamily(random_graph(9), 3, "laplacian"), torch.randn(9, 2)
    received = pickle.loads(pickle.dumps(family))
    assert torch.equal(received.at(0.7).propagate(h), family.at(0.7).propagate(h))
