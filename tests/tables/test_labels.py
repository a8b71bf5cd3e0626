import re

import numpy as np
import pandas as pd
import pytest

from s2gnn import InputError
from s2gnn.errors import ColumnsWarning, LabelsWarning
from s2gnn.tables import Table, class_labels, quantities, task_of
from s2gnn.tables.labels import is_unlabelled, known_labels, known_values
from s2gnn.tables.table import as_text


def labelled(*values):
    return Table("t.csv", {"y": as_text(values)})


def test_classes_are_text_and_empty_labels_none():
    assert class_labels(labelled("1", " 2", "", "NA", "2"), "y").tolist() == ["1", "2", None, None, "2"]


def test_whole_numbers_are_the_same_class_with_and_without_a_fraction():
    assert class_labels(labelled("1.0", "2", "", "1", "2."), "y").tolist() == ["1", "2", None, "1", "2"]
    assert class_labels(labelled("007", "10", "7", "10"), "y").tolist() == ["007", "10", "7", "10"]
    assert class_labels(labelled("v1.0", "v2.0", ""), "y").tolist() == ["v1.0", "v2.0", None]


def test_minus_one_is_a_class_and_said_to_be_one_where_that_may_surprise():
    with pytest.warns(LabelsWarning, match="2 rows of t.csv are -1 in column 'y', which is treated as a class: leave"):
        assert "-1" in class_labels(labelled("0", "1", "-1", "-1"), "y").tolist()
    assert class_labels(labelled("1", "-1", "", "1"), "y").tolist() == ["1", "-1", None, "1"]
    assert class_labels(labelled("1", "-1.0", "-1", "x", ""), "y").tolist() == ["1", "-1.0", "-1", "x", None]
    assert class_labels(labelled("1", "-1.0", "-1", ""), "y").tolist() == ["1", "-1", "-1", None]


def test_spellings_of_the_same_class_are_named():
    message = r"in column 'y' differ only in upper case or spaces: 'Red Fox' \(1\), 'red  fox' \(2\): use one spelling"
    with pytest.warns(LabelsWarning, match=message):
        class_labels(labelled("red  fox", "Red Fox", "", "red  fox", "wolf"), "y")


@pytest.mark.parametrize("name", ["unknown", "Unlabeled", "n/a", "Not available", "??"])
def test_classes_that_seem_to_mark_unlabelled_rows_are_named(name):
    with pytest.warns(
        LabelsWarning, match=f"2 rows of t.csv are {re.escape(name)} in column 'y', which is treated as a class: leave"
    ):
        class_labels(labelled("wolf", name, "lynx", name), "y")


def test_a_class_for_every_row_names_the_rows():
    with pytest.raises(InputError, match="'y' of t.csv is different in each of 51 labelled rows: row names and row"):
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


def test_a_typing_error_in_quantities_is_named():
    with pytest.warns(ColumnsWarning, match=r"4 of 5 values are numbers; not a number: '2.5\?' \(row 3\)"):
        assert task_of(labelled("0.5", "1.5", "2.5?", "", "3.5", "4.5"), "y") == "classify"


def test_many_whole_numbers_need_a_word():
    with pytest.raises(InputError, match="has 60 distinct whole numbers, which may be classes or quantities: set"):
        task_of(labelled(*map(str, range(60))), "y")
    assert task_of(labelled(*(str(i % 60) for i in range(600))), "y") == "classify"
    with pytest.raises(InputError, match="has 12 distinct whole numbers, which may be classes or quantities: set"):
        task_of(labelled(*(str(150_000 + 7_500 * i) for i in range(12))), "y")
    assert task_of(labelled(*(str(150_000 + 7_500 * i) for i in range(12)), *["165000"] * 12), "y") == "classify"
    assert task_of(labelled(*(str(4 + i) for i in range(12))), "y") == "classify"
    assert task_of(labelled(*(str(10 * i) for i in range(10))), "y") == "classify"


