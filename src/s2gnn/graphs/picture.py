"""The picture of a graph's numbers: histograms of neighbours and weights."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from s2gnn.graphs.graph import Graph
from s2gnn.pictures import PALETTE, bare, save_png

COLOUR = PALETTE[0]
WIDE = 100.0
BINS = 40


def draw_histograms(graph: Graph, path: str | Path, title: str) -> None:
    """Write histograms of the number of neighbours and of the edge weights to `path` as PNG."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_neighbours(left, np.diff(graph.indptr))
    _draw_weights(right, graph.to_edge_list()[1])
    for axes in (left, right):
        bare(axes)
    figure.suptitle(f"{title}: {graph.n_nodes:,} nodes, {graph.n_edges:,} edges", fontsize=11)
    save_png(figure, path)


def _draw_neighbours(axes: Axes, counts: NDArray[np.int64]) -> None:
    """Bars of whole numbers; counted on a logarithmic axis where a few hubs have many times the usual number."""
    width = int(np.ceil((counts.max() + 1) / BINS))
    axes.hist(counts, bins=list(np.arange(0, counts.max() + width + 1, width) - 0.5), color=COLOUR)
    if counts.max() > WIDE * max(float(np.median(counts)), 1.0):
        axes.set_yscale("log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("neighbours of a node")
    axes.set_ylabel("number of nodes")


def _draw_weights(axes: Axes, weights: NDArray[np.float64]) -> None:
    """Bars on a logarithmic axis when the weights span more than two decades."""
    if len(weights) and weights.max() > WIDE * weights.min():
        axes.set_xscale("log")
        axes.hist(weights, bins=list(np.geomspace(weights.min(), weights.max(), BINS + 1)), color=COLOUR)
    elif len(weights):
        axes.hist(weights, bins=BINS, color=COLOUR)
    else:
        axes.text(0.5, 0.5, "no edges", ha="center", va="center", transform=axes.transAxes)
        axes.set_xticks([])
    axes.set_xlabel("weight of an edge")
    axes.set_ylabel("number of edges")
