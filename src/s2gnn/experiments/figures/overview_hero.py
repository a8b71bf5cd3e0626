"""The figure of the first screen: a layer of S2-GNN on the left, two results on the right."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.table_scores import OURS
from s2gnn.pictures import PALETTE, QUIET, WIDTH, bare, label_ends, name_rows

# The graph of the drawing: places of the nodes, and edges with weights.
_NODES = np.array([(0.1, 0.55), (0.38, 0.95), (0.45, 0.45), (0.3, 0.05), (0.8, 0.75), (0.95, 0.2)])
_EDGES = ((0, 1, 0.5), (0, 2, 0.95), (1, 2, 0.75), (2, 3, 0.9), (0, 3, 0.45), (2, 4, 0.55), (4, 5, 0.95), (2, 5, 0.4))
_BRANCHES = (QUIET, PALETTE[1], PALETTE[2], PALETTE[6])  # identity, then the powers
_CLOSEST = 3  # other methods that are named


def draw_hero(accuracies: pd.DataFrame, lost: Mapping[str, float]) -> Figure:
    """Draw it.

    Args:
        accuracies: mean accuracy (%) of every method (rows) for each number of labels per class (columns).
        lost: points of accuracy that models lose with spurious edges, the least first.
    """
    figure = Figure(figsize=(WIDTH, 2.7), layout="constrained")
    layer, labels, noise = figure.subplots(1, 3, width_ratios=(3.2, 1, 1.05))
    _draw_layer(layer)
    _draw_accuracies(labels, accuracies)
    _draw_losses(noise, lost)
    return figure


def _draw_layer(axes: Axes) -> None:
    """Draw a weighted graph, its Hadamard powers, the branches, and their fusion, from left to right."""
    axes.set_axis_off()
    axes.set(xlim=(0, 10.2), ylim=(0.2, 6.6))
    for x, title in ((0.95, "graph"), (3.55, "Hadamard\npowers $S_\\rho$"), (6.3, "branches"), (8.85, "fusion")):
        axes.text(x, 6.55, title, ha="center", va="top", weight="bold", fontsize=7.5)
    _draw_graph(axes, (0.05, 2.1), 1.8, 1)
    axes.text(0.95, 1.75, "weights A,\nfeatures H", ha="center", va="top", fontsize=7)
    for rho, colour in enumerate(_BRANCHES):
        y = 4.95 - 1.4 * rho
        _draw_arrow(axes, (2.0, 3.0), (2.75, y), "0.6")
        if rho:
            _draw_graph(axes, (2.95, y - 0.45), 1.0, rho)
            axes.text(4.1, y, rf"$S_{rho}$", va="center", fontsize=7)
        else:
            axes.text(3.5, y, "identity", ha="center", va="center", fontsize=7)
        branch = rf"$\sigma(S_{rho} H W_{rho})$" if rho else r"$\sigma(H W_0)$"
        _draw_box(axes, (5.05, y - 0.4), (2.3, 0.8), branch, colour)
        _draw_arrow(axes, (7.5, y), (7.95, 2.9 + 0.3 * (1.5 - rho)), colour)
    _draw_box(axes, (8.1, 2.1), (1.5, 1.6), "linear,\nMLP or\nattention", "0.3")
    _draw_arrow(axes, (9.7, 2.9), (10.2, 2.9), "0.3")


def _draw_arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 1, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 7}
    axes.annotate("", end, start, arrowprops=arrow)


def _draw_graph(axes: Axes, corner: tuple[float, float], size: float, power: int) -> None:
    """Draw the graph; the width of an edge is its weight to a power."""
    places = np.array(corner) + size * _NODES
    lines = [(places[i], places[j]) for i, j, _ in _EDGES]
    widths = [2.2 * weight**power for *_, weight in _EDGES]
    axes.add_collection(LineCollection(lines, linewidths=widths, colors="0.45"))
    axes.scatter(places[:, 0], places[:, 1], s=7 * size, color="black", linewidths=0, zorder=3)


def _draw_box(axes: Axes, corner: tuple[float, float], size: tuple[float, float], text: str, colour: str) -> None:
    axes.add_patch(
        FancyBboxPatch(corner, *size, boxstyle="round,pad=0.05", facecolor="white", edgecolor=colour, linewidth=1.2)
    )
    axes.text(corner[0] + size[0] / 2, corner[1] + size[1] / 2, text, ha="center", va="center", fontsize=7)


def _draw_accuracies(axes: Axes, accuracies: pd.DataFrame) -> None:
    """Draw mean accuracy by number of labels: ours, the best other methods with their names, the rest in grey."""
    ours, *others = map(str, accuracies.index)
    best = accuracies.loc[others].mean(axis=1).sort_values(ascending=False).index
    named = dict(zip(map(str, best[:_CLOSEST]), (PALETTE[4], PALETTE[6], PALETTE[8]), strict=False))
    colours = {**dict.fromkeys(map(str, best[::-1]), "0.8"), **named, ours: PALETTE[0]}
    for method, colour in colours.items():
        width = 2.0 if method == ours else 1.1
        axes.plot(accuracies.columns, accuracies.loc[method], "o-", color=colour, linewidth=width, label=method)
    axes.set_xscale("log")
    axes.set_xticks(list(accuracies.columns), [str(column) for column in accuracies.columns])
    axes.minorticks_off()
    shown = accuracies.loc[[ours, *named]].to_numpy(dtype=float)
    axes.set_ylim(shown.min() - 2, shown.max() + 1)
    bare(axes)
    last = float(accuracies.columns[-1])
    heights = dict(zip(map(str, accuracies.index), accuracies.to_numpy(dtype=float)[:, -1], strict=True))
    ends = [(last, float(heights[method]), method, colours[method]) for method in (ours, *named)]
    rest = [float(heights[method]) for method in others if method not in named]
    if rest:
        ends.append((last, max(rest), f"{len(rest)} other{'s' if len(rest) > 1 else ''}", "0.7"))
    label_ends(axes, ends)
    axes.set_xlabel("labels per class")
    axes.set_title("accuracy (%) on tables")


def _draw_losses(axes: Axes, lost: Mapping[str, float]) -> None:
    name_rows(axes, [display_name(model) for model in lost])
    axes.barh(range(len(lost)), list(lost.values()), 0.66, color=[PALETTE[0] if m == OURS else "0.75" for m in lost])
    for place, value in enumerate(lost.values()):
        axes.text(value, place, f" {value:.1f}", va="center", fontsize=6.5)
    axes.set_xlim(0, 1.15 * max(lost.values()))
    axes.set_xlabel("points of accuracy lost", loc="right")
    axes.set_title("50 % spurious edges", loc="right")
    bare(axes)
    axes.spines["left"].set_visible(False)
