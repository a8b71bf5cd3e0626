import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from s2gnn import Graph, InputError, diffuse
from s2gnn.graphs import DisjointUnion
from tests.random_graphs import graphs, random_graph

POINT = Graph.from_edge_list([], n_nodes=1)
APART = Graph.from_edge_list([], n_nodes=3)


@settings(max_examples=30)
@given(st.lists(graphs(max_nodes=6), min_size=1, max_size=5), st.data())
def test_a_union_is_block_diagonal_and_gives_its_graphs_back(parts, data):
    union = DisjointUnion.of(parts)
    expected = sp.block_diag([graph.to_scipy() for graph in parts]).toarray()
    np.testing.assert_array_equal(union.graph.to_scipy().toarray(), expected)
    assert Graph(union.graph.to_scipy()) == union.graph  # what was put together without a check passes it
    assert list(union) == parts
    chosen = data.draw(st.lists(st.integers(0, len(parts) - 1), min_size=1, max_size=4, unique=True))
    part = union.chosen(chosen)
    again = DisjointUnion.of([parts[number] for number in chosen])
    assert part.graph == again.graph
    np.testing.assert_array_equal(part.offsets, again.offsets)
    np.testing.assert_array_equal(part.graph_of_node, np.repeat(np.arange(len(chosen)), again.sizes))


def test_graphs_of_one_node_without_edges_and_smaller_than_top_are_diffused():
    triangle = Graph.from_edge_list([(0, 1), (1, 2), (0, 2)])
    parts = [POINT, triangle, APART, random_graph(25, 0.2)]
    diffused = DisjointUnion.of(parts).diffused(0.05, 15)
    assert list(diffused) == [diffuse(graph, 0.05, 15) for graph in parts]
    assert [graph.n_edges for graph in diffused][:3] == [0, 3, 0]
    assert diffused.sizes.tolist() == [1, 3, 3, 25]


@pytest.mark.parametrize(
    ("offsets", "sentence"),
    [
        ([0, 2, 2, 4], "graph 1 has no nodes: a graph has at least one"),
        ([0, 2], "offsets runs from 0 to 2, expected from 0 to the 4 nodes"),
        ([0, 1, 4], "an edge joins node 0 of graph 0 to node 1 of graph 1: the graphs of a union are separate"),
        ([0.0, 4.0], r"offsets has shape \(2,\) and dtype float64, expected integers"),
    ],
)
def test_wrong_offsets_are_named(offsets, sentence):
    graph = Graph.from_edge_list([(0, 1), (2, 3)])
    with pytest.raises(InputError, match=sentence):
        DisjointUnion(graph, np.array(offsets))


def test_wrong_numbers_of_graphs_are_named():
    union = DisjointUnion.of([POINT, APART])
    with pytest.raises(InputError, match=r"graphs\[1\] is 2, outside 0\.\.1 for 2 graphs"):
        union.chosen([0, 2])
    for wrong in ([], [1, 1]):
        with pytest.raises(InputError, match="expected numbers of one or more different graphs"):
            union.chosen(wrong)
    with pytest.raises(InputError, match="there is no graph: a union has at least one"):
        DisjointUnion.of([])
