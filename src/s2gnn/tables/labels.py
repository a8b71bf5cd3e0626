"""Parse labels from a column of a table or from the `y` of a scikit-learn estimator; some rows have none."""

import re
import warnings
from collections import Counter
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from s2gnn.errors import InputError, LabelsWarning
from s2gnn.tables.columns import as_categories, warn_if_mostly_numbers
from s2gnn.tables.table import Table

Task = Literal["classify", "regress"]

UNLABELLED = -1
# More distinct whole numbers than this, with hardly two rows of each, may be classes or quantities. The first holds for
# numbers with gaps between them, like prices; the second for consecutive numbers, like codes.
MOST_SCATTERED_CLASSES, MOST_CONSECUTIVE_CLASSES = 10, 50
# More labels than this that are all different name their rows.
MOST_CLASSES_OF_ONE = 50
# What people write for a row without a label, besides the markers of a missing value; without spaces. Not "na", which
# may be sodium, "none", which may be a finding, or "-", which may be the opposite of "+".
UNKNOWN = ("unknown", "unlabelled", "unlabeled", "undetermined", "notavailable", "n/a", "n.a.", "tbd", "??", "???")
CLASSES_SHOWN = 5
NO_FRACTION = re.compile(r"(?<=\d)\.0*$")


def task_of(table: Table, label: str) -> Task:
    """Infer whether the labels are classes or quantities: text and whole numbers are classes, fractions quantities.

    Raises:
        InputError: if there is no label, or there are too many distinct whole numbers to tell.
    """
    _present(table, label)
    task = likely_task(table, label)
    if task is None:
        distinct = len(np.unique(table.numbers(label, "a label", "")[~table.missing(label)]))
        raise InputError(
            f"column {label!r} of {table.source} has {distinct:,} distinct whole numbers, which may be classes or "
            "quantities: set --task classify or --task regress"
        )
    return task


def likely_task(table: Table, label: str) -> Task | None:
    """Infer the task like `task_of`; `None` if the labels are too many distinct whole numbers to tell."""
    if not table.is_numeric(label):
        warn_if_mostly_numbers(table, label)
        return "classify"
    numbers = table.numbers(label, "a label", "fix the value or leave the cell blank")
    numbers = numbers[~table.missing(label)]
    if np.any(numbers != np.round(numbers)):
        return "regress"
    distinct = len(np.unique(numbers))
    consecutive = np.ptp(numbers) == distinct - 1
    most = MOST_CONSECUTIVE_CLASSES if consecutive else MOST_SCATTERED_CLASSES
    return None if distinct > most and 2 * distinct > len(numbers) else "classify"


def class_names(table: Table, label: str) -> NDArray[Any]:
    """Return the classes (N,) as text, "" for rows without a label.

    Whole numbers are written without a fraction, because data frames turn 1 into 1.0 where some labels are missing.
    """
    names = as_categories(table.column(label)).astype(object)
    if table.is_numeric(label):
        names[:] = [NO_FRACTION.sub("", name) for name in names]
    return names


