"""Sparse Sobolev graph neural networks: several orders of graph filters, each as sparse as the graph."""

from importlib.metadata import version

from s2gnn.errors import IdenticalBranchesWarning, InputError, NonFiniteLossError, SlowPathWarning
from s2gnn.graphs import Graph, diffuse, knn_graph, smooth_graph
from s2gnn.nn import S2GNN, S2Conv
from s2gnn.operators import SobolevOperator

__version__ = version("s2gnn")

__all__ = [
    "S2GNN",
    "Graph",
    "IdenticalBranchesWarning",
    "InputError",
    "NonFiniteLossError",
    "S2Conv",
    "SlowPathWarning",
    "SobolevOperator",
    "diffuse",
    "knn_graph",
    "smooth_graph",
]
