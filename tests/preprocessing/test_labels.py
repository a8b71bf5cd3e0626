import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data import Table
from s2gnn.data.values import as_text
from s2gnn.errors import LabelsWarning
from s2gnn.preprocessing import class_labels, quantities, task_of


def labelled(*values):
    return Table("t.csv", {"y": as_text(values)})


def test_classes_are_text_and_empty_labels_none():
    assert class_labels(labelled("1", " 2", "", "NA", "2"), "y").tolist() == ["1", "2", None, None, "2"]


def test_whole_numbers_are_the_same_class_with_and_without_a_fraction():
    assert class_labels(labelled("1.0", "2", "", "1", "2."), "y").tolist() == ["1", "2", None, "1", "2"]
    assert class_labels(labelled("007", "10", "7", "10"), "y").tolist() == ["007", "10", "7", "10"]
    assert class_labels(labelled("v1.0", "v2.0", ""), "y").tolist() == ["v1.0", "v2.0", None]


def test_minus_one_is_a_class_and_said_to_be_one_where_that_may_surprise():
    with pytest.warns(LabelsWarning, match="2 rows of t.csv are -1 in column 'y', which is taken for a class: empty"):
        assert "-1" in class_labels(labelled("0", "1", "-1", "-1"), "y").tolist()
    assert class_labels(labelled("1", "-1", "", "1"), "y").tolist() == ["1", "-1", None, "1"]
    assert class_labels(labelled("1", "-1.0", "-1", "x", ""), "y").tolist() == ["1", "-1.0", "-1", "x", None]
    assert class_labels(labelled("1", "-1.0", "-1", ""), "y").tolist() == ["1", "-1", "-1", None]


def test_a_class_for_every_row_names_the_rows():
    with pytest.raises(InputError, match="'y' of t.csv is different in each of 51 labelled rows: names and numbers"):
        class_labels(labelled("", *(f"row {i}" for i in range(51))), "y")
    assert len(class_labels(labelled("", *(f"kind {i}" for i in range(50))), "y")) == 51
    assert class_labels(labelled("a", "b"), "y").tolist() == ["a", "b"]


def test_quantities():
    np.testing.assert_array_equal(quantities(labelled("1.5", "", "-2", "?"), "y"), [1.5, np.nan, -2, np.nan])


@pytest.mark.parametrize(
    ("values", "task"),
    [(["a", "", "b"], "classify"), (["1", "2", ""], "classify"), (["1.0", "2"], "classify"), (["0.5", ""], "regress")],
)
def test_the_task_is_seen_in_the_labels(values, task):
    assert task_of(labelled(*values), "y") == task


def test_many_whole_numbers_need_a_word():
    with pytest.raises(InputError, match="has 60 different whole numbers, which may be classes or quantities: say"):
        task_of(labelled(*map(str, range(60))), "y")
    assert task_of(labelled(*(str(i % 60) for i in range(600))), "y") == "classify"
    with pytest.raises(InputError, match="has 12 different whole numbers, which may be classes or quantities: say"):
        task_of(labelled(*(str(150_000 + 7_500 * i) for i in range(12))), "y")
    assert task_of(labelled(*(str(150_000 + 7_500 * i) for i in range(12)), *["165000"] * 12), "y") == "classify"
    assert task_of(labelled(*(str(4 + i) for i in range(12))), "y") == "classify"
    assert task_of(labelled(*(str(10 * i) for i in range(10))), "y") == "classify"


@pytest.mark.parametrize(
    ("read", "values", "message"),
    [
        (class_labels, ["", "NA", " "], "'y' of t.csv is empty in every row: label a few rows"),
        (quantities, ["", "NA", " "], "'y' of t.csv is empty in every row: label a few rows"),
        (task_of, ["", "NA", " "], "'y' of t.csv is empty in every row: label a few rows"),
        (class_labels, ["a", "", "a "], "every labelled row of t.csv is 'a' in column 'y': a classifier needs"),
        (quantities, ["1.5", "", "1.50"], "every labelled row of t.csv has 1.5 in column 'y'"),
        (quantities, ["1.5", "b"], "column 'y' of t.csv is 'b' in row 2, but a quantity is a number"),
    ],
)
def test_unusable_labels(read, values, message):
    with pytest.raises(InputError, match=message):
        read(labelled(*values), "y")
