"""Weighted undirected graphs, and the ways to get one."""

from s2gnn.graphs.graph import Graph
from s2gnn.graphs.knn import knn_graph
from s2gnn.graphs.measures import node_homophily

__all__ = ["Graph", "knn_graph", "node_homophily"]
