"""S2Conv as a layer of PyTorch Geometric: what a GCNConv can do, it can do, with the numbers of the operator way."""

import ast
import copy
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch_geometric import EdgeIndex
from torch_geometric.data import Data
from torch_geometric.explain import Explainer, GNNExplainer, PGExplainer
from torch_geometric.nn import GCNConv, MessagePassing, to_hetero, to_hetero_with_bases
from torch_geometric.nn.models import GCN
from torch_geometric.nn.models.basic_gnn import BasicGNN
from torch_geometric.transforms import GDC, RandomLinkSplit
from torch_geometric.utils import (
    dropout_edge,
    k_hop_subgraph,
    remove_self_loops,
    to_torch_coo_tensor,
    to_torch_csc_tensor,
    to_torch_csr_tensor,
)
from torch_geometric.utils._subgraph import get_num_hops

import s2gnn
from s2gnn import InputError, SobolevOperator
from s2gnn import nn as plain
from s2gnn.operators import EdgeOperator
from s2gnn.pyg import S2Conv
from tests.random_graphs import random_graph

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks")

N, IN, OUT, ALPHA, EPSILON = 12, 5, 4, 3, 0.8
GRAPH = random_graph(N)
DATA = GRAPH.to_pyg()
INDEX, WEIGHT = DATA.edge_index, DATA.edge_weight
DIRECTED = INDEX[:, ::2], WEIGHT[::2]
X = torch.randn(N, IN, generator=torch.Generator().manual_seed(0))
OPERATOR = SobolevOperator(GRAPH, ALPHA, EPSILON)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def make(*arguments, **options):
    return S2Conv(*(arguments or (IN, OUT)), alpha=ALPHA, epsilon=EPSILON, **options)


class TwoLayers(torch.nn.Module):
    def __init__(self, layer=make, **options):
        super().__init__()
        self.first, self.second = layer(IN, 8, **options), layer(8, 3, **options)

    def forward(self, x, edge_index, edge_weight=None):
        return self.second(self.first(x, edge_index, edge_weight).relu(), edge_index, edge_weight)


def test_it_is_the_layer_that_the_package_exports_and_a_message_passing_module():
    assert s2gnn.S2Conv is S2Conv
    assert isinstance(make(), MessagePassing)
    assert isinstance(make(), plain.S2Conv)
    assert get_num_hops(TwoLayers()) == 2


