"""The figure of the study of noisy edges: points lost by every model, and what S2-GNN's branches contribute."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from s2gnn.analysis import EdgeNoise
from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.figures.noise_findings import (
    ADDED,
    MODELS,
    PUBLISHED,
    contribution_shares,
    measured_rows,
    points_lost,
    strongest,
)
from s2gnn.experiments.measured import Content, Row
from s2gnn.pictures import PALETTE, QUIET, WIDTH, bare, graded, name_rows

_MARKERS = "osD^v"
_TITLES = {
    "weights": "noise on weights, {0:g} dB",
    "dropped": "{1:g} % of edges dropped",
    "added": "{1:g} % spurious edges",
}
_STATES = (("no noise", None, False), ("spurious edges", ADDED, False), ("trained with these", ADDED, True))


def draw_robustness(content: Content) -> Figure:
    """Draw a panel for each kind of noise with all models and data sets, and below it the branches of S2-GNN."""
    rows = measured_rows(content)
    data = list(dict.fromkeys(name for name, _ in rows))
    models = [model for model in MODELS if any((name, model) in rows for name in data)]
    published = {name: rows[name, PUBLISHED] for name in data if (name, PUBLISHED) in rows}
    heights = [0.19 * len(models) + 1.0, *([0.5 * len(published) + 0.8] if published else [])]
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    above, *below = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    panels = above.subplots(1, len(strongest(content)), sharey=True, squeeze=False)[0]
    for axes, noise in zip(panels, strongest(content), strict=True):
        _draw_losses(axes, rows, data, models, noise)
    text = "points of accuracy lost, mean ± standard deviation over networks (the scales differ)"
    above.supxlabel(text, fontsize="medium")
    above.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    for part in below:
        _draw_branches(part, published)
    return figure


def _draw_losses(
    axes: Axes, rows: dict[tuple[str, str], Row], data: list[str], models: list[str], noise: EdgeNoise
) -> None:
    bare(axes)
    name_rows(axes, [MODELS[model] for model in models])
    axes.axvline(0, color=QUIET, linewidth=0.8)
    for place, name in enumerate(data):
        shift = 0.5 * ((place + 0.5) / len(data) - 0.5)
        known = [(y, rows[name, model]) for y, model in enumerate(models) if (name, model) in rows]
        found = [(y + shift, points_lost(row, noise)) for y, row in known]
        axes.errorbar(
            [lost.mean() for _, lost in found],
            [y for y, _ in found],
            xerr=[lost.std() for _, lost in found],
            linestyle="none",
            marker=_MARKERS[place % len(_MARKERS)],
            color=PALETTE[(0, 4, 2, 3, 5)[place % 5]],
            elinewidth=0.8,
            label=display_name(name),
        )
    axes.set_title(_TITLES[noise.kind].format(noise.level, 100 * noise.level))


def _draw_branches(figure: SubFigure, rows: dict[str, Row]) -> None:
    """Draw stacked shares of what the branches contribute: without noise, with added edges, and trained with these."""
    axes: Axes = figure.subplots()
    highest = max(len(row["branches"][0]["contributions"][0][0]) - 1 for row in rows.values())
    colours = ["0.75", *graded(highest)]
    names = []
    for place, (name, row) in enumerate(rows.items()):
        for offset, (state, noise, trained) in enumerate(_STATES):
            shares = 100 * contribution_shares(row, noise, trained)
            y = 3.5 * place + offset
            for rho, (share, start) in enumerate(zip(shares, np.cumsum(shares) - shares, strict=True)):
                label = "identity" if rho == 0 else f"ρ = {rho}"
                axes.barh(y, share, 0.85, start, color=colours[rho], label=label)
            names.append((y, f"{display_name(name)}, {state}"))
    axes.set_yticks(*zip(*names, strict=True))
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("what the branches of S2-GNN contribute (%)")
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    axes.legend(handles.values(), handles.keys(), loc="center left", bbox_to_anchor=(1.0, 0.5))
    bare(axes)
    axes.spines["left"].set_visible(False)
