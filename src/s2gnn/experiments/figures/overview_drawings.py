"""The two drawings of the overview: a forest plot of leads and a critical-difference diagram of ranks."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.figures.overview_statistics import ENOUGH, MeanLead, Ranks, Where
from s2gnn.experiments.table_scores import OURS
from s2gnn.pictures import PALETTE, QUIET, WIDTH, bare, name_rows

_STYLES = {
    "paper": ("in the paper", "0.55", "D"),
    "released": ("released protocol", PALETTE[4], "s"),
    "fair": ("fair protocol", PALETTE[0], "o"),
}


def draw_leads(leads: Mapping[Where, Mapping[str, MeanLead | None]]) -> Figure:
    """Draw a forest plot: mean lead of S2-GNN over each model with its interval, in the paper and under each protocol.

    The models are in the order of the fair leads; a marker is hollow where there are too few data sets for an interval.
    """
    fair = {model: -np.inf if lead is None else lead.mean for model, lead in leads["fair"].items()}
    models = sorted(fair, key=lambda model: -fair[model])
    figure = Figure(figsize=(WIDTH, 0.28 * len(models) + 0.9), layout="constrained")
    axes: Axes = figure.subplots()
    bare(axes)
    name_rows(axes, [display_name(model) for model in models])
    axes.axvline(0, color=QUIET, linewidth=0.8)
    for offset, (where, of) in enumerate(leads.items()):
        label, colour, marker = _STYLES[where]
        rows = [(place + 0.24 * (offset - 1), lead) for place, model in enumerate(models) if (lead := of[model])]
        for wide in (True, False):
            known = [(y, lead) for y, lead in rows if (lead.low is not None) == wide]
            axes.errorbar(
                [lead.mean for _, lead in known],
                [y for y, _ in known],
                xerr=[lead.mean - lead.low for _, lead in known if lead.low is not None] or None,
                linestyle="none",
                color=colour,
                marker=marker,
                markerfacecolor=colour if wide else "white",
                elinewidth=1.2,
                label=label if wide else None,
            )
    few = axes.plot(
        [], [], "o", color=QUIET, markerfacecolor="white", label=f"fewer than {ENOUGH} data sets: no interval"
    )
    axes.set_xlabel("lead of S2-GNN in points of accuracy, mean over data sets and 95 % interval")
    handles = [*(handle for handle in axes.get_legend_handles_labels()[0] if handle not in few), *few]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def draw_ranks(ranks: Ranks) -> Figure:
    """Draw a critical-difference diagram: mean ranks, and bars over models that Nemenyi's test does not separate."""
    means = list(ranks.means.values())
    half = (len(means) + 1) // 2
    groups = _groups(means, ranks.critical)
    lowest = -0.55 * len(groups) - half - 0.4
    figure = Figure(figsize=(WIDTH, 0.2 * (2.6 - lowest)), layout="constrained")
    axes: Axes = figure.subplots()
    low, high = int(np.floor(means[0])), int(np.ceil(means[-1]))
    margin = 0.35 * (high - low)
    axes.set(xlim=(low - margin, high + margin), ylim=(lowest, 2.6))
    axes.set_axis_off()
    axes.hlines(0, low, high, color="black", linewidth=1)
    for rank in range(low, high + 1):
        axes.vlines(rank, 0, 0.25, color="black", linewidth=1)
        axes.text(rank, 0.4, str(rank), ha="center", va="bottom", fontsize=7)
    axes.errorbar(low + ranks.critical / 2, 2.0, xerr=ranks.critical / 2, color="black", capsize=3, linewidth=1)
    gap = 0.015 * (high - low)
    text = f"critical difference {ranks.critical:.2f}; mean rank over {ranks.data_sets} data sets, 1 is best"
    axes.text(low + ranks.critical + 2 * gap, 2.0, text, va="center", fontsize=7)
    for row, (start, end) in enumerate(groups, start=1):
        axes.hlines(-0.55 * row, means[start] - gap, means[end] + gap, color=PALETTE[4], linewidth=3.5)
    for place, (model, mean) in enumerate(ranks.means.items()):
        left, ours = place < half, model == OURS
        y = -0.55 * len(groups) - 0.8 - (place if left else len(means) - 1 - place)
        edge, side, align = (low, -1, "right") if left else (high, 1, "left")
        colour = PALETTE[0] if ours else QUIET
        axes.plot([mean, mean, edge], [0, y, y], color=colour, linewidth=0.8)
        label = f"{display_name(model)}  {mean:.2f}"
        weight = "bold" if ours else "normal"
        axes.text(edge + side * gap, y, label, ha=align, va="center", color=colour if ours else "black", weight=weight)
    return figure


def _groups(means: Sequence[float], critical: float) -> list[tuple[int, int]]:
    """Return the longest runs of ranks, by first and last place, whose ends differ by less than `critical`."""
    found: list[tuple[int, int]] = []
    for start, mean in enumerate(means):
        end = max(place for place, other in enumerate(means) if other - mean < critical)
        if end > start and (not found or end > found[-1][1]):
            found.append((start, end))
    return found
