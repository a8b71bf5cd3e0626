"""Choose the columns of a table to use as features, and their kinds."""

import itertools
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from s2gnn.errors import ColumnsWarning, InputError
from s2gnn.tables.table import ROW_NAMES, Column, Table, missing, stripped

# A text column with more distinct values than this names its rows instead of describing them. So does one with more
# distinct values than half the number of rows, such as a date, unless they are few.
MOST_CATEGORIES = 100
FEW_CATEGORIES = 10
# More, even for columns that were requested, would need too much memory: of one column, and of all together.
MOST_CATEGORIES_REQUESTED = 2_000
MOST_CATEGORIES_IN_ALL = 20_000
# A column of text with at least this share of numbers was probably meant to be numeric.
MOSTLY_NUMBERS = 0.8
VALUES_SHOWN = 3
WHOLE = re.compile(r"([+-]?\d+)\.0*")
# Distinct whole numbers are probably identifiers if the name ends like PatientID or sample_id, not like "acid", or if
# they are consecutive, unless they are few or years.
IDENTIFIER_NAME = re.compile(r"(^|[^A-Za-z])(id|Id|ID)$|[a-z]I[dD]$")
FEW_CONSECUTIVE = 20
YEARS = 1500, 2200


@dataclass(frozen=True)
class Columns:
    """The columns to learn from.

    Attributes:
        numeric: names of the columns of numbers.
        categorical: names of the columns of categories.
        left_out: the reason for each excluded column except the label.
    """

    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    left_out: dict[str, str]


def choose_columns(
    table: Table, names: Sequence[str] | None = None, *, label: str | None = None, without: Sequence[str] = ()
) -> Columns:
    """Choose the named columns, or all that distinguish rows, except the label, if any, and those in `without`.

    A column is numeric if every value is a number or missing, unless it is declared categorical. Constant
    columns are left out, and so are columns that number or name the rows, unless they are named.

    Raises:
        InputError: if no column is left, or a named one does not exist, is the label, or has too many categories.
    """
    _check_names(table, names, label, without)
    numeric: list[str] = []
    categorical: list[str] = []
    left_out = dict.fromkeys(without, "the identifier of the rows")
    for name in names or [name for name in table.columns if name not in (label, *without)]:
        is_numeric = name not in table.categorical and table.is_numeric(name)
        if not is_numeric and name not in table.categorical and name != ROW_NAMES:
            warn_if_mostly_numbers(table, name)
        reason = _reason_to_leave_out(table, name, is_numeric=is_numeric, requested=names is not None)
        if reason is not None:
            left_out[name] = reason
        else:
            (numeric if is_numeric else categorical).append(name)
    in_all = sum(len(categories(table.column(name))) for name in categorical) if names is not None else 0
    if in_all > MOST_CATEGORIES_IN_ALL:
        raise InputError(
            f"the {len(categorical):,} columns of text that were requested of {table.source} have {in_all:,} distinct "
            f"texts, but at most {MOST_CATEGORIES_IN_ALL:,} can be features: request fewer columns"
        )
    if names is not None:
        left_out |= {n: "not requested" for n in table.columns if n not in (*names, label, *without)}
    if not numeric and not categorical:
        reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(left_out.items())[:5])
        besides = "" if label is None else f" besides {label!r}"
        raise InputError(f"{table.source} has no column to learn from{besides} ({reasons or 'it is the only one'})")
    return Columns(tuple(numeric), tuple(categorical), left_out)


def _check_names(table: Table, names: Sequence[str] | None, label: str | None, without: Sequence[str]) -> None:
    features, labels = list(names or []), [] if label is None else [label]
    for name in (*labels, *without):
        table.column(name)
    table.check_named(features)
    roles = {"the label": labels, "the identifier of the rows": without, "a feature": features}
    for role, other in itertools.combinations(roles, 2):
        if both := [name for name in roles[role] if name in roles[other]]:
            raise InputError(f"the column {both[0]!r} is both {role} and {other}: it can only be one of them")
    if twice := [name for name in features if features.count(name) > 1]:
        raise InputError(f"the column {twice[0]!r} is listed twice among the features: list it once")


