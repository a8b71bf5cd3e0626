"""Transforms that write edge weights or attach operators."""

import networkx
import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances, rbf_kernel
from torch_geometric import EdgeIndex
from torch_geometric.data import Data, HeteroData
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import Compose

from s2gnn import InputError, SobolevOperator
from s2gnn.pyg import Diffusion, EdgeWeights, S2Conv, WithOperator
from tests.graphs.test_diffusion import gdc
from tests.random_graphs import random_graph


def unweighted(n=12, seed=0):
    """A graph with features, its edges in random order."""
    index = random_graph(n, seed=seed).to_pyg().edge_index
    order = torch.randperm(index.shape[1], generator=torch.Generator().manual_seed(seed))
    x = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed))
    return Data(x, index[:, order], edge_attr=torch.arange(len(order)))


def untidy():
    """The same graph with some edges listed two or three times, self-loops, and two isolated nodes at the end."""
    data = unweighted()
    pairs = data.edge_index[:, :3]
    again = torch.cat(
        [pairs, pairs.flip(0), pairs[:, :1], pairs[:, :1].flip(0), torch.tensor([[3, 13], [3, 13]])], dim=1
    )
    index = torch.cat([again, data.edge_index], dim=1)
    return Data(torch.cat([data.x, torch.ones(2, 4)]), index, edge_attr=torch.arange(index.shape[1]))


def by_networkx(kind, data):
    """The weights (N, N) of neighbourhoods that include their own node, from functions for those that do not."""
    G = networkx.from_edgelist(pair for pair in data.edge_index.T.tolist() if pair[0] != pair[1])
    pairs = [*G.edges]
    if kind == "jaccard":
        # Both ends of an edge are in the intersection of closed neighbourhoods, and in either union.
        scores = {(i, j): score + 2 / len({*G[i], *G[j]}) for i, j, score in networkx.jaccard_coefficient(G, pairs)}
    else:
        own = {node: 1 / np.log(1 + degree) for node, degree in G.degree}
        G.add_edges_from([(node, ("leaf", node)) for node in [*G]])  # one neighbour more for everybody
        scores = {(i, j): score + own[i] + own[j] for i, j, score in networkx.adamic_adar_index(G, pairs)}
        scores = {pair: score / max(scores.values()) for pair, score in scores.items()}
    dense = np.zeros((data.num_nodes, data.num_nodes))
    for (i, j), score in scores.items():
        dense[i, j] = dense[j, i] = score
    return dense


def by_scikit_learn(kind, data):
    x = data.x.double().numpy()
    joined = adjacency(data.edge_index, torch.ones(data.num_edges), data.num_nodes) > 0
    np.fill_diagonal(joined, False)
    lengths = euclidean_distances(x)[joined]
    similarities = (1 + cosine_similarity(x)) / 2 if kind == "cosine" else rbf_kernel(x, gamma=1 / lengths.mean() ** 2)
    return similarities * joined


def adjacency(index, weight, n):
    dense = torch.zeros(n, n, dtype=torch.float64)
    return dense.index_put_(tuple(index), weight.double(), accumulate=True).numpy()


ORACLES = {"jaccard": by_networkx, "adamic_adar": by_networkx, "cosine": by_scikit_learn, "gaussian": by_scikit_learn}


@pytest.mark.parametrize("form", [torch.Tensor.int, lambda index: EdgeIndex(index, sparse_size=(14, 14)), torch.clone])
@pytest.mark.parametrize("kind", ORACLES)
def test_edge_weights_are_those_of_networkx_and_scikit_learn(kind, form):
    data = untidy()
    index = data.edge_index
    data.edge_index = form(index)
    out = EdgeWeights(kind)(data)
    assert torch.equal(out.edge_index, data.edge_index)
    assert torch.equal(out.edge_attr, data.edge_attr)
    assert "edge_weight" not in data  # a transform changes a copy
    assert out.edge_weight.dtype == torch.float32
    np.testing.assert_allclose(adjacency(index, out.edge_weight, 14), ORACLES[kind](kind, data), rtol=1e-5, atol=1e-7)
    conv = S2Conv(4, 3, alpha=2)
    assert conv(out.x, out.edge_index, out.edge_weight).shape == (14, 3)  # no IdenticalBranchesWarning


def test_repeated_edges_share_a_weight_and_loops_have_none():
    index = torch.tensor([[0, 1, 1, 2, 0, 1, 2], [1, 0, 2, 1, 1, 0, 2]])
    out = EdgeWeights("jaccard")(Data(edge_index=index, num_nodes=3))
    torch.testing.assert_close(out.edge_weight, torch.tensor([1 / 3, 1 / 3, 2 / 3, 2 / 3, 1 / 3, 1 / 3, 0.0]))


@pytest.mark.parametrize("kind", ORACLES)
def test_graphs_without_edges_or_with_loops_alone(kind):
    for index in (torch.empty(2, 0, dtype=torch.int64), torch.tensor([[1], [1]])):
        out = EdgeWeights(kind)(Data(torch.ones(3, 2), index))
        assert torch.equal(out.edge_weight, torch.zeros(index.shape[1]))


def test_weights_have_the_type_of_the_features_which_may_be_sparse():
    data = unweighted()
    data.x = data.x.double()
    dense = EdgeWeights("cosine")(data).edge_weight
    assert dense.dtype == torch.float64
    for x in (data.x.to_sparse(), data.x.to_sparse_csr()):
        data.x = x
        torch.testing.assert_close(EdgeWeights("cosine")(data).edge_weight, dense)


