"""Draw histograms of the number of neighbours and the edge weights of a graph."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from s2gnn.graphs.graph import Graph
from s2gnn.pictures import PALETTE, WIDTH, bare, save_figure

COLOUR = PALETTE[0]
WIDE = 100.0
BINS = 40


def draw_histograms(graph: Graph, path: str | Path, title: str) -> None:
    """Write histograms of the number of neighbours and of the edge weights to `path` as PNG."""
    save_figure(lambda: _draw(graph, title), path)


def _draw(graph: Graph, title: str) -> Figure:
    """Draw the histograms.

    Axes are logarithmic where a few hubs have many times the usual number of neighbours, and for weights that span more
    than two decades.
    """
    figure = Figure(figsize=(WIDTH, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    counts = np.diff(graph.indptr)
    width = int(np.ceil((counts.max() + 1) / BINS))
    left.hist(counts, bins=list(np.arange(0, counts.max() + width + 1, width) - 0.5), color=COLOUR)
    if counts.max() > WIDE * max(float(np.median(counts)), 1.0):
        left.set_yscale("log")
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.set(xlabel="neighbours of a node", ylabel="number of nodes")

    weights = graph.to_edge_list()[1]
    if graph.n_edges and weights.max() > WIDE * weights.min():
        right.set_xscale("log")
        right.hist(weights, bins=list(np.geomspace(weights.min(), weights.max(), BINS + 1)), color=COLOUR)
    elif graph.n_edges:
        right.hist(weights, bins=BINS, color=COLOUR)
    right.set(xlabel="weight of an edge", ylabel="number of edges")
    for axes in (left, right):
        bare(axes)
    figure.suptitle(f"{title}: {graph.n_nodes:,} nodes, {graph.n_edges:,} edges")
    return figure
