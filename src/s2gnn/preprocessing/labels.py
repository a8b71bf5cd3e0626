"""The label column of a table, in which some rows have no value."""

import re
import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from s2gnn.data.tables import Table
from s2gnn.errors import InputError, LabelsWarning
from s2gnn.preprocessing.columns import as_categories

Task = Literal["classify", "regress"]

# With more different whole numbers than this, and hardly two rows of each, classes are as unlikely as quantities: the
# first if they leave numbers between them out, as prices do, the second if they are counted through, as codes are.
MOST_SCATTERED_CLASSES, MOST_NUMBERED_CLASSES = 10, 50
# So many labels that are all different name their rows.
MOST_CLASSES_OF_ONE = 50
NO_FRACTION = re.compile(r"(?<=\d)\.0*$")


def task_of(table: Table, label: str) -> Task:
    """Whether the labels are classes or quantities: text and whole numbers are classes, fractions quantities.

    Raises:
        InputError: if there is no label, or so many different whole numbers that they may be either.
    """
    present = _present(table, label)
    if not table.is_numeric(label):
        return "classify"
    numbers = table.numbers(label, "a label", "mend the value or empty it")[present]
    if np.any(numbers != np.round(numbers)):
        return "regress"
    different = len(np.unique(numbers))
    counted = np.ptp(numbers) == different - 1
    if different > (MOST_NUMBERED_CLASSES if counted else MOST_SCATTERED_CLASSES) and 2 * different > len(numbers):
        raise InputError(
            f"column {label!r} of {table.source} has {different:,} different whole numbers, which may be classes or "
            "quantities: say --task classify or --task regress"
        )
    return "classify"


def class_names(table: Table, label: str) -> NDArray[Any]:
    """The classes (N,) as text, "" where there is none.

    A whole number is written without a fraction, because data frames turn 1 into 1.0 where some labels are missing.
    """
    names = as_categories(table.column(label)).astype(object)
    if table.is_numeric(label):
        names[:] = [NO_FRACTION.sub("", name) for name in names]
    return names


def class_labels(table: Table, label: str) -> NDArray[Any]:
    """The classes (N,) as text, `None` where a row has no label.

    Raises:
        InputError: if no row is labelled, all labelled rows are of one class, or a class for each of many rows.
    """
    present = _present(table, label)
    labels = class_names(table, label)
    labels[~present] = None
    classes = set(labels[present])
    if len(classes) == 1:
        raise InputError(
            f"every labelled row of {table.source} is {classes.pop()!r} in column {label!r}: a classifier needs rows "
            "of at least two classes"
        )
    n_labelled = int(present.sum())
    if len(classes) == n_labelled and (n_labelled > MOST_CLASSES_OF_ONE or n_labelled == table.n_rows > 2):
        raise InputError(
            f"column {label!r} of {table.source} is different in each of {n_labelled:,} labelled rows: names and "
            "numbers of rows are no classes (--task regress predicts quantities)"
        )
    _warn_of_minus_one(table, label, classes, int(np.sum(labels == "-1")))
    return labels


def _warn_of_minus_one(table: Table, label: str, classes: set[str], n_rows: int) -> None:
    """Say that −1 beside classes 0, 1, … is a class here, although it marks unlabelled rows in scikit-learn."""
    if "-1" in classes and len(classes) > 2 and all(name.isdecimal() for name in classes - {"-1"}):
        warnings.warn(
            f"{n_rows:,} rows of {table.source} are -1 in column {label!r}, which is taken for a class: empty the "
            "label of rows that have none",
            LabelsWarning,
            stacklevel=2,
        )


def quantities(table: Table, label: str) -> NDArray[np.float64]:
    """The numbers to predict (N,), NaN where a row has none.

    Raises:
        InputError: if a value is not a number, no row has one, or all have the same.
    """
    present = _present(table, label)
    values = table.numbers(label, "a quantity", "mend the value, or say --task classify if these are classes")
    if len(np.unique(values[present])) == 1:
        raise InputError(
            f"every labelled row of {table.source} has {values[present][0]:g} in column {label!r}: there is nothing "
            "to learn"
        )
    return values


def _present(table: Table, label: str) -> NDArray[np.bool_]:
    present = ~table.missing(label)
    if not present.any():
        raise InputError(f"column {label!r} of {table.source} is empty in every row: label a few rows, at least two")
    return present
