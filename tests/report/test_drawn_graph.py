import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.datasets import load_iris

from s2gnn import Graph, knn_graph
from s2gnn.report.drawn_graph import MOST_EDGES, draw_graph

NONE = np.array([], dtype=np.int64)


@pytest.fixture(scope="module")
def iris():
    graph = knn_graph(load_iris(return_X_y=True)[0], 5)
    return graph, draw_graph(graph, NONE)


def test_a_small_graph_is_drawn_whole_and_the_same_again(iris):
    graph, drawn = iris
    assert drawn.whole
    assert not drawn.sampled
    np.testing.assert_array_equal(drawn.rows, np.arange(150))
    np.testing.assert_array_equal(drawn.pairs, graph.to_edge_list()[0])
    np.testing.assert_array_equal(drawn.positions, draw_graph(graph, NONE).positions)


def test_joined_rows_are_near(iris):
    _, drawn = iris
    x, y = drawn.positions.T
    assert (x.min(), x.max(), y.min()) == pytest.approx((0, 1, 0))
    assert 0.45 <= y.max() <= 0.75
    lengths = np.linalg.norm(np.diff(drawn.positions[drawn.pairs], axis=1)[:, 0], axis=1)
    assert np.median(lengths) < 0.2 * np.median(pdist(drawn.positions))


def test_of_many_edges_the_strongest_of_each_row_are_drawn():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.uniform(0.1, 1, (130, 130)), 1)
    graph = Graph.from_scipy(sp.csr_array(upper + upper.T))
    drawn = draw_graph(graph, NONE)
    assert not drawn.whole
    assert len(drawn.pairs) <= MOST_EDGES
    pairs = set(map(tuple, drawn.pairs.tolist()))
    for node, neighbour in enumerate((upper + upper.T).argmax(axis=1).tolist()):
        assert (min(node, neighbour), max(node, neighbour)) in pairs


def ring(n, parts=1):
    """Rings of n / parts nodes each, every node joined to the next one."""
    nodes = np.arange(n).reshape(parts, -1)
    return Graph.from_edge_list(np.stack([nodes, np.roll(nodes, -1, axis=1)], axis=2).reshape(-1, 2), n_nodes=n)


def test_a_large_graph_keeps_its_shape_and_the_rows_that_are_wanted():
    wanted = np.array([77, 5, 19_999])
    drawn = draw_graph(ring(20_000, parts=2), wanted, limit=40)
    assert drawn.sampled
    assert len(drawn.rows) == 40
    assert set(wanted) <= set(drawn.rows.tolist())
    sides = drawn.rows[drawn.pairs] // 10_000
    np.testing.assert_array_equal(sides[:, 0], sides[:, 1])
    # Each row of a ring is joined to the next drawn one on either side.
    assert np.bincount(drawn.pairs.ravel(), minlength=40).tolist() == [2] * 40


def test_more_wanted_rows_than_a_third_of_the_places():
    drawn = draw_graph(ring(1000), np.arange(900), limit=50)
    assert set(range(16)) <= set(drawn.rows.tolist())
    assert np.sum(drawn.rows > 100) > 20
    assert len(drawn.rows) == 50


@pytest.mark.parametrize("n", [2, 4, 6])
def test_tiny_graphs_and_graphs_without_edges(n):
    assert np.isfinite(draw_graph(ring(n) if n > 2 else Graph.from_edge_list([(0, 1)]), NONE).positions).all()
    empty = draw_graph(Graph.from_scipy(sp.csr_array((n, n))), NONE)
    assert len(empty.pairs) == 0
    assert np.isfinite(empty.positions).all()