def _reason_to_leave_out(table: Table, name: str, *, is_numeric: bool, requested: bool) -> str | None:
    if name == ROW_NAMES and not requested:
        return "the names of the rows"
    if is_numeric:
        numbers = table.numbers(name, "a feature", "fix the value or exclude the column")
        if np.isnan(numbers).all():
            return "empty"
        if np.nanmin(numbers) == np.nanmax(numbers):
            return "the same number in every row"
        if not requested and _counts_rows(numbers):
            return "the numbers of the rows"
        if not requested and _looks_like_identifier(name, numbers):
            warnings.warn(
                f"column {name!r} of {table.source} looks like an identifier (distinct whole numbers), but is used as "
                "a feature: leave it out with --id, or name the features with --features",
                ColumnsWarning,
                stacklevel=4,
            )
        return None
    n_categories = len(categories(table.column(name)))
    if n_categories == 1:
        return "the same text in every row"
    if requested and n_categories > MOST_CATEGORIES_REQUESTED:
        raise InputError(
            f"column {name!r} of {table.source} has {n_categories:,} distinct texts, too many for a feature: "
            "remove it from the features"
        )
    scattered = n_categories > FEW_CATEGORIES and 2 * n_categories > table.n_rows
    if not requested and (scattered or n_categories > MOST_CATEGORIES):
        return f"{n_categories:,} distinct texts in {table.n_rows:,} rows"
    return None


def warn_if_mostly_numbers(table: Table, name: str) -> None:
    """Warn if most values of a column of text are numbers, and name the others."""
    present = ~table.missing(name)
    values = stripped(table.column(name)).astype(object)
    written = pd.Series(values).str.replace(table.decimal, ".", regex=False)
    others = np.flatnonzero(present & pd.to_numeric(written, errors="coerce").isna())
    n_present = int(present.sum())
    n_numbers = n_present - len(others)
    if not len(others) or n_numbers < MOSTLY_NUMBERS * n_present:
        return
    listed = ", ".join(f"{values[row]!r} (row {row + 1})" for row in others[:VALUES_SHOWN])
    more = f" and {len(others) - VALUES_SHOWN:,} more" if len(others) > VALUES_SHOWN else ""
    warnings.warn(
        f"column {name!r} of {table.source} is treated as text: {n_numbers:,} of {n_present:,} values are numbers; "
        f"not a number: {listed}{more}: fix these values or leave the cells blank",
        ColumnsWarning,
        stacklevel=3,
    )


def categories(column: Column) -> list[str]:
    """Return the categories of a column, sorted; "" for missing values."""
    return sorted(set(map(category, set(as_categories(column).tolist()))))


def category(value: str) -> str:
    """Return the category of a value: 1.0 is 1, because data frames turn 1 into 1.0 where some values are missing."""
    whole = WHOLE.fullmatch(value)
    return whole[1] if whole else value


def as_categories(column: Column) -> Column:
    """Return a column as names of categories (N,), without surrounding blanks; "" for missing values."""
    names: Column = np.where(missing(column), "", stripped(column))
    return names


def _counts_rows(numbers: Column) -> bool:
    """Return whether a column is 0, 1, 2, … or 1, 2, 3, …, as spreadsheets and data frames number their rows."""
    return len(numbers) > 2 and numbers[0] in (0, 1) and bool(np.all(np.diff(numbers) == 1))


def _looks_like_identifier(name: str, numbers: Column) -> bool:
    """Return whether a column is of distinct whole numbers that are called an identifier or are consecutive."""
    n, low, high = len(numbers), np.nanmin(numbers), np.nanmax(numbers)
    if len(np.unique(numbers)) < n or np.any(numbers != np.round(numbers)):
        return False
    few_or_years = n < FEW_CONSECUTIVE or (low >= YEARS[0] and high <= YEARS[1])
    return bool(IDENTIFIER_NAME.search(name)) or (high - low == n - 1 and not few_or_years)
