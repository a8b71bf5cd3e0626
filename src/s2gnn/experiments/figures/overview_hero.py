"""The figure of the first screen: a layer of S2-GNN on the left, two results on the right."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from s2gnn.experiments.table_scores import OURS
from s2gnn.pictures import PALETTE, bare

# The graph of the drawing: places of the nodes, and edges with weights.
_NODES = np.array([(0.1, 0.55), (0.38, 0.95), (0.45, 0.45), (0.3, 0.05), (0.8, 0.75), (0.95, 0.2)])
_EDGES = ((0, 1, 0.5), (0, 2, 0.95), (1, 2, 0.75), (2, 3, 0.9), (0, 3, 0.45), (2, 4, 0.55), (4, 5, 0.95), (2, 5, 0.4))
_POWERS = (1, 2, 3)
_BRANCHES = tuple(PALETTE[i] for i in (8, 1, 2, 6))  # identity, then the powers


def draw_hero(accuracies: pd.DataFrame, lost: Mapping[str, float], titles: Mapping[str, str]) -> Figure:
    """Draw it.

    Args:
        accuracies: mean accuracy (%) of every method (rows) for each number of labels per class (columns).
        lost: points of accuracy that models lose with spurious edges, the least first.
        titles: of these models.
    """
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    layer, labels, noise = figure.subplots(1, 3, width_ratios=(2.3, 1, 1))
    _draw_layer(layer)
    _draw_accuracies(labels, accuracies)
    _draw_losses(noise, lost, titles)
    return figure


def _draw_layer(axes: Axes) -> None:
    """A weighted graph, its Hadamard powers, the branches, and their fusion, from left to right."""
    axes.set_axis_off()
    axes.set_xlim(0, 10.4)
    axes.set_ylim(-0.35, 5.6)
    axes.set_title("One layer: α powers of the edge weights, each as sparse as the graph", fontsize=10)
    _draw_graph(axes, (0.1, 1.75), 1.7, 1)
    axes.text(0.95, 1.3, "weighted graph A,\nsignal H", ha="center", va="top", fontsize=8)
    formulas = ["identity", *(rf"$(A + \varepsilon I)^{{({rho})}}$" for rho in _POWERS)]
    for place, (formula, colour) in enumerate(zip(formulas, _BRANCHES, strict=True)):
        y = 4.55 - 1.4 * place
        axes.annotate("", (2.85, y), (2.0, 2.6), arrowprops={"arrowstyle": "-|>", "color": "0.6", "linewidth": 0.8})
        if place:
            _draw_graph(axes, (3.0, y - 0.5), 1.05, _POWERS[place - 1])
            axes.text(3.5, y + 0.58, formula, ha="center", fontsize=8)
        else:
            axes.text(3.5, y, formula, ha="center", va="center", fontsize=8)
        operator = "H" if place == 0 else f"S_{place} H"
        box = rf"ReLU$({operator}\, W_{place} + b_{place})$"
        _draw_box(axes, (4.55, y - 0.4), (2.6, 0.8), box, colour)
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.4}
        axes.annotate("", (8.2, 2.45 + 0.25 * (1.5 - place)), (7.2, y), arrowprops=arrow)
    _draw_box(axes, (8.25, 1.75), (1.35, 1.4), "fusion:\nlinear\nor MLP", "0.35")
    axes.annotate("", (10.35, 2.45), (9.65, 2.45), arrowprops={"arrowstyle": "-|>", "color": "0.35", "linewidth": 1.6})


def _draw_graph(axes: Axes, corner: tuple[float, float], size: float, power: int) -> None:
    """The graph with the widths of edges as their weights to a power."""
    places = np.array(corner) + size * _NODES
    lines = [(places[i], places[j]) for i, j, _ in _EDGES]
    widths = [3.2 * weight**power for *_, weight in _EDGES]
    axes.add_collection(LineCollection(lines, linewidths=widths, colors="0.45"))
    axes.scatter(places[:, 0], places[:, 1], s=4 + 16 * size, color="black", zorder=3)


def _draw_box(axes: Axes, corner: tuple[float, float], size: tuple[float, float], text: str, colour: str) -> None:
    axes.add_patch(
        FancyBboxPatch(corner, *size, boxstyle="round,pad=0.05", facecolor="white", edgecolor=colour, linewidth=1.4)
    )
    axes.text(corner[0] + size[0] / 2, corner[1] + size[1] / 2, text, ha="center", va="center", fontsize=8)


def _draw_accuracies(axes: Axes, accuracies: pd.DataFrame) -> None:
    """Mean accuracy by number of labels; the first method is ours, the best others have colours."""
    ours, *others = accuracies.index
    best = accuracies.loc[others].mean(axis=1).sort_values(ascending=False).index
    named = [str(method) for method in best[:3]]
    for method in [*best[::-1], ours]:
        colour = PALETTE[0] if method == ours else PALETTE[4 - named.index(method)] if method in named else "0.85"
        width = 2.4 if method == ours else 1.2
        label = str(method) if method == ours or method in named else None
        axes.plot(accuracies.columns, accuracies.loc[method], "o-", color=colour, linewidth=width, label=label, ms=4)
    axes.set_xscale("log")
    axes.set_xticks(list(accuracies.columns), [str(column) for column in accuracies.columns])
    axes.minorticks_off()
    axes.set_ylim(60, None)
    axes.set_xlabel("labels per class", fontsize=8)
    axes.set_title("Accuracy (%), mean of tables", fontsize=10)
    axes.tick_params(labelsize=8)
    handles, texts = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], texts[::-1], frameon=False, fontsize=7, loc="upper left")
    bare(axes)


def _draw_losses(axes: Axes, lost: Mapping[str, float], titles: Mapping[str, str]) -> None:
    colours = [PALETTE[0] if model == OURS else "0.75" for model in lost]
    axes.barh(range(len(lost)), list(lost.values()), color=colours)
    for place, value in enumerate(lost.values()):
        axes.text(value + 0.5, place, f"{value:.1f}", va="center", fontsize=7)
    axes.set_yticks(range(len(lost)), [titles[model] for model in lost], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("points of accuracy lost", fontsize=8)
    axes.set_title("50 % spurious edges", fontsize=10)
    axes.tick_params(axis="x", labelsize=8)
    bare(axes)
