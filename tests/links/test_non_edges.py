import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from s2gnn import Graph, InputError
from s2gnn.links import NonEdges
from tests.random_graphs import graphs


def listed(graph):
    """All pairs i < j without an edge, by a loop over the dense matrix."""
    A = graph.to_scipy().toarray()
    return [(i, j) for i in range(graph.n_nodes) for j in range(i + 1, graph.n_nodes) if A[i, j] == 0]


@given(graphs(), st.integers(0, 3))
def test_all_of_them_are_found_once(graph, seed):
    expected = listed(graph)
    non_edges = NonEdges(graph)
    assert non_edges.count == len(expected)
    drawn = non_edges.draw(non_edges.count, np.random.default_rng(seed))
    assert sorted(map(tuple, drawn.tolist())) == expected
    with pytest.raises(InputError, match=f"{len(expected) + 1} pairs .* wanted, but the graph has {len(expected)}"):
        non_edges.draw(len(expected) + 1, np.random.default_rng(seed))


@pytest.mark.parametrize("distinct", [True, False])
def test_each_has_the_same_probability(distinct):
    graph = Graph.from_edge_list([(0, 1), (0, 5), (1, 2), (3, 4), (4, 5)], n_nodes=6)
    generator = np.random.default_rng(1)
    drawn = np.concatenate([NonEdges(graph).draw(4, generator, distinct=distinct) for _ in range(2_000)])
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    assert list(map(tuple, found.tolist())) == listed(graph)
    assert stats.chisquare(counts).pvalue > 0.01


def test_a_complete_graph_has_none_and_a_large_one_costs_little():
    complete = Graph.from_edge_list([(0, 1), (0, 2), (1, 2)])
    assert NonEdges(complete).draw(0, np.random.default_rng(0), distinct=False).shape == (0, 2)
    with pytest.raises(InputError, match="the graph has 0: it is too dense"):
        NonEdges(complete).draw(1, np.random.default_rng(0), distinct=False)
    n = 200_000  # 2e10 pairs
    path = Graph.from_edge_list(np.stack([np.arange(n - 1), np.arange(1, n)], axis=1))
    drawn = NonEdges(path).draw(1_000, np.random.default_rng(0))
    assert (drawn[:, 1] - drawn[:, 0] > 1).all()
    assert drawn.min() >= 0
    assert drawn.max() < n
    assert abs(drawn[:, 1].mean() / n - 2 / 3) < 0.03
