"""The graph of an edge_index by the native pass, against `Graph.from_edge_index`."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from s2gnn import Graph, InputError
from s2gnn.operators import kernel
from s2gnn.operators.edge_index import graph_of_edge_index

OPTIONS = {"sum_duplicates": True, "drop_self_loops": True}


@st.composite
def edge_lists(draw):
    """Both directions of random edges in any order, with repeated edges, self-loops and zeros among them."""
    n = draw(st.integers(1, 7))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node, st.sampled_from([0.0, 0.1, 0.3, 2.0])), max_size=20))
    both = [(i, j, w) for a, b, w in edges for i, j in {(a, b), (b, a)}]
    both = draw(st.permutations(both))
    index = torch.tensor([(i, j) for i, j, _ in both], dtype=torch.int64).reshape(-1, 2).T
    return index, torch.tensor([w for *_, w in both], dtype=draw(st.sampled_from([torch.float32, torch.float64]))), n


@given(edge_lists())
def test_is_the_graph_of_from_edge_index(edges):
    index, weight, n = edges
    expected = Graph.from_edge_index(index, weight, n, **OPTIONS)
    for chosen in kernel.available():
        with kernel.use(chosen):
            graph, pairs = graph_of_edge_index(index, weight, n)
        np.testing.assert_array_equal(graph.indptr, expected.indptr)
        np.testing.assert_array_equal(graph.indices, expected.indices)
        np.testing.assert_allclose(graph.weights, expected.weights, rtol=1e-15)
        kept = pairs >= 0
        np.testing.assert_array_equal(graph.to_edge_list()[0][pairs[kept]], index[:, kept].sort(dim=0).values.T)
        assert all(i == j or w == 0 for i, j, w in zip(*index[:, ~kept], weight[~kept], strict=True))


def test_without_weights_every_edge_weighs_one():
    graph, pairs = graph_of_edge_index(torch.tensor([[0, 1, 0], [1, 0, 0]]), None, 3)
    assert graph == Graph.from_edge_list([(0, 1)], n_nodes=3)
    assert pairs.tolist() == [0, 0, -1]


def test_directions_that_differ_by_rounding_are_averaged():
    third = torch.tensor(1 / 3)
    weight = torch.stack([third, torch.nextafter(third, torch.tensor(1.0))])
    graph, _ = graph_of_edge_index(torch.tensor([[0, 1], [1, 0]]), weight, 2)
    assert graph.weights[0] == graph.weights[1] == weight.double().mean().item()


@pytest.mark.parametrize(
    ("index", "weight", "message"),
    [
        ([[0], [1]], [1.0], "not symmetric"),
        ([[0, 1], [1, 0]], [1.0, 2.0], "not symmetric"),
        ([[0, 1], [1, 0]], [-1.0, -1.0], "is negative"),
        ([[0, 1], [1, 0]], [torch.nan, 1.0], "is not finite"),
        ([[0, 5], [5, 0]], [1.0, 1.0], "outside 0..1 for 2 nodes"),
        ([[0, -1], [-1, 0]], [1.0, 1.0], "outside 0..1 for 2 nodes"),
        ([[0, 1], [1, 0]], [1.0], "there are 2 edges"),
    ],
)
def test_wrong_edges_are_named(index, weight, message):
    with pytest.raises(InputError, match=message):
        graph_of_edge_index(torch.tensor(index), torch.tensor(weight, dtype=torch.float64), 2)


def test_weights_in_a_list_keep_their_digits():
    graph, _ = graph_of_edge_index(torch.tensor([[0, 1], [1, 0]]), [0.1, 0.1], 2)
    assert graph.weights.tolist() == [0.1, 0.1]
    with pytest.raises(InputError, match="must be real numbers"):
        graph_of_edge_index(torch.tensor([[0, 1], [1, 0]]), np.array(["a", "b"]), 2)
