import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2gnn import Graph, InputError
from s2gnn.graphs import DisjointUnion, cut_share, partition
from tests.random_graphs import graphs, random_graph


@given(graphs(), st.sampled_from(["metis", "random"]), st.data())
def test_every_node_is_in_one_of_the_parts_and_none_is_empty(graph, method, data):
    n_parts = data.draw(st.integers(1, graph.n_nodes))
    parts = partition(graph, n_parts, method)
    assert parts.shape == (graph.n_nodes,)
    assert set(parts) == set(range(n_parts))


def test_metis_finds_the_blocks_of_a_graph_and_random_parts_do_not():
    blocks = DisjointUnion.of([random_graph(30, 0.5, seed) for seed in range(4)]).graph
    assert cut_share(blocks, partition(blocks, 4)) == 0
    assert cut_share(blocks, partition(blocks, 4, "random")) == pytest.approx(0.75, abs=0.05)


def test_heavy_edges_are_not_cut():
    ring = [(i, (i + 1) % 8) for i in range(8)]
    graph = Graph.from_edge_list(ring, weights=[1.0, 1.0, 1.0, 0.01] * 2)
    parts = partition(graph, 2)
    assert cut_share(graph, parts) == pytest.approx(0.02 / 6.02)


@pytest.mark.parametrize("rows", [3, 20, 2**16])
def test_the_cut_is_the_weight_between_parts(rows, monkeypatch):
    monkeypatch.setattr(sys.modules["s2gnn.graphs.partition"], "ROWS_AT_A_TIME", rows)
    graph = random_graph(20, seed=3)
    parts = np.arange(20) % 3
    dense = graph.to_scipy().toarray()
    across = parts[:, None] != parts
    assert cut_share(graph, parts) == pytest.approx(dense[across].sum() / dense.sum())
    assert cut_share(Graph.from_edge_list([], n_nodes=3), [0, 1, 2]) == 0


def test_the_same_seed_gives_the_same_parts():
    graph = random_graph(200, 0.05)
    for method in ("metis", "random"):
        assert np.array_equal(partition(graph, 5, method, seed=1), partition(graph, 5, method, seed=1))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((0,), "n_parts is 0, but a graph of 9 nodes has 1 to 9 parts"),
        ((10,), "n_parts is 10"),
        ((2.0,), "n_parts is 2.0"),
        ((2, "louvain"), "method is 'louvain', but it must be one of metis, random"),
    ],
)
def test_wrong_arguments(arguments, text):
    with pytest.raises(InputError, match=text):
        partition(random_graph(9), *arguments)
    with pytest.raises(InputError, match=r"the parts have shape \(3,\), expected one for each node, \(9,\)"):
        cut_share(random_graph(9), [0, 1, 2])


def test_without_metis_the_error_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(InputError, match=r'pip install "s2gnn\[parts\]", or use method="random"'):
        partition(random_graph(9), 2)
