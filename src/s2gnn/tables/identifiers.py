"""What the rows of a table are called: the values of the column that identifies them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from s2gnn.tables.columns import as_categories
from s2gnn.tables.table import Table


@dataclass(frozen=True)
class Identifiers:
    """The names of N rows.

    Attributes:
        column: the column that has them.
        values: as they are written, without surrounding blanks; "" where there is none, (N,).
    """

    column: str
    values: Sequence[str]

    @classmethod
    def of(cls, table: Table, column: str) -> Identifiers:
        """The values of a column of a table."""
        return cls(column, as_categories(table.column(column)).tolist())


def row_name(identifiers: Identifiers | None, row: int) -> str:
    """What a row, counted from 0, is called: "patient 1017"; "row 3" if it has no identifier."""
    value = "" if identifiers is None else identifiers.values[row]
    return f"{identifiers.column} {value}" if identifiers is not None and value else f"row {row + 1:,}"
