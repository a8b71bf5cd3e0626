import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.datasets import load_iris

from s2gnn import Graph, knn_graph
from s2gnn.report.graph_layout import MAX_EDGES, lay_out

NONE = np.array([], dtype=np.int64)


@pytest.fixture(scope="module")
def iris():
    graph = knn_graph(load_iris(return_X_y=True)[0], 5)
    return graph, lay_out(graph, NONE)


def test_a_small_graph_is_drawn_completely_and_deterministically(iris):
    graph, drawn = iris
    assert drawn.complete
    assert not drawn.sampled
    np.testing.assert_array_equal(drawn.rows, np.arange(150))
    np.testing.assert_array_equal(drawn.pairs, graph.to_edge_list()[0])
    np.testing.assert_array_equal(drawn.positions, lay_out(graph, NONE).positions)


def test_connected_rows_are_close(iris):
    _, drawn = iris
    x, y = drawn.positions.T
    assert (x.min(), x.max(), y.min()) == pytest.approx((0, 1, 0))
    assert 0.45 <= y.max() <= 0.75
    lengths = np.linalg.norm(np.diff(drawn.positions[drawn.pairs], axis=1)[:, 0], axis=1)
    assert np.median(lengths) < 0.2 * np.median(pdist(drawn.positions))


def test_a_dense_graph_keeps_the_strongest_edges_of_each_row():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.uniform(0.1, 1, (130, 130)), 1)
    graph = Graph.from_scipy(sp.csr_array(upper + upper.T))
    drawn = lay_out(graph, NONE)
    assert not drawn.complete
    assert len(drawn.pairs) <= MAX_EDGES
    pairs = set(map(tuple, drawn.pairs.tolist()))
    for node, neighbour in enumerate((upper + upper.T).argmax(axis=1).tolist()):
        assert (min(node, neighbour), max(node, neighbour)) in pairs


def ring(n, parts=1):
    """Rings of n / parts nodes each, every node connected to the next one."""
    nodes = np.arange(n).reshape(parts, -1)
    return Graph.from_edge_list(np.stack([nodes, np.roll(nodes, -1, axis=1)], axis=2).reshape(-1, 2), n_nodes=n)


def test_a_large_graph_keeps_its_shape_and_the_wanted_rows():
    wanted = np.array([77, 5, 19_999])
    drawn = lay_out(ring(20_000, parts=2), wanted, limit=40)
    assert drawn.sampled
    assert len(drawn.rows) == 40
    assert set(wanted) <= set(drawn.rows.tolist())
    sides = drawn.rows[drawn.pairs] // 10_000
    np.testing.assert_array_equal(sides[:, 0], sides[:, 1])
    # Each row of a ring is connected to the next drawn one on either side.
    assert np.bincount(drawn.pairs.ravel(), minlength=40).tolist() == [2] * 40


def test_wanted_rows_fill_at_most_a_third_of_the_drawing():
    drawn = lay_out(ring(1000), np.arange(900), limit=50)
    assert set(range(16)) <= set(drawn.rows.tolist())
    assert np.sum(drawn.rows > 100) > 20
    assert len(drawn.rows) == 50


@pytest.mark.parametrize("n", [2, 4, 6])
def test_tiny_graphs_and_graphs_without_edges(n):
    assert np.isfinite(lay_out(ring(n) if n > 2 else Graph.from_edge_list([(0, 1)]), NONE).positions).all()
    empty = lay_out(Graph.from_scipy(sp.csr_array((n, n))), NONE)
    assert len(empty.pairs) == 0
    assert np.isfinite(empty.positions).all()
