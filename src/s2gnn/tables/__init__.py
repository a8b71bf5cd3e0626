"""Read and write tables, encode their columns as features, and parse their labels and edges."""

from s2gnn.tables.columns import Columns, choose_columns
from s2gnn.tables.edges import read_edges
from s2gnn.tables.encoder import EncodedTable, TableEncoder, encode_table
from s2gnn.tables.files import read_table, table_text
from s2gnn.tables.identifiers import Identifiers, row_name
from s2gnn.tables.labels import Task, class_labels, quantities, task_of
from s2gnn.tables.table import Table

__all__ = [
    "Columns",
    "EncodedTable",
    "Identifiers",
    "Table",
    "TableEncoder",
    "Task",
    "choose_columns",
    "class_labels",
    "encode_table",
    "quantities",
    "read_edges",
    "read_table",
    "row_name",
    "table_text",
    "task_of",
]
