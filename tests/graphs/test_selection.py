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
        ([], r"nodes has shape \(0,\), expected one or more different nodes"),
        ([0.5], r"nodes\[0\] is .*0\.5.*, but indices are integers"),
        ([1, 1], r"nodes has shape \(2,\), expected one or more different nodes"),
        ([0, 9], r"nodes\[1\] is 9, outside 0\.\.8 for 9 nodes"),
        ([-1], r"nodes\[0\] is -1, outside"),
    ],
)
def test_wrong_nodes(nodes, text):
    with pytest.raises(InputError, match=text):
        induced_subgraph(random_graph(9), nodes)
