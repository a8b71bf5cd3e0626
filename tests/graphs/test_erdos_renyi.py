import math

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.graphs import erdos_renyi


def test_every_pair_is_an_edge_with_the_same_probability():
    n, p, draws = 10, 0.3, 500
    found = np.array([erdos_renyi(n, p, seed).to_scipy().toarray() for seed in range(draws)])
    shares = (found > 0).mean(axis=0)[np.triu_indices(n, 1)]
    deviation = math.sqrt(p * (1 - p) / draws)
    assert np.abs(shares - p).max() < 4.5 * deviation
    edges = (found > 0).sum(axis=(1, 2)) / 2
    assert edges.var() == pytest.approx(math.comb(n, 2) * p * (1 - p), rel=0.3)  # that of a binomial
    weights = found[found > 0]
    assert 0 < weights.min() < 0.01
    assert 0.99 < weights.max() <= 1
    assert weights.mean() == pytest.approx(0.5, abs=0.02)


def test_a_seed_gives_its_graph():
    graph, same, other = erdos_renyi(100, 0.05, 3), erdos_renyi(100, 0.05, 3), erdos_renyi(100, 0.05, 4)
    np.testing.assert_array_equal(graph.indices, same.indices)
    np.testing.assert_array_equal(graph.weights, same.weights)
    assert not np.array_equal(graph.weights, other.weights)


def test_no_pair_and_all_pairs():
    assert (erdos_renyi(5, 0, 0).n_edges, erdos_renyi(5, 1, 0).n_edges, erdos_renyi(1, 1, 0).n_edges) == (0, 10, 0)
    assert erdos_renyi(2_000, 1e-300, 0).n_edges == 0


def test_a_probability_beyond_one():
    with pytest.raises(InputError, match="p is 1.5, but a probability is between 0 and 1"):
        erdos_renyi(5, 1.5, 0)
