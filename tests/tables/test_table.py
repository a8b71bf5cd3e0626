import numpy as np
import pandas as pd
import pytest

from s2gnn import InputError
from s2gnn.tables import Table
from s2gnn.tables.table import MISSING, as_numbers, as_text, first_text, missing


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


def test_columns_of_a_data_frame():
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "fraction": [0.5, np.nan, 2.0],
            "text": ["a", None, "c"],
            "category": pd.Categorical(["u", "v", None]),
            "code": pd.Categorical([2, 1, None]),
            "dose": pd.Categorical([0.5, None, 2.0]),
            "mixed": [1, "x", pd.NA],
            "truth": [True, False, True],
        },
        index=[7, 8, 9],
    )
    table = Table.from_frame(frame)
    np.testing.assert_array_equal(table.columns["whole"], [1, np.nan, 3])
    np.testing.assert_array_equal(table.columns["fraction"], [0.5, np.nan, 2])
    assert table.columns["text"].tolist() == ["a", "", "c"]
    assert table.columns["category"].tolist() == ["u", "v", ""]
    assert table.columns["code"].tolist() == ["2", "1", ""]
    assert table.columns["dose"].tolist() == ["0.5", "", "2"]
    assert table.columns["mixed"].tolist() == ["1", "x", ""]
    assert table.columns["truth"].tolist() == ["True", "False", "True"]
    assert table.to_frame()["text"].tolist() == ["a", "", "c"]
    with pytest.raises(InputError, match="the table has two columns of the same name"):
        Table.from_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InputError, match=r"the table has shape \(0, 1\)"):
        Table.from_frame(pd.DataFrame({"a": []}))
