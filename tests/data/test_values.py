import numpy as np
import pytest

from s2gnn.data.values import MISSING, as_numbers, as_text, first_text, missing


def test_missing_values():
    assert missing(as_text([*MISSING, "  ", " NA "])).all()
    assert not missing(as_text(["0", "None", "-", "no", "nano"])).any()
    assert missing(np.array([1.0, np.nan])).tolist() == [False, True]


def test_numbers_as_they_are_written():
    texts = ["1", " -2.5 ", "4e2", ".5", "", "NA", "+7"]
    np.testing.assert_array_equal(as_numbers(as_text(texts)), [1, -2.5, 400, 0.5, np.nan, np.nan, 7])
    rng = np.random.default_rng(0)
    values = rng.normal(size=500) * 10.0 ** rng.integers(-300, 300, 500)
    np.testing.assert_array_equal(as_numbers(as_text([repr(value) for value in values.tolist()])), values)


@pytest.mark.parametrize("text", ["cat", "1_000", "1,5", "0x10", "1 2", "None"])
def test_no_numbers(text):
    assert as_numbers(as_text(["1", text])) is None


def test_a_decimal_comma_only_where_it_is_one():
    np.testing.assert_array_equal(as_numbers(as_text(["1,5", "2"]), ","), [1.5, 2.0])
    np.testing.assert_array_equal(as_numbers(as_text(["1.5", "2"]), ","), [1.5, 2.0])
    assert as_numbers(as_text(["1,5", "b"]), ",") is None


@pytest.mark.parametrize("row", [0, 1, 56, 99])
def test_the_first_text_is_found(row):
    texts = [str(i) for i in range(100)]
    assert first_text(as_text(texts)) is None
    texts[row] = "cat"
    texts[99] = "dog" if row < 99 else texts[99]
    assert first_text(as_text(texts)) == row
