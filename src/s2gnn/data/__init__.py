"""Data from outside: people's own tables."""

from s2gnn.data.tables import Table, read_table

__all__ = ["Table", "read_table"]
