import numpy as np
import pytest
import torch

from s2gnn import Graph, InputError, S2Conv, SobolevOperator
from s2gnn.nn import NoHadamardGNN, RegularSobolevGNN
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


def test_the_regular_norm_has_matrix_powers_which_reach_further():
    graph = Graph.from_edge_list([(0, 1), (1, 2)], [0.5, 2.0])
    first, second = (S @ torch.eye(3) for S in RegularSobolevGNN(2, 2, 2, alpha=2, epsilon=0.7).matrices(graph))
    np.testing.assert_allclose(first, sobolev(graph.to_scipy().toarray(), 1, 0.7), rtol=1e-5)
    assert second[0, 2] > 0 == first[0, 2]


def test_wrong_arguments_are_refused():
    with pytest.raises(InputError, match="epsilon is -1"):
        RegularSobolevGNN(2, 2, 2, epsilon=-1)
    with pytest.raises(InputError, match="alpha is 0"):
        NoHadamardGNN(2, 2, 2, alpha=0)
