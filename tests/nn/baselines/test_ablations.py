import numpy as np
import pytest
import torch

from s2gnn import Graph, InputError, S2Conv, SobolevOperator
from s2gnn.nn import NoHadamardGNN, RegularSobolevGNN, save_model
from s2gnn.operators.matrix import ConstantMatrix, MatrixOperator
from tests.dense import sobolev
from tests.random_graphs import random_graph


@pytest.mark.parametrize("order", ["auto", "aggregate", "transform"])
@pytest.mark.parametrize(("width_in", "width_out"), [(5, 7), (7, 3)])
def test_the_layer_is_the_same_on_matrices_as_on_their_operator(order, width_in, width_out):
    op = SobolevOperator(random_graph(15), 3, 1.5)
    matrices = [ConstantMatrix.from_scipy(op.matrix(rho), torch.empty(0), symmetric=True) for rho in (1, 2, 3)]
    conv, x = S2Conv(width_in, width_out, 3, 1.5), torch.randn(15, width_in, requires_grad=True)
    expected = conv(x, op)
    same = MatrixOperator(matrices, 1.5)
    conv.order = order
    for form in (x, x.detach(), same.prepare(x)):
        torch.testing.assert_close(conv(form, same), expected, rtol=1e-4, atol=1e-5)
    gradients = [torch.autograd.grad(y.square().sum(), x)[0] for y in (expected, conv(x, same))]
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-4)


def test_no_hadamard_has_gcn_s_operator_in_every_branch():
    graph = Graph.from_edge_list([(0, 1), (1, 2)], [0.5, 2.0], n_nodes=4)
    op = NoHadamardGNN(2, 2, 2, alpha=3).operator(graph)
    assert len(set(op.matrices)) == 1
    for branch in op.propagate(torch.eye(4)):
        np.testing.assert_allclose(branch, sobolev(graph.to_scipy().toarray(), 1, 1.0), rtol=1e-6)


def test_the_regular_norm_has_matrix_powers_which_reach_further():
    graph = Graph.from_edge_list([(0, 1), (1, 2)], [0.5, 2.0])
    first, second = RegularSobolevGNN(2, 2, 2, alpha=2, epsilon=0.7).operator(graph).propagate(torch.eye(3))
    np.testing.assert_allclose(first, sobolev(graph.to_scipy().toarray(), 1, 0.7), rtol=1e-5)
    assert second[0, 2] > 0 == first[0, 2]


def test_wrong_arguments_are_refused(tmp_path):
    with pytest.raises(InputError, match="epsilon is -1"):
        RegularSobolevGNN(2, 2, 2, epsilon=-1)
    with pytest.raises(InputError, match="alpha is 0"):
        NoHadamardGNN(2, 2, 2, alpha=0)
    with pytest.raises(InputError, match="epsilon is 'learn'"):
        RegularSobolevGNN(2, 2, 2, epsilon="learn")
    with pytest.raises(InputError, match="the model is a NoHadamardGNN, but save_model saves an S2GNN"):
        save_model(NoHadamardGNN(2, 2, 2), tmp_path)
