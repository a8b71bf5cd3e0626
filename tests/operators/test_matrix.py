import numpy as np
import pytest
import scipy.sparse as sp
import torch

from s2gnn import SobolevOperator
from s2gnn.graphs.selection import Selection
from s2gnn.operators.matrix import ConstantMatrix, MatrixOperator
from tests.random_graphs import random_graph
from tests.seed import seeded


@pytest.mark.parametrize(("density", "layout"), [(0.1, torch.sparse_csr), (0.6, torch.strided)])
def test_product_and_gradients_are_those_of_the_dense_matrix(density, layout):
    M = sp.random_array((9, 14), density=density, rng=np.random.default_rng(seeded(0)))
    matrix = ConstantMatrix.from_scipy(M, torch.empty(0, dtype=torch.float64))
    assert [tensor.layout for tensor in (*matrix.factors, *matrix.transposes)] == [layout, layout]
    h = torch.randn(14, 3, dtype=torch.float64, requires_grad=True)
    np.testing.assert_allclose((matrix @ h).detach(), M.toarray() @ h.detach().numpy(), rtol=1e-12)
    assert torch.autograd.gradcheck(lambda h: matrix @ h, h)
    assert torch.autograd.gradgradcheck(lambda h: (matrix @ h).square(), h)


def test_a_symmetric_matrix_is_its_own_transpose():
    A = sp.csr_array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    matrix = ConstantMatrix.from_scipy(A, torch.empty(0), symmetric=True)
    assert matrix.transposes[0] is matrix.factors[0]
    assert (matrix @ torch.ones(3, 1)).flatten().tolist() == [2, 2, 0]


def test_an_operator_of_matrices_multiplies_each_branch_with_its_own():
    whole = SobolevOperator(random_graph(12, 0.3), 2, dtype=torch.float64)
    first, second = (ConstantMatrix.from_scipy(whole.matrix(rho), torch.empty(0).double()) for rho in (1, 2))
    product = ConstantMatrix(first.factors + second.factors, first.transposes + second.transposes)
    op = MatrixOperator([first, product, first], 1.0)
    nodes = np.array([1, 4, 5, 9])
    part = op.selected(Selection.of(nodes, 12))
    for operator, rows in ((op, slice(None)), (part, nodes)):
        dense = [matrix.toarray()[rows][:, rows] for matrix in (whole.matrix(1), whole.matrix(2))]
        powers = [np.eye(len(dense[0])), dense[0], dense[0] @ dense[1], dense[0]]
        h = torch.randn(len(dense[0]), 4, 3, dtype=torch.float64, requires_grad=True)
        expected = np.stack([power @ h.detach().numpy()[:, rho] for rho, power in enumerate(powers)], axis=1)
        np.testing.assert_allclose(operator.propagate_branches(h).detach(), expected, rtol=1e-12)
        stacked = operator.stacked(h[:, 0]).detach()
        for rho, power in enumerate(powers):
            np.testing.assert_allclose(stacked[:, rho], power @ h.detach().numpy()[:, 0], rtol=1e-12)
        assert torch.autograd.gradcheck(operator.propagate_branches, h)
    assert len(set(part.matrices)) == 2
    assert op.gather_cost(8, branches=True) > op.gather_cost(8, branches=False)