def class_labels(table: Table, label: str) -> NDArray[Any]:
    """Return the classes (N,) as text, `None` for rows without a label.

    Raises:
        InputError: if no row is labelled, all labelled rows have the same class, or each of many rows has another one.
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
            f"column {label!r} of {table.source} is different in each of {n_labelled:,} labelled rows: row "
            "names and row numbers are not classes (--task regress predicts quantities)"
        )
    warn_of_suspicious_classes(table.source, label, labels[present])
    return labels


def warn_of_suspicious_classes(source: str, label: str, labels: NDArray[Any]) -> None:
    """Warn of classes that seem to mark unlabelled rows, or to be another spelling of the same class.

    Args:
        source: where the table came from.
        label: the column of the labels.
        labels: the class of each labelled row, (n,).
    """
    counts = Counter(sorted(labels))
    codes = len(counts) > 2 and all(name.isdecimal() for name in set(counts) - {"-1"})
    spellings: dict[str, list[str]] = {}
    for name, count in counts.items():
        folded = "".join(name.split()).casefold()
        spellings.setdefault(folded, []).append(f"{name!r} ({count:,})")
        if folded in UNKNOWN or (name == "-1" and codes):
            warnings.warn(
                f"{count:,} row{'s' if count > 1 else ''} of {source} {'are' if count > 1 else 'is'} {name} in column "
                f"{label!r}, which is treated as a class: leave the label of unlabelled rows blank",
                LabelsWarning,
                stacklevel=3,
            )
    for alike in spellings.values():
        if len(alike) > 1:
            warnings.warn(
                f"classes of {source} in column {label!r} differ only in upper case or spaces: {', '.join(alike)}: use "
                "one spelling if they are the same class",
                LabelsWarning,
                stacklevel=3,
            )


def warn_of_class_sizes(source: str, label: str, labels: NDArray[Any], *, counts: bool) -> None:
    """Warn of classes of one row among larger ones, and of many classes that may be `counts`.

    Args:
        source: where the table came from.
        label: the column of the labels.
        labels: the class of each row, `None` for rows without a label, (N,).
        counts: whether the classes are whole numbers, and were inferred to be classes.
    """
    sizes = Counter(name for name in labels if name is not None)
    if counts and len(sizes) > MOST_SCATTERED_CLASSES:
        warnings.warn(
            f"column {label!r} of {source} is treated as {len(sizes):,} classes: for a quantity use --task regress, to "
            "confirm classes --task classify",
            LabelsWarning,
            stacklevel=3,
        )
    single = [repr(name) for name, size in sizes.items() if size == 1]
    if single and len(single) < len(sizes):
        which = "1 class has" if len(single) == 1 else f"{len(single):,} classes have"
        more = f" and {len(single) - CLASSES_SHOWN:,} more" if len(single) > CLASSES_SHOWN else ""
        warnings.warn(
            f"{which} a single labelled row in column {label!r} of {source} "
            f"({', '.join(single[:CLASSES_SHOWN])}{more}), too few to measure how well they are predicted: label more "
            "rows, or leave these labels blank",
            LabelsWarning,
            stacklevel=3,
        )


def quantities(table: Table, label: str) -> NDArray[np.float64]:
    """Return the numbers to predict (N,), NaN for rows without one.

    Raises:
        InputError: if a value is not a number, no row has one, or all have the same.
    """
    present = _present(table, label)
    values = table.numbers(label, "a quantity", "fix the value, or set --task classify if these are classes")
    if len(np.unique(values[present])) == 1:
        raise InputError(
            f"every labelled row of {table.source} has {values[present][0]:g} in column {label!r}: give rows with at "
            "least two different values"
        )
    return values


def _present(table: Table, label: str) -> NDArray[np.bool_]:
    present = ~table.missing(label)
    if not present.any():
        raise InputError(f"column {label!r} of {table.source} is empty in every row: label at least two rows")
    return present


def known_labels(y: Any, used: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the labelled rows of `y` (N,), (n,), and their labels, (n,).

    Unlabelled rows are marked by −1, `None`, NaN, pandas' NA, or text that is empty or blank, as in files.
    Labels of rows that are not `used` (N,), because their weight is zero, are ignored.

    Raises:
        InputError: if no row has a label, or all labels are the same.
    """
    given = column_or_1d(y, warn=True)
    known = ~is_unlabelled(given)
    if not known.any():
        raise InputError(
            f"none of the {len(given)} rows has a label: -1, None, NaN, NA and blank text mark rows without one"
        )
    known = _of_positive_weight(known, used)
    if given.dtype.kind == "f" and np.isinf(given).any():
        row = int(np.flatnonzero(np.isinf(given))[0])
        raise InputError(f"y[{row}] is {given[row]}, but a label is a whole number or text")
    labels = given[known]
    texts = sum(isinstance(label, str) for label in labels) if labels.dtype.kind == "O" else 0
    if texts not in (0, len(labels)):
        raise InputError(f"{texts} of {len(labels)} labels are text and the others are not: make them all text")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")  # one label per class may be all there is
        check_classification_targets(np.array(labels.tolist()))
    classes = np.unique(labels)
    if len(classes) < 2:
        raise InputError(
            f"all {known.sum()} labelled rows have the label {classes.tolist()[0]!r}, but a classifier needs at least "
            "two classes: label rows of another class"
        )
    return np.flatnonzero(known), labels


def is_unlabelled(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which entries of `y` (N,) mark a row without a label."""
    if y.dtype.kind == "O":
        return np.array([_is_missing(label) or _is_blank(label) or label == UNLABELLED for label in y], dtype=np.bool_)
    if y.dtype.kind in "if":
        return np.asarray(np.isnan(y) | (y == UNLABELLED))
    if y.dtype.kind in "UT":
        return np.asarray(np.strings.strip(y) == "")
    return np.zeros(len(y), dtype=np.bool_)


def known_values(y: Any, used: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the rows of `y` (N,) with a value, (n,), and the values, (n,); NaN, `None` and pandas' NA mark others.

    Values of rows that are not `used` (N,) are ignored.

    Raises:
        InputError: if no row has a value, or one is not a finite number.
    """
    given = column_or_1d(y, warn=True)
    if given.dtype.kind == "O":
        given = np.array([np.nan if _is_missing(value) else value for value in given], dtype=object)
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"y cannot be read as numbers ({error}): leave unknown values as NaN") from error
    present = ~np.isnan(values)
    if not present.any():
        raise InputError(f"none of the {len(values)} rows has a value: NaN marks rows whose value is unknown")
    known = np.flatnonzero(_of_positive_weight(present, used))
    if not np.isfinite(values[known]).all():
        row = int(known[~np.isfinite(values[known])][0])
        raise InputError(f"y[{row}] is {values[row]}, but a value is a finite number, or NaN where it is unknown")
    return known, values[known]


def _of_positive_weight(known: NDArray[np.bool_], used: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Return the `known` rows (N,) that are `used`."""
    if used is None:
        return known
    if not (known & used).any():
        raise InputError("every labelled row has a sample weight of zero: give one a positive weight")
    return known & used


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or bool(value != value)
