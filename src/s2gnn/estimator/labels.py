"""What the labels of a table say: the classes, and which rows have none."""

import math
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from s2gnn.errors import InputError

UNLABELLED = -1


@dataclass(frozen=True)
class Labels:
    """The labels of N rows.

    Attributes:
        classes: the labels that occur, sorted, (C,).
        codes: the place of each row's label in `classes`, −1 where there is none, (N,).
    """

    classes: NDArray[Any]
    codes: NDArray[np.int64]

    @property
    def labelled(self) -> NDArray[np.int64]:
        """The rows that have a label."""
        return np.flatnonzero(self.codes >= 0)


def read_labels(y: Any) -> Labels:
    """The labels `y` (N,); −1, `None`, NaN and pandas' NA mark rows without one.

    Raises:
        InputError: if no row has a label, or all labels are the same.
    """
    given = column_or_1d(y, warn=True)
    known = ~is_unlabelled(given)
    if not known.any():
        raise InputError(
            f"none of the {len(given)} rows has a label: -1, None, NaN and NA mark rows without one, any other is one"
        )
    if given.dtype.kind == "f" and np.isinf(given).any():
        row = int(np.flatnonzero(np.isinf(given))[0])
        raise InputError(f"y[{row}] is {given[row]}, but a label is a whole number or text")
    values = given[known]
    texts = sum(isinstance(value, str) for value in values) if values.dtype.kind == "O" else 0
    if texts not in (0, len(values)):
        raise InputError(f"{texts} of {len(values)} labels are text and the others are not: make them all text")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")  # a label for each class may be all there is
        check_classification_targets(np.array(values.tolist()))
    classes, places = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise InputError(
            f"all {known.sum()} labelled rows have the label {classes.tolist()[0]!r}, but a classifier tells at least "
            "two classes apart: label rows of another class"
        )
    codes = np.full(len(given), UNLABELLED, dtype=np.int64)
    codes[known] = places
    return Labels(classes, codes)


def is_unlabelled(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries of `y` (N,) mark a row without a label."""
    if y.dtype.kind == "O":
        return np.array([_marks_none(value) for value in y], dtype=np.bool_)
    if y.dtype.kind == "f":
        return np.asarray(np.isnan(y) | (y == UNLABELLED))
    if y.dtype.kind == "i":
        return np.asarray(y == UNLABELLED)
    return np.zeros(len(y), dtype=np.bool_)


def is_missing(value: Any) -> bool:
    """Whether `value` is `None` or pandas' NA; whoever has an NA has imported pandas, which is not needed here."""
    return value is None or value is getattr(sys.modules.get("pandas"), "NA", None)


def _marks_none(value: Any) -> bool:
    if is_missing(value):
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value) or value == UNLABELLED
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value == UNLABELLED
