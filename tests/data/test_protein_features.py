import numpy as np
from hypothesis import given

from s2gnn import Graph
from s2gnn.data.protein_features import interaction_features
from tests.random_graphs import graphs


@given(graphs())
def test_against_numpy_node_by_node(g):
    features = interaction_features(g)
    assert features.shape == (g.n_nodes, 8)
    for node in range(g.n_nodes):
        weights = g.weights[g.indptr[node] : g.indptr[node + 1]]
        expected = np.zeros(8)
        if len(weights):
            quantiles = np.quantile(weights, [0, 0.2, 0.4, 0.6, 0.8, 1])
            expected = np.r_[np.log(1 + len(weights)), weights.sum(), quantiles]
        assert np.allclose(features[node], expected)


def test_isolated_nodes_have_zeros():
    features = interaction_features(Graph.from_edge_list([(0, 1)], [0.5], n_nodes=3))
    assert features[2].tolist() == [0] * 8
    assert features[0].tolist() == [np.log(2)] + [0.5] * 7
