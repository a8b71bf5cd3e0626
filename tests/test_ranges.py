import math

import numpy as np
import pytest

from s2gnn.errors import InputError
from s2gnn.ranges import SEED, WIDTH, real


def test_an_integer_of_the_range_comes_back_as_a_python_integer():
    for value in (0, 2**32 - 1, np.uint8(7)):
        checked = SEED.checked(value, "seed")
        assert (checked, type(checked)) == (value, int)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "width is 0, but it must be an integer >= 1"),
        (-(2**70), f"width is -{2**70}, but it must be an integer >= 1"),
        (2**24 + 1, "width is 16777217, but it must be at most 16777216"),
        pytest.param(10**6000, "width is an integer of 19,932 bits, but it must be at most 16777216", id="huge"),
        (1.0, "width is 1.0, but it must be an integer >= 1"),
        ("1", "width is '1', but it must be an integer >= 1"),
        (True, "width is True, but it must be an integer >= 1"),
        (None, "width is None, but it must be an integer >= 1"),
    ],
)
def test_others_are_refused_with_the_range(value, message):
    with pytest.raises(InputError) as raised:
        WIDTH.checked(value, "width")
    assert str(raised.value) == message


def test_a_real_number_becomes_a_float_and_anything_else_nan():
    assert [real(value) for value in (1, 0.5, np.float32(0.5), np.int8(3))] == [1.0, 0.5, 0.5, 3.0]
    assert all(math.isnan(real(value)) for value in (10**400, "1", None, 1j, np.complex64(1), [1], math.nan))