def test_misuse_is_explained():
    with pytest.raises(InputError, match="kind is 'jacard', but it must be one of jaccard, adamic_adar, cosine, gauss"):
        EdgeWeights("jacard")
    with pytest.raises(InputError, match='data has no features x, which "cosine" and "gaussian" compare'):
        EdgeWeights("cosine")(Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2))
    several = HeteroData({"paper": {"x": torch.ones(2, 4)}})
    for transform in (EdgeWeights("jaccard"), Diffusion(), WithOperator()):
        with pytest.raises(InputError, match="the graph is not symmetric: .* torch_geometric.utils.to_undirected"):
            transform(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2))
        with pytest.raises(InputError, match="got a HeteroData, expected a Data with one kind of nodes and edges"):
            transform(several)
        with pytest.raises(InputError, match="data has no edge_index: .* ToSparseTensor"):
            transform(Data(torch.ones(2, 4)))
    assert repr(EdgeWeights("jaccard")) == "EdgeWeights('jaccard')"


@pytest.mark.parametrize("weighted", [False, True])
def test_diffusion_is_that_of_a_dense_inverse(weighted):
    data = untidy()
    data.edge_attr = torch.arange(3)  # dropped, whatever it is
    ones = torch.ones(data.num_edges)
    data.edge_weight = EdgeWeights("cosine")(data).edge_weight if weighted else ones
    A = adjacency(data.edge_index, data.edge_weight, 14)
    np.fill_diagonal(A, 1)
    root = np.diag(A.sum(axis=0) ** -0.5)
    ranks = 0.1 * np.linalg.inv(np.eye(14) - 0.9 * root @ A @ root)
    kept = np.where(ranks >= np.sort(ranks, axis=0)[-5], ranks, 0)
    expected = kept / kept.sum(axis=0)
    expected += expected.T
    np.fill_diagonal(expected, 0)
    out = Diffusion(teleport=0.1, top=5)(data)
    np.testing.assert_allclose(adjacency(out.edge_index, out.edge_weight, 14), expected, rtol=1e-5, atol=1e-7)
    assert "edge_attr" not in out
    assert out.edge_weight.dtype == torch.float32
    assert repr(Diffusion(0.1, 5)) == "Diffusion(teleport=0.1, top=5)"


def test_diffusion_is_that_of_pyg_made_symmetric():
    data = unweighted()
    data.edge_attr = None
    theirs = gdc(0.1, 5)(data)
    S = adjacency(theirs.edge_index, theirs.edge_attr, 12)
    np.fill_diagonal(S, 0)
    ours = Diffusion(teleport=0.1, top=5)(data)
    np.testing.assert_allclose(adjacency(ours.edge_index, ours.edge_weight, 12), S + S.T, atol=1e-6)


def test_operators_are_batched_with_their_graphs():
    torch.manual_seed(0)
    transform = Compose([EdgeWeights("jaccard"), WithOperator(alpha=3, epsilon=0.7)])
    graphs = [transform(data) for data in (unweighted(5), untidy(), unweighted(9))]
    conv = S2Conv(4, 3, alpha=3, epsilon=0.7)
    for batch in DataLoader(graphs, batch_size=2):
        by_edges = conv(batch.x, batch.edge_index, batch.edge_weight)
        torch.testing.assert_close(conv(batch.x, batch.operator), by_edges, rtol=1e-5, atol=1e-6)
    data = graphs[0]
    assert batch.to_data_list()[0].operator is graphs[2].operator
    torch.testing.assert_close(conv(data.x, data.operator), conv(data.x, data.edge_index, data.edge_weight))
    assert data.to("meta").operator.device == torch.device("meta")
    assert repr(WithOperator(3, 0.7)) == "WithOperator(alpha=3, epsilon=0.7, shift='adjacency')"


def test_a_union_has_the_matrices_of_its_parts_and_one_setting():
    parts = [SobolevOperator(random_graph(n, seed=n), 2, 0.7) for n in (4, 6)]
    union = SobolevOperator.union(parts)
    for rho in (1, 2):
        blocks = union.matrix(rho).toarray()
        np.testing.assert_allclose(blocks[:4, :4], parts[0].matrix(rho).toarray())
        np.testing.assert_allclose(blocks[4:, 4:], parts[1].matrix(rho).toarray())
        assert np.count_nonzero(blocks[:4, 4:]) == 0
        np.testing.assert_allclose(union.propagate(torch.eye(10))[rho - 1].numpy(), blocks, atol=1e-6)
    with pytest.raises(InputError, match="epsilon=0.7.*epsilon=0.8.* differ: build all with the same values"):
        SobolevOperator.union([parts[0], SobolevOperator(random_graph(4), 2, 0.8)])
    with pytest.raises(InputError, match="the batch has a str among its operators, expected a SobolevOperator"):
        S2Conv(4, 3)(torch.ones(4, 4), ["edges"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Diffusion(teleport=2), "teleport is 2"),
        (lambda: Diffusion(top=-1), "top is -1"),
        (lambda: WithOperator(alpha=0), "alpha is 0"),
        (lambda: WithOperator(epsilon=-1), "epsilon is -1"),
        (lambda: WithOperator(shift="foo"), "shift is 'foo'"),
    ],
)
def test_arguments_are_checked_at_once(make, message):
    with pytest.raises(InputError, match=message):
        make()
