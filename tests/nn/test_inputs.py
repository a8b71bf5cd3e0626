import numpy as np
import pytest
import scipy.sparse as sp
import torch

from s2gnn import InputError
from s2gnn.nn.inputs import dense, n_nonzero, sparse_if_cheaper, table
from s2gnn.operators import SparseInput
from tests.random_graphs import random_graph

LIKE = torch.empty(0)


def test_arrays_tensors_and_sparse_matrices_are_the_same_table():
    X = np.array([[0.0, 1.5], [0.0, 0.0], [2.0, 0.0]])
    g = random_graph(3)
    for given in (
        X,
        X.tolist(),
        torch.tensor(X),
        torch.tensor(X, dtype=torch.float32),
        sp.csr_array(X),
        sp.coo_matrix(X),
    ):
        features = dense(table(given, g, 2), LIKE)
        assert features.dtype == torch.float32
        np.testing.assert_array_equal(features, X)


def test_sparse_below_a_fifth_of_nonzeros_whatever_it_came_as():
    X = sp.random_array((50, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    for given in (X, X.toarray()):
        assert isinstance(sparse_if_cheaper(given, LIKE), SparseInput)
        assert isinstance(sparse_if_cheaper(given, LIKE, 0.05 * 50 * 40), SparseInput)
        filled = sparse_if_cheaper(given, LIKE, 0.15 * 50 * 40)  # propagation at every step costs more than it saves
        np.testing.assert_allclose(filled, X.toarray(), rtol=1e-6)


def test_a_tensor_is_a_copy_unless_memory_may_be_shared():
    for dtype, like in ((np.float32, LIKE), (np.float64, LIKE.double())):
        X = np.random.default_rng(0).normal(size=(6, 4)).astype(dtype)
        assert dense(X, like, shared=True).data_ptr() == X.ctypes.data
        copied = dense(X, like)
        expected, X[:] = X.copy(), 0
        np.testing.assert_array_equal(copied, expected)


def test_arrays_that_torch_does_not_take_are_copied():
    X = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    read_only, fortran = X.copy(), np.asfortranarray(X)
    read_only.flags.writeable = False
    fortran.flags.writeable = False
    for given in (read_only, fortran, X[::-1], X[:, ::-1], X[::2, ::3]):
        for shared in (False, True):
            np.testing.assert_array_equal(dense(given, LIKE, shared=shared), given)
    assert dense(fortran, LIKE).stride() == (1, 6)


def test_nonzeros_of_arrays_and_of_matrices_that_store_zeros_and_duplicates():
    X = np.array([[0.0, 1.5], [0.0, 0.0], [2.0, 0.0]], dtype=np.float32)
    values, columns = [1.5, 0.0, 1.0, -1.0, 2.0], [1, 0, 1, 1, 0]  # in the second row a zero, and 1 - 1 in one place
    stored = sp.csr_array((values, columns, [0, 1, 4, 5]), shape=(3, 2))
    assert not stored.has_canonical_format
    assert n_nonzero(X) == n_nonzero(sp.csr_array(X)) == n_nonzero(stored) == 2


def test_unusable_features():
    g = random_graph(5)
    with pytest.raises(InputError, match=r"x has shape \(4, 2\), expected \(5, 2\)"):
        table(np.ones((4, 2)), g, 2)
    with pytest.raises(InputError, match=r"x has shape \(5, 3\), expected \(5, 2\)"):
        table(np.ones((5, 3)), g, 2)
    with pytest.raises(InputError, match=r"X\[0, 1\] is nan"):
        table([[1.0, np.nan]] * 5, g, 2)
    with pytest.raises(InputError, match="graph is a ndarray: build a Graph"):
        table(np.ones((5, 2)), np.ones((5, 5)), 2)
    with pytest.raises(InputError, match="layout torch.sparse_coo: pass a dense tensor or a SciPy sparse matrix"):
        table(torch.ones(5, 2).to_sparse(), g, 2)
