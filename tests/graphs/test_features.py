import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from s2gnn import InputError
from s2gnn.graphs.features import checked_features

X = np.random.default_rng(0).normal(size=(300, 200))


def test_numbers_are_float64_unless_float32_may_stay():
    for given in (X.astype(np.float32), torch.tensor(X, dtype=torch.float32), X.astype(np.float32).tolist()):
        checked = checked_features(given)
        assert checked.dtype == np.float64
        np.testing.assert_array_equal(checked, X.astype(np.float32))
    single = X.astype(np.float32)
    assert checked_features(single, keep_float32=True) is single
    assert checked_features(torch.from_numpy(single), keep_float32=True).ctypes.data == single.ctypes.data
    assert checked_features(X, keep_float32=True) is X
    for given in (X.astype(np.float16), (100 * X).astype(np.int32), sp.csr_array(single)):
        assert checked_features(given, keep_float32=True).dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_check_takes_no_memory(dtype):
    given = X.astype(dtype)
    tracemalloc.start()
    try:
        checked_features(given, keep_float32=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < given.nbytes / 10


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("keep_float32", [False, True])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.nan, r"X\[7, 3\] is nan, but features are finite"),
        (np.inf, r"X\[7, 3\] is inf, but features are finite"),
        (-np.inf, r"X\[7, 3\] is -inf, but features are finite"),
        (-2e150, r"a value of size 2e\+150, whose square overflows"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(form, keep_float32, value, text):
    given = X.copy()
    given[7, 3] = value
    if not np.isfinite(value):
        given[9, 1] = np.nan
        with pytest.raises(InputError, match=text):
            checked_features(form(given.astype(np.float32)), keep_float32=keep_float32)
    with pytest.raises(InputError, match=text):
        checked_features(form(given), keep_float32=keep_float32)


def test_a_table_of_zeros_alone():
    assert checked_features(np.zeros((3, 2))).shape == checked_features(sp.csr_array((3, 2))).shape == (3, 2)
