"""Operators of directed edges, against dense formulas and PyG's gcn_norm."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from s2gnn import InputError, SobolevOperator
from s2gnn.graphs.selection import Selection
from s2gnn.operators import EdgeOperator, kernel
from tests.random_graphs import random_graph
from tests.seed import seeded

SHIFTS = ["adjacency", "laplacian", "normalized_adjacency", "normalized_laplacian"]
KERNELS = [kernel.PLAIN, kernel.available()[-1]]


@st.composite
def edge_lists(draw, weights=(0.0, 0.1, 0.3, 2.0)):
    """Directed edges in any order, with repeated edges, self-loops, zeros and isolated nodes among them."""
    n = draw(st.integers(1, 7))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node, st.sampled_from(weights)), max_size=20))
    index = torch.tensor([(i, j) for i, j, _ in edges], dtype=torch.int64).reshape(-1, 2).T
    return index, torch.tensor([w for *_, w in edges], dtype=torch.float64), n


def dense_operator(index, weight, n, rho, epsilon, shift="adjacency", normalize=True):
    """S_ρ by its definition, with A_ij the weight of j → i and degrees over incoming edges."""
    A = np.zeros((n, n))
    for (source, target), w in zip(index.T.tolist(), weight.tolist(), strict=True):
        A[target, source] += w * (source != target)
    d = A.sum(axis=1)
    root = np.divide(1.0, np.sqrt(d), out=np.zeros(n), where=d > 0)
    normalized = root[:, None] * A * root
    M = {
        "adjacency": A,
        "laplacian": np.diag(d) - A,
        "normalized_adjacency": normalized,
        "normalized_laplacian": np.diag((d > 0).astype(float)) - normalized,
    }[shift] + epsilon * np.eye(n)
    power = M**rho
    if not normalize:
        return power
    d = np.abs(power).sum(axis=1)
    root = np.divide(1.0, np.sqrt(d), out=np.zeros(n), where=d > 0)
    return root[:, None] * power * root


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("normalize", [True, False])
@given(edges=edge_lists(), epsilon=st.sampled_from([0.0, 0.4, 1.0]))
def test_is_the_dense_formula(shift, normalize, edges, epsilon):
    index, weight, n = edges
    eye = torch.eye(n, dtype=torch.float64)
    for name in KERNELS:
        with kernel.use(name):
            op = EdgeOperator(index, weight, n, 3, epsilon, shift, normalize=normalize, dtype=torch.float64)
            messages, products = op.messages(), op.propagate(eye)
        for rho in (1, 2, 3):
            expected = dense_operator(index, weight, n, rho, epsilon, shift, normalize)
            np.testing.assert_allclose(products[rho - 1].numpy(), expected, rtol=1e-12, atol=1e-12)
            by_edges = np.diag(messages.own[:, rho - 1].numpy())
            np.add.at(by_edges, (index[1].numpy(), index[0].numpy()), messages.along[:, rho - 1].numpy())
            np.testing.assert_allclose(by_edges, expected, rtol=1e-12, atol=1e-12)


@given(edges=edge_lists(weights=(0.1, 0.3, 2.0)))
def test_the_first_power_at_epsilon_one_is_gcn_norm(edges):
    index, weight, n = edges
    kept = index[0] != index[1]  # gcn_norm keeps an existing self-loop instead of adding one
    index, weight = index[:, kept], weight[kept]
    edge_index, values = gcn_norm(index, weight, n, dtype=torch.float64)
    expected = torch.zeros(n, n, dtype=torch.float64).index_put((edge_index[1], edge_index[0]), values, accumulate=True)
    op = EdgeOperator(index, weight, n, 1, 1.0, dtype=torch.float64)
    torch.testing.assert_close(op.propagate(torch.eye(n, dtype=torch.float64))[0], expected)


@pytest.mark.parametrize("shift", SHIFTS)
def test_both_directions_of_every_edge_make_a_sobolev_operator(shift):
    graph = random_graph(12)
    data, h = graph.to_pyg(torch.float64), torch.randn(12, 5, dtype=torch.float64)
    expected = SobolevOperator(graph, 3, 0.7, shift, dtype=torch.float64)
    op = EdgeOperator(data.edge_index, data.edge_weight, 12, 3, 0.7, shift, dtype=torch.float64)
    torch.testing.assert_close(op.propagate(h), expected.propagate(h), rtol=0, atol=1e-14)


def test_weights_far_from_one_keep_their_digits():
    """A source without incoming edges divides by its own ε^ρ; without ε it sends nothing."""
    index, weight = torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.tensor([1e6, 1e-6, 3.0])
    for epsilon in (0.0, 1e-3):
        products = EdgeOperator(index, weight, 4, 6, epsilon).propagate(torch.eye(4))
        for rho in (1, 2):
            expected = dense_operator(index, weight.double(), 4, rho, epsilon)
            np.testing.assert_allclose(products[rho - 1].numpy(), expected, rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("normalize", [True, False])
def test_gradcheck_by_signal_weights_and_epsilon(name, shift, normalize):
    # A repeated edge, a self-loop, and node 3 without incoming edges.
    index = torch.tensor([[0, 1, 2, 3, 3, 1, 0], [1, 2, 0, 1, 3, 2, 4]])
    weight = (
        torch.rand(7, dtype=torch.float64, generator=torch.Generator().manual_seed(seeded(0))).add(0.1).requires_grad_()
    )
    epsilon = torch.tensor(0.6, dtype=torch.float64, requires_grad=True)
    h = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seeded(1))).requires_grad_()

    def run(h, weight, epsilon):
        return EdgeOperator(index, weight, 5, 3, epsilon, shift, normalize=normalize, dtype=torch.float64).propagate(h)

    with kernel.use(name):
        assert torch.autograd.gradcheck(run, (h, weight, epsilon))
        assert torch.autograd.gradgradcheck(run, (h, weight, epsilon))


@pytest.mark.parametrize("name", KERNELS)
def test_opcheck_with_the_transposed_pattern(name):
    op = EdgeOperator(torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.rand(3), 4, 2, 0.5, dtype=torch.float64)
    with kernel.use(name):
        for map_, shape in (("fan_out", (4, 3)), ("fan_in", (4, 3, 3)), ("branchwise", (4, 3, 3))):
            signal = torch.randn(shape, dtype=torch.float64, requires_grad=True)
            torch.library.opcheck(getattr(torch.ops.s2gnn, map_).default, (*op.powers, signal))


@pytest.mark.parametrize(
    ("weight", "epsilon", "shift", "identical"),
    [
        (1.0, 1.0, "adjacency", True),
        (1.0, 0.0, "adjacency", True),
        (3.0, 3.0, "adjacency", True),
        (3.0, 1.0, "adjacency", False),
        (1.0, 1.0, "laplacian", False),
    ],
)
def test_identical_powers_are_noticed(weight, epsilon, shift, identical):
    index, weights = torch.tensor([[0, 1], [1, 2]]), torch.full((2,), weight)
    op = EdgeOperator(index, weights, 3, 3, epsilon, shift, dtype=torch.float64)
    first, *others = op.propagate(torch.eye(3, dtype=torch.float64))
    assert op.facts().identical == identical == all(torch.allclose(first, other) for other in others)


@given(edges=edge_lists(weights=(0.25, 0.5, 2.0)))
def test_symmetry(edges):
    index, weight, n = edges
    A = torch.zeros(n, n, dtype=torch.float64).index_put(tuple(index), weight, accumulate=True)
    both = torch.cat([index, index.flip(0)], dim=1), torch.cat([weight, weight])
    for name in KERNELS:
        with kernel.use(name):
            assert EdgeOperator(*both, n).facts().symmetric
            symmetric = EdgeOperator(index, weight, n).facts().symmetric
        # Without the native pass, edges that are repeated in one direction only are not noticed to be symmetric.
        assert symmetric == torch.equal(A, A.T) or (not symmetric and name == kernel.PLAIN)


def test_directions_that_differ_keep_their_weights():
    index = torch.tensor([[0, 1], [1, 0]])
    op = EdgeOperator(index, torch.tensor([0.5, 0.5 * (1 + 7e-6)]), 2, 2, 0.3, dtype=torch.float64)
    assert not op.facts().symmetric
    assert op.powers.b[0] != op.powers.b[1]
    op.require_symmetry()  # up to rounding


def test_it_has_no_parts_and_a_readable_repr():
    op = EdgeOperator(torch.tensor([[0], [1]]), None, 3, 2, 0.5)
    assert repr(op) == "EdgeOperator(3 nodes, 1 edges, alpha=2, epsilon=0.5)"
    with pytest.raises(InputError, match="an EdgeOperator of 3 nodes has no part of 1: build one from the edges"):
        op.selected(Selection.of([0], 3))
