"""The native module against NumPy, as it is checked in wheels for a Python without torch, and under sanitizers."""

import pytest

from s2gnn.operators import kernel
from tests.installation import native_kernels


@pytest.mark.parametrize("threads", [1, 3])
def test_the_native_module_computes_what_numpy_does_and_refuses_what_lies_outside(threads):
    assert native_kernels.check(kernel.native_module(), threads, alphas=(1, 4, 9), widths=(1, 8, 17, 67)) > 0
