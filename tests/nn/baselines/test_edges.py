"""Functions on edges against dense matrices, and their gradients against finite differences."""

import numpy as np
import pytest
import torch

from s2gnn.nn.baselines import edges as edges_module
from s2gnn.nn.baselines.edges import NodePairs
from tests.random_graphs import random_graph

N, HEADS, C = 12, 2, 3


def pattern(graph):
    rows, columns = graph.to_scipy().tocoo().coords
    return NodePairs(torch.from_numpy(rows.astype(np.int64) * graph.n_nodes + columns), graph.n_nodes)


@pytest.fixture
def edges():
    return pattern(random_graph(N))


def signals(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(HEADS, N, C, dtype=torch.float64, generator=generator).requires_grad_()


def values(edges, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(HEADS, len(edges), dtype=torch.float64, generator=generator).requires_grad_()


def matrix(edges, of_pairs):
    full = torch.zeros(HEADS, N, N, dtype=torch.float64)
    full[:, edges.rows, edges.columns] = of_pairs
    return full


def at_pairs(edges, full):
    return full[:, edges.rows, edges.columns]


def test_reverse_is_the_opposite_pair(edges):
    assert torch.equal(edges.rows[edges.reverse], edges.columns)
    assert torch.equal(edges.columns[edges.reverse], edges.rows)


def test_values_are_those_of_dense_matrices(edges, monkeypatch):
    monkeypatch.setattr(edges_module, "VALUES_AT_ONCE", 7 * C)
    x, y, v = signals(), signals(2), values(edges)
    a = torch.randn(HEADS, C, dtype=torch.float64)
    scores = matrix(edges, v).masked_fill(matrix(edges, torch.ones_like(v)) == 0, -torch.inf)
    pairwise_sums = torch.nn.functional.leaky_relu(x[:, :, None] + y[:, None, :], 0.2)
    for ours, expected in [
        (edges.dot(x, y), at_pairs(edges, x @ y.transpose(1, 2))),
        (edges.sum(v, y), matrix(edges, v) @ y),
        (edges.softmax(v), at_pairs(edges, torch.softmax(scores, dim=2))),
        (edges.of_rows(x[..., 0]), x[:, edges.rows, 0]),
        (edges.of_columns(x[..., 0]), x[:, edges.columns, 0]),
        (edges.additive_scores(x, y, a, 0.2), at_pairs(edges, (pairwise_sums * a[:, None, None]).sum(-1))),
    ]:
        torch.testing.assert_close(ours, expected)


def test_gradients(edges, monkeypatch):
    monkeypatch.setattr(edges_module, "VALUES_AT_ONCE", 7 * C)
    x, y, v = signals(), signals(2), values(edges)
    a = torch.randn(HEADS, C, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(edges.dot, (x, y))
    assert torch.autograd.gradcheck(lambda x: edges.dot(x, x), x)
    assert torch.autograd.gradcheck(edges.sum, (v, y))
    assert torch.autograd.gradcheck(edges.softmax, v)
    assert torch.autograd.gradcheck(lambda x: edges.of_rows(x[..., 0]), x)
    assert torch.autograd.gradcheck(lambda x: edges.of_columns(x[..., 0]), x)
    assert torch.autograd.gradcheck(lambda x, y, a: edges.additive_scores(x, y, a, 0.2), (x, y, a))


def test_softmax_of_large_scores_is_finite(edges):
    shares = edges.softmax(torch.full((1, len(edges)), 1e4))
    np.testing.assert_allclose(shares[0], 1 / torch.bincount(edges.rows)[edges.rows].double(), rtol=1e-6)


def test_a_pattern_without_pairs():
    empty = NodePairs(torch.empty(0, dtype=torch.int64), N)
    x = signals()
    assert empty.dot(x, x).shape == (HEADS, 0)
    assert torch.equal(empty.sum(empty.softmax(empty.dot(x, x)), x), torch.zeros(HEADS, N, C, dtype=torch.float64))
