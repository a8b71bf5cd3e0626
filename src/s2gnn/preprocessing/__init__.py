"""From a person's table to features, labels and a given graph."""

from s2gnn.preprocessing.columns import Columns, choose_columns
from s2gnn.preprocessing.edges import read_edges
from s2gnn.preprocessing.encoder import TableEncoder
from s2gnn.preprocessing.labels import Task, class_labels, quantities, task_of

__all__ = [
    "Columns",
    "TableEncoder",
    "Task",
    "choose_columns",
    "class_labels",
    "quantities",
    "read_edges",
    "task_of",
]
