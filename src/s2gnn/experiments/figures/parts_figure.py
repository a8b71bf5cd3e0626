"""The picture of the study of mini-batches: accuracy and memory of every way to train, in two aligned columns."""

import textwrap
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from s2gnn.experiments.appearance import display_name, line_style
from s2gnn.experiments.measured import Row, grouped
from s2gnn.pictures import WIDTH, bare, name_rows

_CHARACTERS = 47  # of a name that fit into a line


def draw_batches(data: Mapping[str, Sequence[Row]]) -> Figure:
    """Draw two panels for each data set, with a row for each network and its batches, below the network's name."""
    lines = [2 + len(rows) + len(grouped(rows, "network")) for rows in data.values()]
    figure = Figure(figsize=(WIDTH, 0.19 * sum(lines) + 0.5 * len(data)), layout="constrained")
    panels = figure.subplots(len(data), 2, squeeze=False, height_ratios=lines, width_ratios=(1.25, 1))
    for (accuracy, memory), (name, rows) in zip(panels, data.items(), strict=True):
        _draw_rows(accuracy, memory, rows)
        accuracy.set_title(f"{display_name(name)}: test accuracy (%), 95 % interval")
        memory.set_title("peak memory of training (MiB)")
    return figure


def _draw_rows(accuracy: Axes, memory: Axes, rows: Sequence[Row]) -> None:
    names: list[str] = []
    headings = []
    for network, of in grouped(rows, "network").items():
        colour = line_style(of[0]["model"])["color"]
        headings.append(len(names))
        names.append(network)
        for row in of:
            place, score = len(names), row["score"]
            low, high = max(score.mean - score.half_width, 0), min(score.mean + score.half_width, 100)
            accuracy.plot([low, high], [place, place], color=colour, linewidth=1.2)
            accuracy.plot(score.mean, place, "o", color=colour, markersize=4.5)
            memory.barh(place, row["mib"], 0.62, color=colour)
            memory.text(row["mib"], place, f" {row['mib']:,.0f}", va="center", fontsize=6.5)
            names.append(textwrap.fill(row["division"].full_title, _CHARACTERS))
    for axes in (accuracy, memory):
        name_rows(axes, names if axes is accuracy else [""] * len(names))
        bare(axes)
        axes.spines["left"].set_visible(False)
    for place, label in enumerate(accuracy.get_yticklabels()):
        label.set(linespacing=0.9, weight="bold" if place in headings else "normal")
    accuracy.grid(axis="x", color="0.93", linewidth=0.7)
    memory.set_xlim(0, 1.12 * max(row["mib"] for row in rows))