@pytest.mark.parametrize(
    ("read", "values", "message"),
    [
        (class_labels, ["", "NA", " "], "'y' of t.csv is empty in every row: label at least two rows"),
        (quantities, ["", "NA", " "], "'y' of t.csv is empty in every row: label at least two rows"),
        (task_of, ["", "NA", " "], "'y' of t.csv is empty in every row: label at least two rows"),
        (class_labels, ["a", "", "a "], "every labelled row of t.csv is 'a' in column 'y': a classifier needs"),
        (quantities, ["1.5", "", "1.50"], "every labelled row of t.csv has 1.5 in column 'y'"),
        (quantities, ["1.5", "b"], "column 'y' of t.csv is 'b' in row 2, but a quantity must be a number"),
    ],
)
def test_unusable_labels(read, values, message):
    with pytest.raises(InputError, match=message):
        read(labelled(*values), "y")


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        ([0, -1, 2, 0], [0, 2], [0, -1, 1, 0]),
        (["b", "a", "b"], ["a", "b"], [1, 0, 1]),
        (np.array(["b", None, "a", float("nan")], dtype=object), ["a", "b"], [1, -1, 0, -1]),
        (np.array([3.0, np.nan, -1.0, 1.0]), [1.0, 3.0], [1, -1, -1, 0]),
        (np.array([True, False]), [False, True], [1, 0]),
        (np.array([5, None, -1, 7], dtype=object), [5, 7], [0, -1, -1, 1]),
        (np.array([0, 255], dtype=np.uint8), [0, 255], [0, 1]),
        (np.array(["-1", None, "1"], dtype=object), ["-1", "1"], [0, -1, 1]),
        (np.array(["b", pd.NA, "a", None], dtype=object), ["a", "b"], [1, -1, 0, -1]),
        (pd.Series(["b", pd.NA, "a"], dtype="string"), ["a", "b"], [1, -1, 0]),
        (pd.Series([7, pd.NA, 5, -1], dtype="Int64").to_numpy(dtype=object), [5, 7], [1, -1, 0, -1]),
        (["-1", "1", "nan", "None", "", " \t"], ["-1", "1", "None", "nan"], [0, 1, 3, 2, -1, -1]),
        (np.array(["b", "", "a"], dtype=np.dtypes.StringDType()), ["a", "b"], [1, -1, 0]),
        (list("abcdefghijklmnopqrstuvwxyz"), list("abcdefghijklmnopqrstuvwxyz"), list(range(26))),
    ],
)
def test_labels_of_every_kind(y, classes, codes):
    rows, labels = known_labels(y)
    assert rows.tolist() == [row for row, code in enumerate(codes) if code >= 0]
    assert labels.tolist() == [classes[code] for code in codes if code >= 0]
    np.testing.assert_array_equal(is_unlabelled(np.asarray(y)), np.array(codes) < 0)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([-1, -1], "none of the 2 rows has a label"),
        (["a", "a"], "all 2 labelled rows have the label 'a', but a classifier needs at least two classes"),
        ([0.0, np.inf], r"y\[1\] is inf"),
        ([0.5, 1.25], "Unknown label type: continuous"),
    ],
)
def test_labels_that_cannot_be_learned(y, message):
    with pytest.raises(ValueError, match=message):
        known_labels(np.asarray(y))


def test_labels_of_several_types():
    with pytest.raises(InputError, match="2 of 3 labels are text and the others are not"):
        known_labels(np.array(["a", 3, None, "b"], dtype=object))


def test_values_of_every_kind():
    for y in ([1.5, np.nan, 2], np.array([1.5, None, 2], dtype=object), pd.Series([1.5, pd.NA, 2], dtype="Float64")):
        rows, values = known_values(np.asarray(y))
        assert (rows.tolist(), values.tolist()) == ([0, 2], [1.5, 2.0])
    for y, message in (
        ([np.nan], "none of the 1 rows has a value"),
        ([1, np.inf], r"y\[1\] is inf"),
        (["a"], "as numbers"),
    ):
        with pytest.raises(InputError, match=message):
            known_values(np.asarray(y))
