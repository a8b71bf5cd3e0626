import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.utils import homophily

from s2gnn import Graph, InputError
from s2gnn.graphs import node_homophily
from tests.random_graphs import graphs


@given(graphs(), st.integers(0, 1000))
def test_node_homophily_equals_pyg(g, seed):
    y = np.random.default_rng(seed).integers(0, 3, g.n_nodes)
    expected = homophily(g.to_pyg().edge_index, torch.from_numpy(y), method="node")
    assert node_homophily(g, y) == pytest.approx(expected, abs=1e-6)


def test_string_labels_and_wrong_length():
    g = Graph.from_edge_list([(0, 1), (1, 2)])
    assert node_homophily(g, ["a", "a", "b"]) == 0.5
    with pytest.raises(InputError, match=r"y has shape \(2,\), but the graph has 3 nodes"):
        node_homophily(g, [0, 1])
