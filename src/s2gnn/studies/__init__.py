"""The experiments: what one result of a table consists of, and how it comes about."""

from s2gnn.studies.cell import Cell, make_cell
from s2gnn.studies.run import CellProgress, CellResult, run_cell

__all__ = ["Cell", "CellProgress", "CellResult", "make_cell", "run_cell"]
