"""Operators of `edge_index`, against dense formulas."""

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from s2gnn import S2GNN, Graph, S2Conv, SobolevOperator
from s2gnn.errors import IdenticalBranchesWarning, InputError
from s2gnn.nn import make_model
from s2gnn.nn.calling import as_operator, edge_operator
from s2gnn.operators import EdgeOperator, SobolevFamily, kernel
from tests.operators.test_edges import KERNELS, SHIFTS, dense_operator
from tests.operators.test_family import dense_products

N = 12
KINDS = ["plain", "repeated", "loops", "zeros", "rounding", "directed"]


def edges(kind, seed=0):
    """Both directions of random edges among the first ten of twelve nodes, with weights in float32."""
    rng = np.random.default_rng(seed)
    low, high = np.triu_indices(10, 1)
    chosen = rng.permutation(len(low))[:20]
    index = torch.from_numpy(np.stack([low[chosen], high[chosen]]))
    weight = torch.from_numpy(rng.uniform(0.05, 1.5, 20)).float()
    if kind == "zeros":
        weight[:4] = 0
    index, weight = torch.cat([index, index.flip(0)], 1), torch.cat([weight, weight])
    if kind == "repeated":
        index, weight = torch.cat([index, index[:, [0, 20, 0, 20]]], 1), torch.cat([weight, weight[[3, 3, 4, 4]]])
    if kind == "loops":
        index, weight = torch.cat([index, torch.tensor([[0, 11], [0, 11]])], 1), torch.cat([weight, weight[:2]])
    if kind == "rounding":
        weight[:20] *= 1 + 5e-6
    if kind == "directed":
        index, weight = index[:, ::3], weight[::3]
    order = torch.from_numpy(rng.permutation(len(weight)))
    return index[:, order], weight[order]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("kind", KINDS)
