"""The picture of a graph's numbers: histograms of neighbours and weights."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from s2gnn.graphs.graph import Graph
from s2gnn.pictures import save_png

COLOUR = "#332288"
WIDE = 100.0


def draw_histograms(graph: Graph, path: str | Path, title: str) -> None:
    """Write histograms of the number of neighbours and of the edge weights to `path` as PNG."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    _histogram(left, np.diff(graph.indptr).astype(np.float64), "neighbours of a node", "nodes")
    _histogram(right, graph.to_edge_list()[1], "weight of an edge", "edges")
    figure.suptitle(f"{title}: {graph.n_nodes:,} nodes, {graph.n_edges:,} edges", fontsize=11)
    save_png(figure, path)


def _histogram(axes: Axes, values: NDArray[np.float64], of: str, counted: str) -> None:
    """One histogram, on a logarithmic axis when the positive values span more than two decades."""
    positive = values[values > 0]
    if len(positive) and positive.max() > WIDE * positive.min():
        bins = np.geomspace(positive.min(), positive.max(), 41)
        axes.set_xscale("log")
        axes.hist(positive, bins=list(bins), color=COLOUR)
    elif len(values):
        axes.hist(values, bins=min(40, max(len(np.unique(values)), 1)), color=COLOUR)
    axes.set_xlabel(of)
    axes.set_ylabel(f"number of {counted}")
    axes.spines[["top", "right"]].set_visible(False)
