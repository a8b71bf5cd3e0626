import numpy as np
import pytest
import scipy.sparse as sp
import torch

from s2gnn.operators.matrix import ConstantMatrix


@pytest.mark.parametrize(("density", "layout"), [(0.1, torch.sparse_csr), (0.6, torch.strided)])
def test_product_and_gradients_are_those_of_the_dense_matrix(density, layout):
    M = sp.random_array((9, 14), density=density, rng=np.random.default_rng(0))
    matrix = ConstantMatrix.from_scipy(M, torch.empty(0, dtype=torch.float64))
    assert matrix.matrix.layout == matrix.transpose.layout == layout
    assert matrix.shape == (9, 14)
    assert matrix.n_stored == (M.nnz if layout == torch.sparse_csr else 9 * 14)
    h = torch.randn(14, 3, dtype=torch.float64, requires_grad=True)
    np.testing.assert_allclose((matrix @ h).detach(), M.toarray() @ h.detach().numpy(), rtol=1e-12)
    assert torch.autograd.gradcheck(lambda h: matrix @ h, h)
    assert torch.autograd.gradgradcheck(lambda h: (matrix @ h).square(), h)


def test_a_symmetric_matrix_is_its_own_transpose():
    A = sp.csr_array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    matrix = ConstantMatrix.from_scipy(A, torch.empty(0), symmetric=True)
    assert matrix.transpose is matrix.matrix
    assert (matrix @ torch.ones(3, 1)).flatten().tolist() == [2, 2, 0]
