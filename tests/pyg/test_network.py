"""S2GNN of MessagePassing layers."""

import pytest
import torch
from torch_geometric import EdgeIndex
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.utils import to_torch_csr_tensor
from torch_geometric.utils._subgraph import get_num_hops

import s2gnn
from s2gnn import InputError, SobolevOperator
from s2gnn.nn import S2GNN as PlainS2GNN
from s2gnn.nn import load_model, save_model
from s2gnn.pyg import S2GNN
from tests.random_graphs import random_graph

N, IN, OUT, ALPHA = 12, 5, 3, 3
GRAPH = random_graph(N)
DATA = GRAPH.to_pyg()
EDGES = DATA.edge_index, DATA.edge_weight
X = torch.randn(N, IN, generator=torch.Generator().manual_seed(0))


@pytest.fixture(params=[0.8, "learn"])
def networks(request):
    torch.manual_seed(0)
    plain = PlainS2GNN(IN, 8, OUT, alpha=ALPHA, epsilon=request.param).eval()
    ours = S2GNN(IN, 8, OUT, alpha=ALPHA, epsilon=request.param).eval()
    ours.load_state_dict(plain.state_dict())
    return ours, plain


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_it_is_the_plain_network_in_every_form_of_edges(networks):
    ours, plain = networks
    expected = plain(X, *EDGES)
    assert s2gnn.S2GNN is S2GNN
    assert get_num_hops(ours) == 2
    torch.testing.assert_close(ours(*ours.prepare(X, GRAPH)), expected)
    torch.testing.assert_close(ours(X, edge_index=EDGES[0], edge_weight=EDGES[1]), expected)
    for edges in [EDGES, (EdgeIndex(EDGES[0], sparse_size=(N, N)), EDGES[1]), (to_torch_csr_tensor(*EDGES, N),)]:
        torch.testing.assert_close(ours(X, *edges), expected)


def test_the_layers_take_their_further_arguments(tmp_path):
    index, weight = EDGES
    model = S2GNN(-1, 8, OUT, alpha=ALPHA, epsilon=0.8, cached=True, flow="target_to_source", bias=False).eval()
    expected = model(X, index[:, ::2], weight[::2])
    assert model.config.in_channels == IN
    assert [conv.bias for conv in model.convs] == [None, None]
    assert torch.equal(model(X, index, weight), expected)  # the operator is kept
    save_model(model, tmp_path)
    torch.testing.assert_close(load_model(tmp_path)(X, index[:, ::2], weight[::2]), expected)
    lazy = S2GNN(-1, 8, OUT, directed=False)
    assert lazy(*lazy.prepare(X, GRAPH)).shape == (N, OUT)
    with pytest.raises(InputError, match="the graph is not symmetric"):
        lazy(X, index[:, ::2], weight[::2])
    with pytest.raises(InputError, match="prepare normalises the operator, but the network has normalize=False"):
        S2GNN(IN, 8, OUT, normalize=False).prepare(X, GRAPH)


def test_an_explainer_masks_its_edges(networks):
    ours, plain = networks
    explainer = Explainer(
        ours, GNNExplainer(epochs=2), "model", node_mask_type=None, edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )  # fmt: skip

    def predict(mask):
        return explainer.get_masked_prediction(X, EDGES[0], edge_mask=mask, edge_weight=EDGES[1])

    torch.testing.assert_close(predict(torch.ones(len(EDGES[1]))), plain(X, *EDGES), rtol=1e-5, atol=1e-5)
    assert (predict(torch.zeros(len(EDGES[1]))) - plain(X, *EDGES)).abs().max() > 0.01
    assert explainer(X, EDGES[0], edge_weight=EDGES[1], index=0).edge_mask.shape == EDGES[1].shape


def test_the_operators_of_a_batch():
    model = S2GNN(IN, 8, OUT, alpha=ALPHA, epsilon=0.8).eval()
    operators = [SobolevOperator(random_graph(n), ALPHA, 0.8) for n in (5, 9)]
    parts = [torch.randn(op.n_nodes, IN) for op in operators]
    expected = torch.cat([model(x, op) for x, op in zip(parts, operators, strict=True)])
    torch.testing.assert_close(model(torch.cat(parts), operators), expected)
