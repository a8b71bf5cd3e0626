"""The picture of a sweep: one small panel for each data set, one line for each model and protocol."""

import math
import textwrap
from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from s2gnn.experiments.sweep import Line, Panel, SweepResult, SweepStudy
from s2gnn.pictures import PALETTE, bare

_COLUMNS = 3
_WIDTH, _HEIGHT = 2.4, 1.9  # of a panel, in inches
_CHARACTERS, _LEGENDS = 35, 2  # that fit above and below a panel
_COLOURS = tuple(PALETTE[position] for position in (0, 4, 6, 1, 5))  # far apart, dark ones first
_MARKERS = "os^Dv"
_MOST_TICKS = 8


def draw_curves(result: SweepResult) -> Figure:
    """The mean of every line with its standard deviation as a band; of a model with two lines, released is dashed.

    The panels of a single line span the same number of points, so that its ups and downs can be compared.
    """
    sweep, panels = result.study, result.panels
    columns = min(_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    width = max(_WIDTH * columns, 1.5 * _WIDTH)
    figure = Figure(figsize=(width, _HEIGHT * rows + 0.9), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    for position, axes in enumerate(grid):
        if position >= len(panels):
            axes.set_axis_off()
            continue
        _draw_panel(axes, panels[position], sweep)
        if position % columns == 0:
            axes.set_ylabel("test accuracy (%)", fontsize=8)
        if position + columns >= len(panels):
            axes.set_xlabel(sweep.axis, fontsize=8)
    if len(sweep.lines) == 1:
        _give_same_span(grid[: len(panels)])
    title = textwrap.fill(sweep.title, int(_CHARACTERS * width / _WIDTH))
    figure.suptitle(f"{title}\nmean ± standard deviation; {result.runs_title()}", fontsize=9)
    if len(sweep.lines) > 1:
        handles, labels = grid[0].get_legend_handles_labels()
        across = _LEGENDS * columns
        figure.legend(handles, labels, loc="outside lower center", ncols=across, frameon=False, fontsize=8)
    return figure


def _give_same_span(panels: Iterable[Axes]) -> None:
    limits = {axes: axes.get_ylim() for axes in panels}
    span = max(high - low for low, high in limits.values())
    for axes, (low, high) in limits.items():
        axes.set_ylim((low + high - span) / 2, (low + high + span) / 2)


def _draw_panel(axes: Axes, panel: Panel, sweep: SweepStudy) -> None:
    for line in sweep.lines:
        _draw_line(axes, panel, line, sweep)
    if sweep.logarithmic:
        axes.set_xscale("log")
    if len(sweep.values) <= _MOST_TICKS:
        axes.set_xticks(sweep.values, [f"{value:g}" for value in sweep.values])
        axes.minorticks_off()
    axes.set_title(panel.data, fontsize=9)
    axes.tick_params(labelsize=8)
    bare(axes)


def _draw_line(axes: Axes, panel: Panel, line: Line, sweep: SweepStudy) -> None:
    curve = panel.curve(line)
    values, means = np.array(list(curve)), np.array(list(curve.values()))
    deviations = np.array([panel.runs(line, value).deviation() or 0.0 for value in curve])
    position = list(sweep.models).index(line.name)
    colour, marker = _COLOURS[position], None if line.level else _MARKERS[position]
    last_of_model = [other for other in sweep.lines if other.name == line.name][-1]
    style = "-" if line == last_of_model else "--"
    axes.plot(values, means, style, color=colour, marker=marker, markersize=3, linewidth=1.2, label=line.label)
    low, high = np.maximum(means - deviations, 0), np.minimum(means + deviations, 100)
    axes.fill_between(values, low, high, color=colour, alpha=0.15, linewidth=0)
