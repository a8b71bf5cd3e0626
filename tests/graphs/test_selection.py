import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2gnn import Graph, InputError
from s2gnn.graphs import induced_subgraph
from tests.random_graphs import graphs, random_graph


@given(graphs(), st.data())
def test_an_induced_subgraph_is_the_principal_submatrix(graph, data):
    nodes = data.draw(st.lists(st.integers(0, graph.n_nodes - 1), min_size=1, unique=True))
    ascending = np.sort(nodes)
    assert induced_subgraph(graph, nodes) == Graph(graph.to_scipy()[ascending][:, ascending])


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ([], r"the nodes have shape \(0,\)"),
        ([0.5], "dtype float64, expected numbers of nodes"),
        ([1, 1], "a node is chosen more than once"),
        ([0, 9], r"there is no node 9: nodes are 0\.\.8"),
        ([-1], "there is no node -1"),
    ],
)
def test_wrong_nodes(nodes, text):
    with pytest.raises(InputError, match=text):
        induced_subgraph(random_graph(9), nodes)
