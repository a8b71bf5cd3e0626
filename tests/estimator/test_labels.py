import numpy as np
import pandas as pd
import pytest

from s2gnn import InputError
from s2gnn.estimator.labels import is_unlabelled, read_labels


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
        (["-1", "1", "nan", "None", ""], ["", "-1", "1", "None", "nan"], [1, 2, 4, 3, 0]),
        (list("abcdefghijklmnopqrstuvwxyz"), list("abcdefghijklmnopqrstuvwxyz"), list(range(26))),
    ],
)
def test_labels_of_every_kind(y, classes, codes):
    labels = read_labels(y)
    assert labels.classes.tolist() == classes
    assert labels.codes.tolist() == codes
    assert labels.labelled.tolist() == [row for row, code in enumerate(codes) if code >= 0]
    np.testing.assert_array_equal(is_unlabelled(np.asarray(y)), np.array(codes) < 0)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([-1, -1], "none of the 2 rows has a label"),
        (["a", "a"], "all 2 labelled rows have the label 'a', but a classifier tells at least two classes apart"),
        ([0.0, np.inf], r"y\[1\] is inf"),
        ([0.5, 1.25], "Unknown label type: continuous"),
    ],
)
def test_labels_that_cannot_be_learned(y, message):
    with pytest.raises(ValueError, match=message):
        read_labels(np.asarray(y))


def test_labels_of_several_types():
    with pytest.raises(InputError, match="2 of 3 labels are text and the others are not"):
        read_labels(np.array(["a", 3, None, "b"], dtype=object))
