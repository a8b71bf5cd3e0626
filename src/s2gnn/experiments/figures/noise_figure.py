"""The figure of the study of noisy edges: points lost by every model, and what S2-GNN's branches contribute."""

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from s2gnn.analysis import EdgeNoise
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
from s2gnn.pictures import PALETTE, bare

_MARKERS = "osD^v"
_STATES = (("no noise", None, False), (ADDED.label, ADDED, False), ("trained with it", ADDED, True))


def draw_robustness(content: Content) -> Figure:
    """A panel for each kind of noise with all models and data sets, and below it the branches of S2-GNN."""
    rows = measured_rows(content)
    data = list(dict.fromkeys(name for name, _ in rows))
    models = [model for model in MODELS if any((name, model) in rows for name in data)]
    figure = Figure(figsize=(7.2, 0.27 * len(models) + 4.0), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=(0.27 * len(models) + 1.2, 2.8))[:, 0]
    panels = above.subplots(1, len(strongest(content)), sharex=True, sharey=True, squeeze=False)[0]
    for axes, noise in zip(panels, strongest(content), strict=True):
        _draw_losses(axes, rows, data, models, noise)
    panels[0].set_yticks(range(len(models)), [MODELS[model] for model in models], fontsize=8)
    panels[0].invert_yaxis()
    above.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    published = {name: rows[name, PUBLISHED] for name in data if (name, PUBLISHED) in rows}
    if published:
        _draw_branches(below, published)
    return figure


def _draw_losses(
    axes: Axes, rows: dict[tuple[str, str], Row], data: list[str], models: list[str], noise: EdgeNoise
) -> None:
    axes.axvline(0, color="0.6", linewidth=0.8)
    for place, name in enumerate(data):
        found = [
            (points_lost(rows[name, model], noise).mean(), y) for y, model in enumerate(models) if (name, model) in rows
        ]
        axes.plot(
            *zip(*found, strict=True),
            linestyle="none",
            marker=_MARKERS[place % len(_MARKERS)],
            color=PALETTE[(0, 4, 2, 3, 5)[place % 5]],
            markersize=4.5,
            alpha=0.85,
            label=name,
        )
    axes.set_title(noise.label, fontsize=9)
    axes.set_xlabel("points of accuracy lost", fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)
    bare(axes)


def _draw_branches(figure: SubFigure, rows: dict[str, Row]) -> None:
    """Stacked shares of what the branches contribute: without noise, with edges added, and trained with these."""
    axes: Axes = figure.subplots()
    highest = max((len(row["branches"][0]["contributions"][0][0]) - 1 for row in rows.values()), default=1)
    colours = ["0.75", *colormaps["viridis"](np.linspace(0.95, 0.1, highest))]
    ticks: list[tuple[float, str]] = []
    for place, row in enumerate(rows.values()):
        for offset, (state, noise, trained) in enumerate(_STATES):
            shares = contribution_shares(row, noise, trained)
            x, bottom = 4 * place + offset, 0.0
            for rho, share in enumerate(100 * shares):
                label = "identity" if rho == 0 else f"ρ = {rho}"
                axes.bar(x, share, 0.85, bottom, color=colours[rho], label=label)
                bottom += share
            ticks.append((x, state))
    axes.set_xticks([x for x, _ in ticks], [text for _, text in ticks], fontsize=7, rotation=30, ha="right")
    for place, name in enumerate(rows):
        axes.text(4 * place + 1, 103, name, ha="center", fontsize=8)
    axes.set_ylabel("contribution (%)", fontsize=8)
    axes.set_ylim(0, 112)
    axes.set_yticks((0, 25, 50, 75, 100))
    axes.tick_params(axis="y", labelsize=8)
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside right center",
        frameon=False,
        fontsize=8,
        title="S2-GNN",
        title_fontsize=8,
    )
    bare(axes)
