import numpy as np
import pytest
import scipy.sparse as sp
import torch

from s2gnn import InputError
from s2gnn.operators import SparseInput
from tests.device_arrays import DeviceArrays
from tests.seed import seeded


def test_the_product_and_its_gradients_are_those_of_the_dense_matrix():
    matrix = sp.random_array((30, 50), density=0.1, rng=np.random.default_rng(seeded(0)))
    x = SparseInput(matrix, torch.float64)
    weight = torch.randn(50, 4, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(x @ weight, torch.from_numpy(matrix.toarray()) @ weight)
    assert torch.autograd.gradcheck(lambda w: x @ w, weight)
    assert torch.autograd.gradgradcheck(lambda w: x @ w, weight)
    assert (x.shape, x.nnz, x.dtype) == ((30, 50), matrix.nnz, torch.float64)
    np.testing.assert_array_equal(x.to_dense().numpy(), matrix.toarray())


def test_features_that_are_not_finite():
    with pytest.raises(InputError, match="x has values that are not finite"):
        SparseInput(sp.csr_array(np.array([[0.0, np.nan]])))


def test_under_autocast_the_product_is_computed_in_the_type_of_the_features():
    x = SparseInput(sp.random_array((30, 50), density=0.1, rng=np.random.default_rng(seeded(0))))
    weight = torch.randn(50, 4, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        product = x @ weight
    torch.testing.assert_close(product, x @ weight)
    product.sum().backward()
    assert weight.grad.dtype == torch.float32


@pytest.mark.parametrize("density", [0.1, 0.9])
def test_rows_are_those_of_the_matrix_and_come_from_a_device(density):
    matrix = sp.random_array((30, 50), density=density, rng=np.random.default_rng(seeded(0))).tocsr()
    x, chosen = SparseInput(matrix, torch.float64), torch.tensor([7, 0, 29])
    with DeviceArrays():
        rows = x.rows(chosen)
    np.testing.assert_array_equal(rows.to_dense().numpy(), matrix.toarray()[[7, 0, 29]])
