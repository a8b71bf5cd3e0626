"""The two drawings of the overview: a forest plot of leads and a critical-difference diagram of ranks."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from s2gnn.experiments.table_scores import OURS
from s2gnn.pictures import PALETTE, bare

if TYPE_CHECKING:
    from s2gnn.experiments.figures.overview import MeanLead, Ranks, Where


def draw_leads(leads: Mapping["Where", Mapping[str, "MeanLead | None"]]) -> Figure:
    """A forest plot: mean lead of S2-GNN over each model with its interval, in the paper and under each protocol."""
    models = list(dict.fromkeys(model for of in leads.values() for model in of))
    figure = Figure(figsize=(7.2, 0.42 * len(models) + 1.2), layout="constrained")
    axes: Axes = figure.subplots()
    styles = ((PALETTE[3], "D"), (PALETTE[4], "s"), (PALETTE[0], "o"))
    for offset, ((where, of), (colour, marker)) in enumerate(zip(leads.items(), styles, strict=True)):
        for place, model in enumerate(models):
            lead = of[model]
            if lead is not None:
                axes.errorbar(
                    lead.mean,
                    place + 0.22 * (offset - 1),
                    xerr=None if lead.low is None else lead.mean - lead.low,
                    color=colour,
                    marker=marker,
                    markersize=4,
                    linewidth=1.2,
                    label=where if where not in axes.get_legend_handles_labels()[1] else None,
                )
    axes.axvline(0, color="0.6", linewidth=0.8)
    axes.set_yticks(range(len(models)), models, fontsize=8)
    axes.invert_yaxis()
    axes.tick_params(axis="x", labelsize=8)
    axes.set_xlabel("lead of S2-GNN (points of accuracy), mean over graphs and 95 % interval", fontsize=8)
    axes.legend(frameon=False, fontsize=8)
    bare(axes)
    return figure


def draw_ranks(ranks: "Ranks") -> Figure:
    """A critical-difference diagram: mean ranks on a line; bars join models that Nemenyi's test does not separate."""
    models, means = list(ranks.means), list(ranks.means.values())
    half = (len(models) + 1) // 2
    groups = _groups(means, ranks.critical)
    height = 0.25 * (half + len(groups)) + 1.1
    figure = Figure(figsize=(7.2, height), layout="constrained")
    axes: Axes = figure.subplots()
    low, high = int(np.floor(means[0])), int(np.ceil(means[-1]))
    axes.set_xlim(low - 1.6, high + 1.6)
    axes.set_ylim(-(half + len(groups)) - 1, 2.2)
    axes.set_axis_off()
    axes.hlines(0, low, high, color="black", linewidth=1)
    for rank in range(low, high + 1):
        axes.vlines(rank, 0, 0.25, color="black", linewidth=1)
        axes.text(rank, 0.35, str(rank), ha="center", va="bottom", fontsize=8)
    axes.hlines(1.6, low, low + ranks.critical, color="black", linewidth=1.5)
    axes.text(low + ranks.critical + 0.1, 1.6, f"critical difference {ranks.critical:.1f}", va="center", fontsize=8)
    for row, (start, end) in enumerate(groups, start=1):
        axes.hlines(-0.6 * row, means[start] - 0.05, means[end] + 0.05, color=PALETTE[0], linewidth=3)
    first = -0.6 * len(groups) - 1.0
    for place, (model, mean) in enumerate(ranks.means.items()):
        left = place < half
        y = first - (place if left else len(models) - 1 - place)
        edge = low - 0.2 if left else high + 0.2
        weight = "bold" if model == OURS else "normal"
        axes.plot([mean, mean, edge], [0, y, y], color="0.5", linewidth=0.8)
        label = f"{model} {mean:.1f}"
        axes.text(edge, y, label, ha="right" if left else "left", va="center", fontsize=8, weight=weight)
    return figure


def _groups(means: Sequence[float], critical: float) -> list[tuple[int, int]]:
    """The longest runs of ranks, by first and last place, whose ends differ by less than the critical difference."""
    found: list[tuple[int, int]] = []
    for start, mean in enumerate(means):
        end = max(place for place, other in enumerate(means) if other - mean < critical)
        if end > start and (not found or end > found[-1][1]):
            found.append((start, end))
    return found
