"""The paper's shift operators: normalised Hadamard powers of a graph, and the sparse Sobolev norm."""

from s2gnn.operators.edges import EdgeOperator
from s2gnn.operators.family import DifferentiableOperator, SobolevFamily
from s2gnn.operators.graph_operator import BranchOperator, GraphOperator, PreparedInput
from s2gnn.operators.norm import sobolev_inner, sobolev_norm, sobolev_term
from s2gnn.operators.shifts import Shift
from s2gnn.operators.sobolev import SobolevOperator
from s2gnn.operators.sparse_input import SparseInput

__all__ = [
    "BranchOperator",
    "DifferentiableOperator",
    "EdgeOperator",
    "GraphOperator",
    "PreparedInput",
    "Shift",
    "SobolevFamily",
    "SobolevOperator",
    "SparseInput",
    "sobolev_inner",
    "sobolev_norm",
    "sobolev_term",
]
