import numpy as np
import pytest
import torch

from s2gnn import Graph, InputError, S2Conv, SobolevOperator
from s2gnn.nn import NoHadamardGNN, RegularSobolevGNN
from s2gnn.nn.baselines import ablations
from s2gnn.nn.baselines.ablations import matrix_powers
from s2gnn.nn.baselines.branches import BranchConv, aggregate
from s2gnn.nn.features import Propagated
from s2gnn.operators.matrix import ConstantMatrix
from tests.dense import sobolev
from tests.random_graphs import random_graph


@pytest.mark.parametrize("fusion", ["linear", "mlp"])
@pytest.mark.parametrize(("width_in", "width_out"), [(5, 7), (7, 3)])
def test_on_hadamard_powers_the_layer_is_s2conv(fusion, width_in, width_out):
    op = SobolevOperator(random_graph(15), 3, 1.5)
    conv = S2Conv(width_in, width_out, 3, 1.5, fusion).eval()
    torch.nn.init.normal_(conv.bias)
    layer = BranchConv(width_in, width_out, 3, fusion, 0.0)
    layer.load_state_dict(conv.state_dict())
    matrices = [ConstantMatrix.from_scipy(op.matrix(rho), conv.weight, symmetric=True) for rho in (1, 2, 3)]
    x = torch.randn(15, width_in, requires_grad=True)
    expected = conv(x, op)
    torch.testing.assert_close(layer(x, matrices), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        layer(Propagated(aggregate(x, matrices), matrices), matrices), expected, rtol=1e-4, atol=1e-5
    )
    gradients = [torch.autograd.grad(y.square().sum(), x)[0] for y in (expected, layer(x, matrices))]
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-4)


def test_repeated_matrices_take_either_order():
    op = SobolevOperator(random_graph(15), 1, 1.0)
    (S,) = (ConstantMatrix.from_scipy(op.matrix(1), torch.empty(0), symmetric=True),)
    layer = BranchConv(6, 2, 4, "mlp", 0.0)
    x = torch.randn(15, 6)
    aggregated = layer(Propagated(aggregate(x, (matrices := (S,) * 4)), matrices), matrices)
    torch.testing.assert_close(layer(x, matrices), aggregated)
    torch.testing.assert_close(layer.fusion(torch.relu(layer._transform_first(x, matrices) + layer.bias)), aggregated)
    with pytest.raises(InputError, match="there are 3 matrices, but the layer has alpha=4"):
        layer(x, matrices[:3])


def test_branches_are_dropped_in_training():
    model = NoHadamardGNN(4, 5, 3, dropout=0.5)
    inputs = model.prepare(torch.randn(9, 4), random_graph(9))
    assert not torch.equal(model(*inputs), model(*inputs))
    model.eval()
    assert torch.equal(model(*inputs), model(*inputs))


def test_no_hadamard_has_gcn_s_operator_in_every_branch():
    graph = Graph.from_edge_list([(0, 1), (1, 2)], [0.5, 2.0], n_nodes=4)
    matrices = NoHadamardGNN(2, 2, 2, alpha=3).matrices(graph)
    assert len(matrices) == 3
    assert len(set(matrices)) == 1
    np.testing.assert_allclose(matrices[0].matrix.to_dense(), sobolev(graph.to_scipy().toarray(), 1, 1.0), rtol=1e-6)


@pytest.mark.parametrize("epsilon", [0.0, 1.5])
def test_regular_powers_are_normalised_matrix_powers(epsilon):
    graph = Graph.from_edge_list([(0, 1), (1, 2), (2, 3), (5, 6)], [0.5, 2.0, 1e-3, 40.0], n_nodes=8)
    A = graph.to_scipy().toarray() + epsilon * np.eye(8)
    for rho, S in enumerate(matrix_powers(graph, 4, epsilon), start=1):
        power = np.linalg.matrix_power(A, rho)
        root = np.array([d**-0.5 if d > 0 else 0.0 for d in power.sum(axis=1)])
        np.testing.assert_allclose(S.toarray(), root[:, None] * power * root, rtol=1e-12)
    two_hops = matrix_powers(graph, 2, epsilon)[1]
    assert two_hops[0, 2] > 0 == graph.to_scipy()[0, 2]


def test_regular_and_hadamard_powers_agree_at_the_first():
    op = SobolevOperator(random_graph(12), 1, 0.7)
    np.testing.assert_allclose(matrix_powers(op.graph, 1, 0.7)[0].toarray(), op.matrix(1).toarray(), rtol=1e-12)


def test_powers_of_huge_weights_stay_finite_and_large_graphs_are_refused(monkeypatch):
    huge = Graph.from_edge_list([(0, 1), (1, 2)], [1e200, 1e200])
    assert all(np.isfinite(S.data).all() for S in matrix_powers(huge, 5, 1.0))
    monkeypatch.setattr(ablations, "LARGEST", 300)
    model = RegularSobolevGNN(2, 2, 2, alpha=4)
    with pytest.raises(InputError, match="4 matrix powers of a graph of 9 nodes may fill 324 .*take at most 8 nodes"):
        model.prepare(torch.ones(9, 2), random_graph(9))
    with pytest.raises(InputError, match="epsilon is -1"):
        RegularSobolevGNN(2, 2, 2, epsilon=-1)
    with pytest.raises(InputError, match="alpha is 0"):
        NoHadamardGNN(2, 2, 2, alpha=0)