def test_its_signature_is_that_of_the_plain_layer_and_more():
    ours, theirs = (inspect.signature(layer).parameters for layer in (S2Conv, plain.S2Conv))
    assert [ours[name] for name in theirs] == list(theirs.values())
    assert list(ours)[len(theirs) :] == ["cached", "normalize", "flow", "unsupported"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        make(nonsense=1)


def test_the_static_types_of_the_package_are_the_classes_it_exports():
    imports = ast.parse(Path(s2gnn.__file__).read_text()).body
    typed = next(node.body for node in imports if isinstance(node, ast.If))
    for node in typed:
        for alias in node.names:
            assert getattr(importlib.import_module(node.module), alias.name) is getattr(s2gnn, alias.name)


def test_the_package_works_without_pyg():
    code = """
import sys
sys.modules["torch_geometric"] = None
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch_geometric" else find_spec(name, *rest)
import s2gnn
print(s2gnn.S2Conv is s2gnn.nn.S2Conv, s2gnn.S2GNN is s2gnn.nn.S2GNN)
print("torch_geometric" in sys.modules and sys.modules["torch_geometric"])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.split() == ["True", "True", "None"], result.stderr


@pytest.mark.parametrize("fusion", ["linear", "mlp", "attention"])
def test_all_forms_of_edges_give_the_numbers_of_the_operator(fusion):
    conv = make(fusion=fusion)
    expected = conv(X, OPERATOR)
    index, values = EdgeIndex(INDEX, sparse_size=(N, N)), WEIGHT
    for edges in [
        (INDEX, WEIGHT),
        (INDEX, WEIGHT[:, None]),
        (index, values),
        (to_torch_coo_tensor(INDEX, WEIGHT, N),),
        (to_torch_csr_tensor(INDEX, WEIGHT, N),),
        (to_torch_csc_tensor(INDEX, WEIGHT, N),),
    ]:
        torch.testing.assert_close(conv(X, *edges), expected)
    torch.testing.assert_close(conv(X, edge_index=INDEX, edge_weight=WEIGHT), expected)


def test_sparse_matrices_are_transposed_adjacency_matrices():
    conv, (index, weight) = make(), DIRECTED
    expected = conv(X, index, weight)
    for form in (to_torch_coo_tensor, to_torch_csr_tensor, to_torch_csc_tensor):
        torch.testing.assert_close(conv(X, form(index.flip(0), weight, N)), expected)


def test_flow_turns_every_edge_around():
    conv, turned = make(), make(flow="target_to_source")
    turned.load_state_dict(conv.state_dict())
    index, weight = DIRECTED
    torch.testing.assert_close(turned(X, index, weight), conv(X, index.flip(0), weight))
    watch(turned)
    torch.testing.assert_close(turned(X, index, weight), conv(X, index.flip(0), weight))
    with pytest.raises(InputError, match="flow is target_to_source, which a sparse matrix does not have"):
        turned(X, to_torch_coo_tensor(index, weight, N))


def watch(conv):
    """Look at messages, so that the layer makes them."""
    seen = []
    conv.register_message_forward_hook(lambda module, inputs, output: seen.append(output.shape))
    return seen


@pytest.mark.parametrize(
    "edges", [(INDEX, WEIGHT), DIRECTED, (INDEX, None)], ids=["undirected", "directed", "no weights"]
)
@pytest.mark.parametrize("shift", [None, "laplacian", "normalized_adjacency", "normalized_laplacian"])
@pytest.mark.parametrize("epsilon", [EPSILON, "learn"])
def test_messages_give_the_numbers_and_gradients_of_the_kernels(edges, shift, epsilon):
    conv = S2Conv(IN, OUT, ALPHA, epsilon, "mlp", shift=shift)
    watched = copy.deepcopy(conv)
    seen = watch(watched)
    for x in (X, torch.randn(2, N, IN)):
        torch.testing.assert_close(watched(x, *edges), conv(x, *edges), rtol=1e-5, atol=1e-6)
    assert len(seen) == 2
    for layer in (conv, watched):
        layer(X, *edges).square().sum().backward()
    for found, expected in zip(watched.parameters(), conv.parameters(), strict=True):
        torch.testing.assert_close(found.grad, expected.grad, rtol=1e-4, atol=1e-5)


def test_messages_of_repeated_edges_and_self_loops():
    conv = make()
    index = torch.cat([INDEX, INDEX, torch.arange(N).expand(2, N)], dim=1)
    weight = torch.cat([0.25 * WEIGHT, 0.75 * WEIGHT, torch.ones(N)])
    expected = conv(X, OPERATOR)
    torch.testing.assert_close(conv(X, index, weight), expected)
    watch(conv)
    torch.testing.assert_close(conv(X, index, weight), expected)


def test_an_operator_has_no_messages():
    conv = make()
    watch(conv)
    with pytest.raises(InputError, match="needs the edges, but a SobolevOperator was passed: call conv"):
        conv(X, OPERATOR)
    op = EdgeOperator(INDEX, WEIGHT, N, ALPHA, EPSILON)
    torch.testing.assert_close(conv(X, op), make_like(conv)(X, OPERATOR))
    with pytest.raises(InputError, match="needs features that are a tensor, not PreparedInput"):
        conv(op.prepare(X), op)


def make_like(conv):
    twin = make()
    twin.load_state_dict(conv.state_dict())
    return twin


def test_a_batch_of_signals_on_one_graph():
    many = torch.randn(3, N, IN)
    for options in ({}, {"residual": True, "fusion": "mlp"}, {"normalize": False}):
        conv = make(**options)
        expected = torch.stack([conv(x, INDEX, WEIGHT) for x in many])
        torch.testing.assert_close(conv(many, INDEX, WEIGHT), expected)
    conv = make()
    torch.testing.assert_close(conv(many, OPERATOR)[1], conv(many[1], OPERATOR))
    with pytest.raises(InputError, match=r"x has shape \(3, 12, 4\), expected \(B, 12, 5\)"):
        conv(many[..., :4], INDEX, WEIGHT)


def test_graphs_without_edges_and_without_nodes():
    conv = make()
    nothing = torch.empty(2, 0, dtype=torch.int64)
    assert conv(X, nothing).shape == (N, OUT)
    for fusion in ("linear", "mlp", "attention"):
        conv = make(fusion=fusion)
        out = conv(torch.empty(0, IN), nothing)
        assert out.shape == (0, OUT)
        out.sum().backward()
        assert torch.count_nonzero(conv.weight.grad) == 0


@pytest.mark.parametrize("residual", [False, True])
def test_the_width_of_the_input_can_be_left_open(residual):
    lazy = copy.deepcopy(make(-1, OUT, residual=residual))
    assert "S2Conv(\n  -1, 4, alpha=3" in repr(lazy)
    assert lazy(X, INDEX, WEIGHT).shape == (N, OUT)
    assert lazy.weight.shape == (ALPHA + 1, IN, OUT)
    assert lazy.weight.abs().max() > 0
    assert (lazy.skip is not None) == residual
    loaded = make(-1, OUT, residual=residual)
    loaded.load_state_dict(lazy.state_dict())
    assert loaded.in_channels == IN
    assert torch.equal(loaded(X, INDEX, WEIGHT), lazy(X, INDEX, WEIGHT))
    assert make(-1, IN, residual=True)(X, INDEX, WEIGHT).shape == (N, IN)


@pytest.mark.parametrize("residual", [False, True])
def test_the_state_of_a_layer_that_waits_for_input(residual):
    waiting = make(-1, OUT, residual=residual)
    with torch.no_grad():
        waiting.fusion.mu.fill_(7.0)
    other = make(-1, OUT, residual=residual)
    other.load_state_dict(waiting.state_dict())
    assert other.in_channels == -1
    assert torch.equal(other.fusion.mu, torch.full((ALPHA + 1,), 7.0))
    assert other(X, INDEX, WEIGHT).shape == (N, OUT)
    assert all(not tensor.requires_grad for tensor in other.state_dict().values())
    with pytest.raises(RuntimeError, match="epsilon=0.8, but this one has epsilon=1"):
        S2Conv(-1, OUT, ALPHA, residual=residual).load_state_dict(waiting.state_dict())
    with pytest.raises(RuntimeError, match="load an uninitialized parameter into an initialized one"):
        make(residual=residual).load_state_dict(waiting.state_dict())


def test_a_cached_layer_builds_its_operator_once():
    conv, fresh = make(cached=True), make()
    fresh.load_state_dict(conv.state_dict())
    expected = fresh(X, INDEX, WEIGHT)
    for edges in [(INDEX, WEIGHT), (INDEX[:, :4], WEIGHT[:4])]:  # the second graph is not looked at
        torch.testing.assert_close(conv(X, *edges), expected)
    watched = copy.deepcopy(conv)
    watched.register_message_forward_hook(lambda module, inputs, output: 0 * output)
    assert (watched(X, INDEX, WEIGHT) - expected).abs().max() > 0.01  # by messages, not by the cached operator
    conv.reset_parameters()
    fresh.load_state_dict(conv.state_dict())
    torch.testing.assert_close(conv(X, *DIRECTED), fresh(X, *DIRECTED))
    with pytest.raises(InputError, match="cached=True keeps the operator, but epsilon or the edge weights are learned"):
        make(cached=True)(X, INDEX, WEIGHT.clone().requires_grad_())


def test_a_cached_operator_follows_the_dtype_of_the_layer():
    conv = make(cached=True)
    conv(X, INDEX, WEIGHT)
    assert conv.double()(X.double(), INDEX, WEIGHT).dtype == torch.float64
    assert ", cached=True, normalize=False, flow='target_to_source'" in repr(
        make(cached=True, normalize=False, flow="target_to_source")
    )


def test_without_normalisation_a_branch_is_a_hadamard_power():
    conv = make(normalize=False).double()
    A = torch.tensor(GRAPH.to_scipy().toarray()) + EPSILON * torch.eye(N, dtype=torch.float64)
    x = X.double()
    branches = [x, *(A**rho @ x for rho in range(1, ALPHA + 1))]
    expected = sum(
        mu * torch.relu(branch @ weight + bias)
        for mu, branch, weight, bias in zip(conv.fusion.mu, branches, conv.weight, conv.bias, strict=True)
    )
    torch.testing.assert_close(conv(x, INDEX, GRAPH.to_pyg(torch.float64).edge_weight), expected)


def test_copies_pickles_and_repr(tmp_path):
    conv = make(fusion="mlp", bias=False)
    expected = conv(X, INDEX, WEIGHT)
    torch.save(conv, tmp_path / "conv.pt")
    for twin in (copy.deepcopy(conv), torch.load(tmp_path / "conv.pt", weights_only=False)):
        assert torch.equal(twin(X, INDEX, WEIGHT), expected)
    assert repr(conv).startswith("S2Conv(\n  5, 4, alpha=3, epsilon=0.8, dropout=0, bias=False\n  (fusion)")


def test_misuse_is_explained():
    for options, message in [
        ({"aggr": "max"}, "aggr is 'max', but S2Conv has no such argument: the products with S_ρ are sums"),
        ({"add_self_loops": False}, "add_self_loops is False, .* pass epsilon=0.0 for none"),
        ({"improved": True}, "improved is True, .* pass epsilon=2.0"),
        ({"flow": "up"}, "flow is 'up', but it must be source_to_target or target_to_source"),
        ({"cached": "yes"}, "cached is 'yes', but it must be True or False"),
    ]:
        with pytest.raises(InputError, match=message):
            make(**options)
    conv = make()
    for call, message in [
        (lambda: conv((X, X), INDEX), "x is a tuple of node features, but S2Conv has no bipartite message passing"),
        (lambda: conv(X, to_torch_coo_tensor(INDEX, WEIGHT, N), WEIGHT), "a sparse matrix carries its own weights"),
        (lambda: make(directed=False)(X, *DIRECTED), "the graph is not symmetric: the weight of"),
        (lambda: make(normalize=False, directed=False)(X, *DIRECTED), "the graph is not symmetric: the weight of"),
        (lambda: conv(X, INDEX + N, WEIGHT), "outside 0..11 for 12 nodes"),
        (lambda: make(normalize=False)(X, INDEX, -WEIGHT), "is negative"),
    ]:
        with pytest.raises(InputError, match=message):
            call()


# Heterogeneous graphs

NODE_TYPES = ["paper"]
RELATIONS = [("paper", "cites", "paper"), ("paper", "resembles", "paper")]
EDGES = {RELATIONS[0]: DIRECTED[0], RELATIONS[1]: INDEX}
WEIGHTS = {RELATIONS[0]: DIRECTED[1], RELATIONS[1]: WEIGHT}


def test_to_hetero_adds_up_the_relations_of_a_node_type():
    model = to_hetero(TwoLayers(), (NODE_TYPES, RELATIONS), aggr="sum")
    out = model({"paper": X}, EDGES, WEIGHTS)
    assert list(out) == ["paper"]

    def layer(convs, x):
        keys = {"__".join(relation): relation for relation in RELATIONS}
        return sum(conv(x, EDGES[keys[name]], WEIGHTS[keys[name]]) for name, conv in convs.items())

    torch.testing.assert_close(out["paper"], layer(model.second, layer(model.first, X).relu()))


@pytest.mark.filterwarnings("ignore::s2gnn.IdenticalBranchesWarning")
def test_to_hetero_with_bases_weighs_messages_by_relation():
    found = []
    for layer in (make(IN, IN), GCNConv(IN, IN, add_self_loops=False)):
        model = to_hetero_with_bases(OneLayer(layer), (NODE_TYPES, RELATIONS), num_bases=2, in_channels={"x": IN})
        found.append(model({"paper": X}, EDGES))
        found[-1]["paper"].sum().backward()
        weights = [p for name, p in model.named_parameters() if name.endswith("edge_type_weight")]
        assert len(weights) == 2
        assert all(weight.grad.abs().max() > 0 for weight in weights)
    ours, reference = ({key: value.shape for key, value in out.items()} for out in found)
    assert ours == reference


def test_to_hetero_with_bases_takes_edge_weights_as_columns():
    torch.manual_seed(0)
    model = to_hetero_with_bases(TwoLayers(), (NODE_TYPES, RELATIONS), num_bases=2, in_channels={"x": IN})
    columns = {relation: weight[:, None] for relation, weight in WEIGHTS.items()}  # PyG joins them by dimension -2
    out = model({"paper": X}, EDGES, columns)["paper"]
    assert out.shape == (N, 3)
    doubled = model({"paper": X}, EDGES, columns | {RELATIONS[0]: 2 * columns[RELATIONS[0]]})["paper"]
    assert (doubled - out).abs().max() > 0.01


class OneLayer(torch.nn.Module):
    def __init__(self, conv):
        super().__init__()
        self.conv = conv

    def forward(self, x, edge_index):
        return self.conv(x, edge_index)


# Explanations


def explainer(model, algorithm, explanation_type="model"):
    return Explainer(
        model, algorithm, explanation_type, node_mask_type=None, edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )  # fmt: skip


@pytest.mark.parametrize("edges", [(INDEX, WEIGHT), DIRECTED], ids=["undirected", "directed"])
def test_masked_predictions(edges):
    model = TwoLayers().eval()
    index, weight = edges
    explain = explainer(model, GNNExplainer(epochs=2))
    predict = {"x": X, "edge_index": index, "edge_weight": weight}
    everything = explain.get_masked_prediction(edge_mask=torch.ones(len(weight)), **predict)
    torch.testing.assert_close(everything, model(**predict), rtol=1e-5, atol=1e-6)
    nothing = explain.get_masked_prediction(edge_mask=torch.zeros(len(weight)), **predict)
    assert (nothing - everything).abs().max() > 0.01
    half = explain.get_masked_prediction(edge_mask=torch.full((len(weight),), 0.5), **predict)

    def dense(factor):
        """Both layers, with S_ρ off the diagonal multiplied by `factor`."""
        h = X
        for conv in (model.first, model.second):
            products = EdgeOperator(index, weight, N, ALPHA, EPSILON).propagate(torch.eye(N))
            diagonals = torch.diag_embed(products.diagonal(dim1=1, dim2=2))
            matrices = [torch.eye(N), *(diagonals + factor * (products - diagonals))]
            h = sum(
                mu * torch.relu(S @ h @ W + b)
                for mu, S, W, b in zip(conv.fusion.mu, matrices, conv.weight, conv.bias, strict=True)
            )
            h = h.relu() if conv is model.first else h
        return h

    for found, factor in [(nothing, 0.0), (half, 0.5), (everything, 1.0)]:
        torch.testing.assert_close(found, dense(factor), rtol=1e-4, atol=1e-5)
    assert torch.equal(model(**predict), model(**predict))  # masks are gone
    assert not model.first.explain


def test_gnn_explainer_finds_the_only_edge_that_matters():
    """Node 0 hears of the class by one edge of three; the others come from nodes without features."""
    index = torch.tensor([[1, 2, 3], [0, 0, 0]])
    x = torch.zeros(4, IN)
    x[1] = 5.0
    torch.manual_seed(1)
    model = TwoLayers(dropout=0.0).eval()
    result = explainer(model, GNNExplainer(epochs=100, lr=0.1))(
        x, index, edge_weight=torch.tensor([0.9, 0.5, 0.4]), index=0
    )
    assert result.edge_mask[0] > 2 * result.edge_mask[1:].max()


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")
def test_pg_explainer_trains():
    model = TwoLayers().eval()
    algorithm = PGExplainer(epochs=2, lr=0.01, edge_size=0.0, edge_ent=0.0)  # it learns from predictions alone
    explain = explainer(model, algorithm, "phenomenon")
    target = model(X, INDEX, WEIGHT).argmax(dim=1)
    for epoch in range(2):
        loss = algorithm.train(epoch, model, X, INDEX, target=target, index=3, edge_weight=WEIGHT)
        assert any(weight.grad.abs().max() > 0 for weight in algorithm.mlp.parameters())
        assert loss == loss
    assert explain(X, INDEX, target=target, index=3, edge_weight=WEIGHT).edge_mask.shape == WEIGHT.shape


# Transforms and models that make directed edges


def test_edges_that_dropout_gdc_and_link_splits_leave():
    """Branch 1 at ε = 1 alone is the ReLU of GCNConv."""
    conv, gcn = S2Conv(IN, OUT, 1, 1.0, bias=False), GCNConv(IN, OUT, bias=False)
    with torch.no_grad():
        conv.weight[1] = gcn.lin.weight.T
        conv.fusion.mu.copy_(torch.tensor([0.0, 1.0]))
    index, kept = dropout_edge(INDEX, p=0.5)
    diffused = GDC(sparsification_kwargs={"method": "topk", "k": 3, "dim": 0})(Data(X, INDEX, edge_attr=WEIGHT))
    splits = RandomLinkSplit(is_undirected=True, num_val=0.2, num_test=0.2)(Data(X, INDEX, edge_weight=WEIGHT))
    left = [(index, WEIGHT[kept]), (diffused.edge_index, diffused.edge_attr)]
    for edges in [*left, *((split.edge_index, split.edge_weight) for split in splits)]:
        expected = gcn(X, *remove_self_loops(*edges)).relu()  # which GCNConv keeps instead of adding some
        torch.testing.assert_close(conv(X, *edges), expected)


def test_the_edges_that_flow_to_a_node_give_its_output():
    """What NeighborLoader samples with all neighbours: each layer takes a hop, and the degrees of sources one more."""
    model = TwoLayers().eval()
    expected = model(X, INDEX, WEIGHT)
    for node in range(N):
        nodes, index, place, kept = k_hop_subgraph(node, 3, INDEX, relabel_nodes=True, num_nodes=N, directed=True)
        out = model(X[nodes], index, WEIGHT[kept])
        torch.testing.assert_close(out[place], expected[[node]], rtol=1e-4, atol=1e-5)


def test_gdc_leaves_an_undirected_graph_undirected():
    diffused = GDC(normalization_out=None, sparsification_kwargs={"method": "threshold", "avg_degree": 6})(
        Data(X, INDEX, edge_attr=WEIGHT)
    )
    conv = make(directed=False)  # rounding is no direction
    assert conv(X, diffused.edge_index, diffused.edge_attr).shape == (N, OUT)


class S2Model(BasicGNN):
    supports_edge_weight, supports_edge_attr, supports_norm_batch = True, False, False

    def init_conv(self, in_channels, out_channels, **options):
        return S2Conv(in_channels, out_channels, alpha=2, epsilon=0.7, **options)


def test_a_basic_gnn_of_these_layers_has_the_shapes_of_a_gcn():
    ours, reference = S2Model(IN, 8, 2, OUT, dropout=0.1), GCN(IN, 8, 2, OUT, dropout=0.1)
    assert ours(X, INDEX, WEIGHT).shape == reference(X, INDEX, WEIGHT).shape
