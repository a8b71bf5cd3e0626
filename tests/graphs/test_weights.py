import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances

from s2gnn import Graph, InputError
from s2gnn.graphs import weights
from tests.random_graphs import graphs, random_graph


def edges_of(g):
    return g.to_edge_list()[0]


@given(graphs(), st.integers(0, 1000))
def test_all_keep_the_pattern_with_weights_in_the_unit_interval(g, seed):
    X = np.random.default_rng(seed).normal(size=(g.n_nodes, 3))
    for reweighted in (
        weights.jaccard(g),
        weights.adamic_adar(g),
        weights.gaussian(g, X),
        weights.cosine(g, X),
        weights.degree_normalized(g),
    ):
        np.testing.assert_array_equal(reweighted.indices, g.indices)
        np.testing.assert_array_equal(reweighted.indptr, g.indptr)
        assert np.all((reweighted.weights > 0) & (reweighted.weights <= 1 + 1e-12))


@given(graphs())
def test_neighbourhood_weights_equal_sets_of_neighbours(g):
    G = networkx.Graph(g.to_networkx())
    closed = {node: {node, *G[node]} for node in G}
    jaccard = [len(closed[i] & closed[j]) / len(closed[i] | closed[j]) for i, j in edges_of(g)]
    np.testing.assert_allclose(weights.jaccard(g).to_edge_list()[1], jaccard)
    scores = np.array([sum(1 / np.log(1 + G.degree(u)) for u in closed[i] & closed[j]) for i, j in edges_of(g)])
    if len(scores):
        np.testing.assert_allclose(weights.adamic_adar(g).to_edge_list()[1], scores / scores.max())


def test_feature_weights_equal_scikit_learn():
    g = random_graph(30)
    X = np.random.default_rng(0).normal(size=(30, 4))
    i, j = edges_of(g).T
    lengths = euclidean_distances(X)[i, j]
    for sigma, width in (("mean", lengths.mean()), (0.7, 0.7)):
        np.testing.assert_allclose(
            weights.gaussian(g, X, sigma).to_edge_list()[1], np.exp(-((lengths / width) ** 2)), rtol=1e-9
        )
    np.testing.assert_allclose(weights.cosine(g, X).to_edge_list()[1], (1 + cosine_similarity(X)[i, j]) / 2)


def test_degree_normalized_is_the_normalised_adjacency():
    g = random_graph(20)
    root = np.diag(g.degrees**-0.5)
    np.testing.assert_allclose(weights.degree_normalized(g).to_scipy().toarray(), root @ g.to_scipy().toarray() @ root)


def test_zero_and_opposite_and_equal_rows_keep_their_edges():
    g = Graph.from_edge_list([(0, 1), (1, 2), (2, 3)])
    X = np.array([[1.0, 0], [-1.0, 0], [0, 0], [0, 0]])
    cosine = weights.cosine(g, X).to_edge_list()[1]
    assert 0 < cosine[0] < 1e-300
    assert cosine[1:].tolist() == [0.5, 0.5]
    assert weights.gaussian(g, np.ones((4, 2))).weights.tolist() == [1.0] * 6


def test_features_of_another_number_of_rows():
    with pytest.raises(InputError, match="X has 3 rows, but the graph has 5 nodes"):
        weights.gaussian(random_graph(5), np.ones((3, 2)))
    with pytest.raises(InputError, match="sigma is -1"):
        weights.gaussian(random_graph(5), np.ones((5, 2)), sigma=-1)
