"""Functions on edges against dense matrices, and their gradients against finite differences, on every kernel."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from s2gnn.graphs import Graph
from s2gnn.nn.baselines.edges import NodePairs
from s2gnn.operators import kernel
from tests.random_graphs import random_graph

N = 12
SHAPES = [(1, 1), (2, 3), (3, 16), (6, 7), (4, 33), (1, 130)]  # heads, channels


@pytest.fixture(params=kernel.available(), autouse=True)
def variant(request):
    with kernel.use(request.param):
        yield


def pattern(graph):
    return NodePairs.of(graph, self_loops=False, device=torch.device("cpu"))


@pytest.fixture
def edges():
    """With a node joined to all others, one with a self-loop only, and one without pairs."""
    star = [(0, j) for j in range(1, N - 2)]
    graph = Graph.from_edge_list([*star, (1, 2), (3, 4)], n_nodes=N)
    codes = torch.cat([pattern(graph).codes, torch.tensor([(N - 2) * N + N - 2])]).sort().values
    return NodePairs(codes, N)


def randn(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def at_pairs(edges, full):
    """The entries (heads, E) of dense matrices (heads, N, N)."""
    return full[:, edges.rows, edges.columns]


def dense_attention(edges, scores, v):
    full = torch.full((len(scores), N, N), -torch.inf, dtype=scores.dtype)
    full[:, edges.rows, edges.columns] = scores
    shares = torch.softmax(full, dim=2).nan_to_num(0.0)
    return (shares @ v.transpose(0, 1)).mean(0)


def dense_additive(x, y, a, slope):
    return (F.leaky_relu(x.transpose(0, 1)[:, :, None] + y.transpose(0, 1)[:, None], slope) * a[:, None, None]).sum(-1)


def test_reverse_is_the_opposite_pair(edges):
    assert torch.equal(edges.rows[edges.reverse], edges.columns)
    assert torch.equal(edges.columns[edges.reverse], edges.rows)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("heads", "channels"), SHAPES)
def test_values_are_those_of_dense_matrices(edges, heads, channels, dtype):
    x, y, v = (randn(N, heads, channels, seed=seed).to(dtype) for seed in range(3))
    a, scores = randn(heads, channels, seed=3).to(dtype), 5 * randn(heads, len(edges), seed=4).to(dtype)
    dot = x.transpose(0, 1) @ y.permute(1, 2, 0)
    tolerance = {"rtol": 1e-5, "atol": 1e-4} if dtype == torch.float32 else {}
    torch.testing.assert_close(edges.dot(x, y), at_pairs(edges, dot), **tolerance)
    torch.testing.assert_close(edges.additive(x, y, a, 0.2), at_pairs(edges, dense_additive(x, y, a, 0.2)), **tolerance)
    torch.testing.assert_close(edges.attend(scores, v), dense_attention(edges, scores, v), **tolerance)


@pytest.mark.parametrize(("heads", "channels"), [(1, 1), (2, 5), (3, 18)])
def test_gradients(heads, channels):
    edges = pattern(random_graph(6))
    x, y = randn(6, heads, channels), randn(6, heads, channels, seed=1)
    a, scores = randn(heads, channels, seed=2), randn(heads, len(edges), seed=3)
    assert torch.autograd.gradcheck(edges.dot, (x, y))
    assert torch.autograd.gradcheck(lambda x: edges.dot(x, x), x)
    assert torch.autograd.gradcheck(lambda x, y, a: edges.additive(x, y, a, 0.2), (x, y, a))
    assert torch.autograd.gradcheck(edges.attend, (scores, y))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_softmax_of_extreme_scores(dtype):
    edges = pattern(random_graph(N))
    ones = torch.ones(N, 1, 1, dtype=dtype)
    for scores in (torch.full((1, len(edges)), 1e4), torch.linspace(-1e4, 1e4, len(edges))[None]):
        attended = edges.attend(scores.to(dtype), ones)
        torch.testing.assert_close(
            attended[edges.offsets.diff() > 0], torch.ones_like(attended[edges.offsets.diff() > 0])
        )


def test_a_score_that_is_not_a_number_is_not_hidden():
    edges = pattern(random_graph(N))
    scores = torch.zeros(1, len(edges))
    scores[0, 0] = torch.nan
    assert edges.attend(scores, torch.ones(N, 1, 1))[edges.rows[0]].isnan()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_of_threads_changes_no_bit_of_a_row(threads):
    edges = pattern(random_graph(N))
    x = randn(N, 2, 20).float()
    expected = edges.attend(edges.dot(x, x), x)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        assert torch.equal(edges.attend(edges.dot(x, x), x), expected)
    finally:
        torch.set_num_threads(before)


def test_a_pattern_without_pairs():
    empty = NodePairs(torch.empty(0, dtype=torch.int64), N)
    x = randn(N, 2, 3)
    scores = empty.dot(x, x)
    assert scores.shape == (2, 0)
    out = empty.attend(scores, x)
    np.testing.assert_array_equal(out.detach(), np.zeros((N, 3)))
    out.sum().backward()
    np.testing.assert_array_equal(x.grad, np.zeros((N, 2, 3)))


def test_second_derivatives_are_refused_by_the_native_kernels():
    edges = pattern(random_graph(N))
    x = randn(N, 2, 3)
    (first,) = torch.autograd.grad(edges.dot(x, x).sum() + (x**3).sum(), x, create_graph=kernel.chosen() == "torch")
    if kernel.chosen() == "torch":
        assert torch.isfinite(torch.autograd.grad(first.sum(), x)[0]).all()
    else:
        with pytest.raises(RuntimeError, match="first derivatives only"):
            torch.autograd.grad(edges.dot(x, x).sum() + (x**3).sum(), x, create_graph=True)


def test_numbers_of_autocast_are_taken_as_float32():
    edges = pattern(random_graph(N))
    x = randn(N, 2, 3).bfloat16()
    scores = edges.additive(x, x.float(), torch.ones(2, 3), 0.2)
    assert edges.attend(scores, x).dtype == edges.dot(x, x).dtype == torch.float32


def test_signals_without_channels():
    edges = pattern(random_graph(N))
    nothing = torch.empty(N, 2, 0)
    assert torch.equal(edges.dot(nothing, nothing), torch.zeros(2, len(edges)))
