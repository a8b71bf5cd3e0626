"""The picture of a sweep: one small panel for each data set, one line for each model and protocol."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from s2gnn.experiments.appearance import display_name, line_style
from s2gnn.experiments.sweep import Line, Panel, SweepResult, SweepStudy
from s2gnn.pictures import PALETTE, add_legend, panel_grid

_COLUMNS, _HEIGHT = 3, 1.75
_BAND = 0.16  # opacity
_VARIANT: dict[str, Any] = {"color": PALETTE[4], "marker": "s", "linewidth": 1.3}
_MOST_TICKS = 8


def draw_curves(result: SweepResult) -> Figure:
    """Draw the mean of every line with its standard deviation as a band; if a model has two lines, released is dashed.

    The panels of a single line span the same number of points, so that its ups and downs can be compared.
    """
    sweep, panels = result.study, result.panels
    spans = [(panel, span) for panel in panels if (span := _close_limits(panel, sweep))]
    columns = 2 if len(panels) == 4 else min(_COLUMNS, len(panels))
    figure, cells, spare = panel_grid(len(panels) + len(spans), columns, _HEIGHT)
    seeds = {panel.data: result.seeds(panel) for panel in panels}
    alike = len(set(seeds.values())) == 1 and "1 seed" not in seeds.values()
    for axes, panel in zip(cells, panels, strict=False):
        _draw_panel(axes, panel, sweep)
        axes.set_title(display_name(panel.data) + ("" if alike else f" ({seeds[panel.data]})"))
    for axes, (panel, span) in zip(cells[len(panels) :], spans, strict=True):
        _draw_panel(axes, panel, sweep, span)
        axes.set_ylim(span)
        axes.set_title(f"{display_name(panel.data)}, close-up")
    if len(sweep.lines) == 1:
        _give_same_span(cells)
    figure.supylabel("test accuracy (%)", fontsize="medium")
    if spare is not None:
        figure.supxlabel(sweep.axis, fontsize="medium")
    else:  # there, the legend would be on top of it
        for axes in cells[-columns:]:
            axes.set_xlabel(sweep.axis)
    band = "± standard deviation" + (f" of {seeds[panels[0].data]}" if alike else "")
    add_legend(figure, spare, [*cells[0].get_lines(), Patch(color="0.5", alpha=2 * _BAND, linewidth=0, label=band)])
    return figure


def _give_same_span(cells: Iterable[Axes]) -> None:
    limits = {axes: axes.get_ylim() for axes in cells}
    span = max(high - low for low, high in limits.values())
    for axes, (low, high) in limits.items():
        middle = min(max((low + high) / 2, span / 2), 100 - span / 2)
        axes.set_ylim(middle - span / 2, middle + span / 2)


def _close_limits(panel: Panel, sweep: SweepStudy) -> tuple[float, float] | None:
    """Return the range of means close to those of the first model; `None` if all are, or none is requested."""
    ours = panel.curve(sweep.lines[0])
    means = [(mean, ours.get(value, mean)) for line in sweep.lines for value, mean in panel.curve(line).items()]
    close = [mean for mean, own in means if sweep.close_up is not None and abs(mean - own) <= sweep.close_up]
    if sweep.close_up is None or len(close) == len(means):
        return None
    margin = 0.15 * (max(close) - min(close)) + 0.5
    return max(min(close) - margin, 0), min(max(close) + margin, 100)


def _draw_panel(axes: Axes, panel: Panel, sweep: SweepStudy, span: tuple[float, float] = (0, 100)) -> None:
    """Draw the lines of a panel, with the bands of those that stay within a span."""
    for line in sweep.lines:
        _draw_line(axes, panel, line, sweep, span)
    if sweep.logarithmic:
        axes.set_xscale("log")
    if len(sweep.values) <= _MOST_TICKS:
        axes.set_xticks(sweep.values, [f"{value:g}" for value in sweep.values])
        axes.minorticks_off()


def _draw_line(axes: Axes, panel: Panel, line: Line, sweep: SweepStudy, span: tuple[float, float]) -> None:
    curve = panel.curve(line)
    values, means = np.array(list(curve)), np.array(list(curve.values()))
    deviations = np.array([panel.runs(line, value).deviation() or 0.0 for value in curve])
    style = _VARIANT if line.name != line.model else line_style(line.model)
    style = {**style, "marker": None} if line.level else style
    last_of_model = [other for other in sweep.lines if other.name == line.name][-1]
    axes.plot(values, means, linestyle="-" if line == last_of_model else "--", label=line.label, **style)
    if all((span[0] <= means) & (means <= span[1])):
        low, high = np.maximum(means - deviations, 0), np.minimum(means + deviations, 100)
        axes.fill_between(values, low, high, color=style["color"], alpha=_BAND, linewidth=0)
