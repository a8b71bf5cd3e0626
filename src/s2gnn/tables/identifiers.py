"""Names of the rows of a table: the values of the column that identifies them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from s2gnn.errors import IdentifiersWarning
from s2gnn.tables.columns import as_categories
from s2gnn.tables.table import Table

ROW = "row"  # the column of row numbers that predictions and explanations add


@dataclass(frozen=True)
class Identifiers:
    """The names of N rows.

    Attributes:
        column: the column that contains them.
        values: the names as written, without surrounding blanks; "" if a row has none, (N,).
    """

    column: str
    values: Sequence[str]

    @classmethod
    def of(cls, table: Table, column: str) -> Identifiers:
        """Read the names from a column of a table; warns if several rows have the same name."""
        found = cls(column, as_categories(table.column(column)).tolist())
        if found.repeated:
            value = next(value for value in found.values if value in found.repeated)
            rows = [row + 1 for row, other in enumerate(found.values) if other == value]
            others = len(found.repeated) - 1
            also = f", and {others:,} more value{'s' if others > 1 else ''} in several rows" if others else ""
            warnings.warn(
                f"column {column!r} of {table.source} has duplicate values: {value!r} in rows {rows[0]} and "
                f"{rows[1]}{also}; row numbers are added to keep them apart. If these rows belong to one subject, fit "
                f"with --group {column!r}: otherwise they fall into different folds of the cross-validation, and "
                "scores are too high",
                IdentifiersWarning,
                stacklevel=3,
            )
        return found

    @cached_property
    def repeated(self) -> frozenset[str]:
        """Return the values that several rows share."""
        return frozenset(value for value, count in Counter(self.values).items() if value and count > 1)


def row_value(identifiers: Identifiers | None, row: int, shortened: Callable[[str], str] = str) -> str:
    """Return the identifier of a row, counted from 0, and its number if other rows have the same; "" if it has none."""
    value = "" if identifiers is None else identifiers.values[row]
    number = f" (row {row + 1:,})" if identifiers is not None and value in identifiers.repeated else ""
    return shortened(value) + number


def row_name(identifiers: Identifiers | None, row: int, shortened: Callable[[str], str] = str) -> str:
    """Return the name of a row, counted from 0: "patient 1017"; "row 3" if it has no identifier."""
    value = row_value(identifiers, row, shortened)
    return f"{shortened(identifiers.column)} {value}" if identifiers is not None and value else f"row {row + 1:,}"
