"""Transforms that write edge weights or attach operators."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import Compose

from s2gnn import Graph, InputError, SobolevOperator, diffuse
from s2gnn.graphs import weights
from s2gnn.pyg import Diffusion, EdgeWeights, S2Conv, WithOperator
from tests.random_graphs import random_graph


def unweighted(n=12, seed=0):
    """A graph with features, its edges in random order."""
    index = random_graph(n, seed=seed).to_pyg().edge_index
    order = torch.randperm(index.shape[1], generator=torch.Generator().manual_seed(seed))
    x = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed))
    return Data(x, index[:, order], edge_attr=torch.arange(len(order)))


@pytest.mark.parametrize("kind", ["jaccard", "adamic_adar", "cosine", "gaussian"])
def test_edge_weights_are_those_of_the_graph_in_the_order_of_the_edges(kind):
    data = unweighted()
    index, attributes = data.edge_index.clone(), data.edge_attr.clone()
    graph = Graph.from_edge_index(index, n_nodes=12)
    features = (data.x.numpy(),) if kind in ("cosine", "gaussian") else ()
    expected = getattr(weights, kind)(graph, *features)
    out = EdgeWeights(kind)(data)
    assert torch.equal(out.edge_index, index)
    assert torch.equal(out.edge_attr, attributes)
    assert out.edge_weight.dtype == torch.float32
    found = Graph.from_edge_index(out.edge_index, out.edge_weight.double(), 12)
    np.testing.assert_allclose(found.to_scipy().toarray(), expected.to_scipy().toarray(), rtol=1e-6)
    conv = S2Conv(4, 3, alpha=2)
    assert conv(out.x, out.edge_index, out.edge_weight).shape == (12, 3)  # no IdenticalBranchesWarning


def test_repeated_edges_share_a_weight_and_loops_have_none():
    index = torch.tensor([[0, 1, 1, 2, 0, 1, 2], [1, 0, 2, 1, 1, 0, 2]])
    out = EdgeWeights("jaccard")(Data(edge_index=index, num_nodes=3))
    torch.testing.assert_close(out.edge_weight, torch.tensor([1 / 3, 1 / 3, 2 / 3, 2 / 3, 1 / 3, 1 / 3, 0.0]))


def test_an_unknown_kind_and_a_directed_graph():
    with pytest.raises(InputError, match="kind is 'jacard', but it must be one of jaccard, adamic_adar, cosine, gauss"):
        EdgeWeights("jacard")
    with pytest.raises(InputError, match="the graph is not symmetric"):
        EdgeWeights("jaccard")(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2))
    assert repr(EdgeWeights("jaccard")) == "EdgeWeights('jaccard')"


def test_diffusion_is_that_of_the_graph():
    data = unweighted()
    expected = diffuse(Graph.from_edge_index(data.edge_index, n_nodes=12), teleport=0.1, top=5)
    data.edge_attr = None
    out = Diffusion(teleport=0.1, top=5)(data)
    found = Graph.from_pyg(out)
    np.testing.assert_allclose(found.to_scipy().toarray(), expected.to_scipy().toarray(), rtol=1e-6)
    assert out.edge_weight.dtype == torch.float32
    assert repr(Diffusion(0.1, 5)) == "Diffusion(teleport=0.1, top=5)"


def test_operators_are_batched_with_their_graphs():
    torch.manual_seed(0)
    transform = Compose([EdgeWeights("jaccard"), WithOperator(alpha=3, epsilon=0.7)])
    graphs = [transform(unweighted(n, seed=n)) for n in (5, 9, 14)]
    conv = S2Conv(4, 3, alpha=3, epsilon=0.7)
    for batch in DataLoader(graphs, batch_size=2):
        by_edges = conv(batch.x, batch.edge_index, batch.edge_weight)
        torch.testing.assert_close(conv(batch.x, batch.operator), by_edges, rtol=1e-5, atol=1e-6)
    (data,) = graphs[:1]
    torch.testing.assert_close(conv(data.x, data.operator), conv(data.x, data.edge_index, data.edge_weight))
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