def test_operators_of_edges_are_the_dense_formula(kind, shift, name):
    for seed in range(5):
        index, weight = edges(kind, seed)
        x = torch.eye(N, dtype=torch.float64)
        with kernel.use(name):
            op = as_operator(x, index, weight, 3, 0.7, shift)
            products = op.propagate(x)
        for rho in (1, 2, 3):
            expected = dense_operator(index, weight.double(), N, rho, 0.7, shift)
            np.testing.assert_allclose(products[rho - 1].numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_listed_edge_has_its_own_derivative(kind, name):
    index, weight = edges(kind)
    x, target = torch.randn(N, 2, dtype=torch.float64), torch.randn(3, N, 2, dtype=torch.float64)
    found = []
    for way in ("sparse", "dense"):
        h, w, e = (leaf.clone().requires_grad_() for leaf in (x, weight.double(), torch.tensor(0.7).double()))
        if way == "sparse":
            with kernel.use(name):
                products = EdgeOperator(index, w, N, 3, e, dtype=torch.float64).propagate(h)
                assert as_operator(h, index, w, 3, 0.7, None).powers.are_directed
        else:
            A = torch.zeros(N, N, dtype=torch.float64)
            A = A.index_put((index[1], index[0]), w * (index[0] != index[1]), accumulate=True)
            products = dense_products(A, e, 3, "adjacency", h)
        found.append(torch.autograd.grad((products * target).sum(), (h, w, e)))
    torch.testing.assert_close(*found)


class NoCopies(TorchFunctionMode):
    """Refuses to bring tensors to the host, but for a few numbers at once."""

    def __init__(self):
        super().__init__()
        self.read = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        assert name not in ("cpu", "numpy", "__array__", "nonzero", "__bool__", "__float__", "__int__", "item"), name
        if name == "tolist":
            self.read.append(args[0].numel())
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("kind", KINDS)
def test_edges_stay_on_the_device(kind):
    index, weight = edges(kind)
    with kernel.use(kernel.PLAIN), NoCopies() as mode:
        edge_operator(torch.ones(N, 2), index, weight, 3, 0.7, None)
    assert mode.read == [4]


@pytest.mark.parametrize(
    ("index", "weight", "message"),
    [
        ([[0, 3], [3, 0]], None, r"is 3, outside 0..2 for 3 nodes"),
        ([[0, -1], [1, 0]], None, r"is -1, outside 0..2 for 3 nodes"),
        ([[0, 1], [1, 0]], [1.0, -1.0], "is negative"),
        ([[0, 0], [0, 1]], [-1.0, 1.0], "is negative"),
        ([[0, 1], [1, 0]], [1.0, float("nan")], "is not finite"),
        ([[0, 1], [1, 0]], [1.0], r"edge weights have shape \(1,\), but there are 2 edges"),
        ([[0.0, 1.0], [1.0, 0.0]], None, "but indices are integers"),
    ],
)
def test_wrong_edges_are_named(index, weight, message):
    weights = None if weight is None else torch.tensor(weight)
    for make in (as_operator, edge_operator):
        with pytest.raises(InputError, match=message):
            make(torch.ones(3, 2), torch.tensor(index), weights, 2, 0.5, None)


def test_weights_that_add_up_to_infinity():
    index, weight = torch.tensor([[0, 1], [2, 2]]), torch.tensor([1e308, 1e308], dtype=torch.float64)
    for make in (as_operator, edge_operator):
        with pytest.raises(InputError, match="the weights of the edges to a node add up to infinity: scale"):
            make(torch.ones(3, 2), index, weight, 2, 0.5, None)


def test_directed_edges_are_refused_on_request():
    with pytest.raises(InputError, match=r"the graph is not symmetric: the weight of \(0, 1\)"):
        edge_operator(torch.ones(3, 2), torch.tensor([[0], [1]]), None, 2, 0.5, None, directed=False)


def test_identical_powers_are_warned_of():
    with pytest.warns(IdenticalBranchesWarning):
        edge_operator(torch.ones(3, 2), torch.tensor([[0, 1], [1, 0]]), None, 2, 1.0, None)


def test_a_graph_without_edges():
    op = edge_operator(torch.ones(3, 2), torch.empty(2, 0, dtype=torch.int64), None, 2, 0.5, None)
    assert torch.equal(op.propagate(torch.ones(3, 2)), torch.ones(2, 3, 2))


@pytest.mark.parametrize("epsilon", [0.5, "learn"])
def test_layers_have_shapes_on_the_meta_device(epsilon):
    index, weight = (tensor.to("meta") for tensor in edges("plain"))
    x = torch.empty(N, 5, device="meta")
    assert S2Conv(5, 4, epsilon=epsilon).to("meta")(x, index, weight).shape == (N, 4)
    assert S2GNN(5, 8, 3, epsilon=epsilon).to("meta")(x, index).shape == (N, 3)


def test_operators_move_to_the_meta_device():
    graph = Graph.from_edge_list([(0, 1), (1, 2)], [0.5, 2.0])
    x = torch.empty(3, 5, device="meta")
    directed = EdgeOperator(torch.tensor([[0], [1]]), torch.ones(1), 3, 4)
    for op in (SobolevOperator(graph), directed, SobolevFamily(graph).at(1.0).family):
        moved = op.to("meta")
        assert moved.device.type == "meta"
        epsilon = "learn" if isinstance(op, SobolevFamily) else 1.0
        assert S2Conv(5, 4, epsilon=epsilon).to("meta")(x, moved).shape == (3, 4)


def test_prepared_inputs_move_with_their_operator():
    graph = Graph.from_edge_list([(0, 1), (1, 2)], [0.5, 2.0])
    x = SobolevOperator(graph).prepare(torch.ones(3, 5))
    here, meta = x.to("cpu"), x.to("meta")
    conv = S2Conv(5, 4)
    assert torch.equal(conv(here, here.operator), conv(x, x.operator))
    assert conv.to("meta")(meta, meta.operator).shape == (3, 4)


@pytest.mark.parametrize("name", ["gcn", "cheby", "sgc", "gat", "s2gnn"])
def test_what_networks_prepare_moves(name):
    """Of every kind of operator: a network computes the same with what was moved."""
    graph = Graph.from_edge_list([(0, 1), (1, 2), (2, 3)], [0.5, 2.0, 1.0])
    model = make_model(name, 5, 3).eval()
    x, op = model.prepare(torch.ones(4, 5), graph)
    moved = x.to("cpu")
    there = getattr(moved, "operator", None) or op.to("cpu")
    assert torch.equal(model(moved, there), model(x, op))


@pytest.mark.parametrize("fusion", ["linear", "mlp", "attention"])
@pytest.mark.parametrize("epsilon", [0.5, "learn"])
def test_a_training_step_reads_no_value(fusion, epsilon):
    """On the meta device, where reading one is an error: forward, backward and step."""
    with torch.device("meta"):
        index, weight, x = torch.zeros(2, 40, dtype=torch.int64), torch.rand(40), torch.rand(N, 5)
        model, labels = S2GNN(5, 8, 3, fusion=fusion, epsilon=epsilon, norm="batch"), torch.zeros(N, dtype=torch.int64)
    optimizer = torch.optim.Adam(model.parameters())
    torch.nn.functional.cross_entropy(model(x, index, weight.requires_grad_()), labels).backward()
    optimizer.step()
    assert weight.grad.shape == weight.shape
    assert all(parameter.grad.is_meta for parameter in model.parameters())
