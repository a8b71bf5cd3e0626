"""Samplers of PyTorch Geometric that need torch-sparse, which `make test-loaders` builds."""

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.loader import GraphSAINTNodeSampler, LinkNeighborLoader, NeighborLoader, ShaDowKHopSampler

from s2gnn.pyg import S2GNN, S2Conv
from tests.pyg.test_conv import S2Model
from tests.random_graphs import random_graph

torch_sparse = pytest.importorskip("torch_sparse", reason="torch-sparse is not installed: make test-loaders")
pytestmark = pytest.mark.filterwarnings(
    "ignore:Using 'NeighborSampler' without a 'pyg-lib' installation", "ignore:Sparse invariant checks"
)

N, IN, OUT, ALPHA, EPSILON = 40, 5, 4, 3, 0.8
DATA = random_graph(N, density=0.08).to_pyg(torch.float32)
DATA.x = torch.randn(N, IN, generator=torch.Generator().manual_seed(0))
EDGES = DATA.edge_index, DATA.edge_weight


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def make(*widths, **options):
    return S2Conv(*(widths or (IN, OUT)), alpha=ALPHA, epsilon=EPSILON, **options)


def test_a_sparse_tensor_is_a_transposed_adjacency_matrix():
    conv, index, weight = make(), EDGES[0][:, ::2], EDGES[1][::2]
    adjacency = torch_sparse.SparseTensor(row=index[1], col=index[0], value=weight, sparse_sizes=(N, N))
    torch.testing.assert_close(conv(DATA.x, adjacency), conv(DATA.x, index, weight))


@pytest.mark.parametrize("kind", ["directional", "induced", "bidirectional"])
def test_sampled_neighbours_train_a_network(kind):
    model, seen = S2GNN(IN, 8, OUT, alpha=ALPHA, epsilon=EPSILON), []
    for batch in NeighborLoader(DATA, num_neighbors=[2, 2], batch_size=7, subgraph_type=kind):
        out = model(batch.x, batch.edge_index, batch.edge_weight)
        assert out.shape == (batch.num_nodes, OUT)
        out[: batch.batch_size].sum().backward()
        seen += batch.n_id[: batch.batch_size].tolist()
    assert seen == list(range(N))
    assert all(parameter.grad.abs().max() > 0 for parameter in model.parameters())


def test_all_neighbours_of_a_node_give_its_output_on_the_graph():
    """A layer takes one hop, and the degrees of the sources one more."""
    conv = make()
    expected = conv(DATA.x, *EDGES)
    for batch in NeighborLoader(DATA, num_neighbors=[-1, -1], batch_size=4):
        out = conv(batch.x, batch.edge_index, batch.edge_weight)[: batch.batch_size]
        torch.testing.assert_close(out, expected[batch.n_id[: batch.batch_size]])


def test_all_neighbours_of_an_edge_give_the_outputs_of_its_ends():
    conv = make()
    expected, seen = conv(DATA.x, *EDGES), 0
    options = {"edge_label_index": EDGES[0], "neg_sampling": "binary"}
    for batch in LinkNeighborLoader(DATA, num_neighbors=[-1, -1], batch_size=16, **options):
        out = conv(batch.x, batch.edge_index, batch.edge_weight)
        ends = batch.edge_label_index  # (2, 32): edges and as many pairs without one
        torch.testing.assert_close(out[ends], expected[batch.n_id[ends]])
        seen += int(batch.edge_label.sum())
    assert seen == DATA.num_edges


@pytest.mark.parametrize("sampler", ["ShaDow", "GraphSAINT"])
def test_induced_subgraphs_have_the_edges_of_the_graph(sampler):
    conv = make()
    dense = torch.zeros(N, N)
    dense[*EDGES[0]] = EDGES[1]
    if sampler == "ShaDow":
        data = Data(DATA.x, DATA.edge_index, edge_attr=DATA.edge_weight)
        batches = ShaDowKHopSampler(data, depth=2, num_neighbors=3, batch_size=9)
    else:
        batches = GraphSAINTNodeSampler(DATA, batch_size=15, num_steps=2)
    for batch in batches:
        weight = batch.edge_attr if sampler == "ShaDow" else batch.edge_weight
        nodes = find(batch.x)
        torch.testing.assert_close(weight, dense[*nodes[batch.edge_index]])
        assert conv(batch.x, batch.edge_index, weight).shape == (batch.num_nodes, OUT)


def find(x):
    """The nodes with the features x."""
    return torch.cdist(x, DATA.x).argmin(dim=1)


def test_inference_layer_by_layer_is_exact_without_normalisation():
    """With it, the degrees of sources are those of the batch, for GCNConv as well."""
    model = S2Model(IN, 8, 2, OUT, normalize=False).eval()
    loader = NeighborLoader(Data(DATA.x, DATA.edge_index), num_neighbors=[-1], batch_size=7)
    with torch.no_grad():
        torch.testing.assert_close(model.inference(loader), model(DATA.x, DATA.edge_index), rtol=1e-4, atol=1e-4)
