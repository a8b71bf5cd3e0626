"""The picture of the demo: the graph coloured by prediction, and the weight of every branch."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from sklearn.manifold import TSNE

from s2gnn.analysis import branch_shares
from s2gnn.demo.comparison import Comparison
from s2gnn.nn import S2GNN
from s2gnn.pictures import bare, save_png
from s2gnn.report.figures import draw_branches

# Paul Tol's muted scheme, distinguishable with colour-blindness, plus a dark brown for the tenth class.
COLOURS = (
    "#332288", "#88CCEE", "#44AA99", "#117733", "#999933",
    "#DDCC77", "#CC6677", "#882255", "#AA4499", "#661100",
)  # fmt: skip
EDGES_DRAWN = 4000


def draw(comparison: Comparison, path: Path, footnote: str) -> None:
    """Write the picture to `path` as PNG."""
    figure = Figure(figsize=(12, 6.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.7, 1])
    _draw_graph(left, comparison)
    _draw_branches(right, comparison.model)
    figure.supxlabel(footnote, x=0.995, ha="right", fontsize=7, color="0.45")
    save_png(figure, path)


def _draw_graph(axes: Axes, comparison: Comparison) -> None:
    position = TSNE(init="pca", random_state=0).fit_transform(comparison.X)  # (N, 2)
    pairs, _ = comparison.graph.to_edge_list()
    drawn = np.random.default_rng(0).permutation(len(pairs))[:EDGES_DRAWN]
    axes.add_collection(LineCollection(list(position[pairs[drawn]]), colors="0.8", linewidths=0.25, zorder=1))
    for digit, colour in enumerate(COLOURS):
        members = comparison.predicted == digit
        axes.scatter(position[members, 0], position[members, 1], s=9, color=colour, linewidths=0, zorder=2)
        axes.annotate(
            str(digit),
            np.median(position[members], axis=0),
            ha="center",
            va="center",
            fontsize=15,
            weight="bold",
            zorder=4,
            bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": colour, "alpha": 0.85},
        )
    hidden = ~np.isin(np.arange(len(comparison.y)), comparison.labelled)
    wrong = hidden & (comparison.predicted != comparison.y)
    axes.scatter(
        position[wrong, 0], position[wrong, 1], s=42, marker="x", color="black", linewidths=1.1, zorder=3,
        label=f"wrong: {wrong.sum()} of {hidden.sum():,} unlabelled",
    )  # fmt: skip
    axes.legend(loc="lower left", frameon=False)
    axes.set_title(
        f"k-NN graph of {len(comparison.y):,} handwritten digits (t-SNE), coloured by S2-GNN's prediction\n"
        f"from {len(comparison.labelled)} labels, first seed; {len(drawn):,} of {len(pairs):,} edges drawn",
        fontsize=10,
    )
    axes.set_axis_off()


def _draw_branches(axes: Axes, model: S2GNN) -> None:
    draw_branches(axes, branch_shares(model), ("0\n(no graph)", "1\n(GCN-like)"))
    axes.set_xlabel("Hadamard power ρ of the branch")
    axes.set_ylabel("share of the fusion weights (%)")
    axes.set_title("learned weight of each branch", fontsize=10)
    axes.legend(frameon=False, loc="upper right", ncols=3)
    bare(axes)
