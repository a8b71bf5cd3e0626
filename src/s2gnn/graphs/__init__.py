"""Weighted undirected graphs, and functions to build them."""

from s2gnn.graphs import weights
from s2gnn.graphs.diffusion import diffuse
from s2gnn.graphs.erdos_renyi import erdos_renyi
from s2gnn.graphs.graph import Graph
from s2gnn.graphs.knn import KNNInfo, knn_graph
from s2gnn.graphs.measures import edge_homophily, largest_component, node_homophily, sparsity
from s2gnn.graphs.neighbours import Neighbours, nearest_neighbours
from s2gnn.graphs.partition import cut_share, partition
from s2gnn.graphs.selection import induced_subgraph
from s2gnn.graphs.smooth import SmoothInfo, smooth_graph
from s2gnn.graphs.storage import load_graph, save_graph
from s2gnn.graphs.union import DisjointUnion

__all__ = [
    "DisjointUnion",
    "Graph",
    "KNNInfo",
    "Neighbours",
    "SmoothInfo",
    "cut_share",
    "diffuse",
    "edge_homophily",
    "erdos_renyi",
    "induced_subgraph",
    "knn_graph",
    "largest_component",
    "load_graph",
    "nearest_neighbours",
    "node_homophily",
    "partition",
    "save_graph",
    "smooth_graph",
    "sparsity",
    "weights",
]
