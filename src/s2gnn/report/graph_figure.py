"""The picture of the graph: a point for each drawn row, that shows its row when it is pointed at."""

from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from numpy.typing import NDArray

from s2gnn.report.colours import class_look
from s2gnn.report.drawn_graph import DrawnGraph
from s2gnn.report.vector import Element, inline_svg

WIDTH = 9.0  # inches
INSTRUCTIONS = "graph-help"


def graph_svg(
    drawn: DrawnGraph, groups: NDArray[np.int64], known: NDArray[np.bool_], texts: Sequence[str], *, steps: bool
) -> str:
    """The graph as SVG.

    Args:
        drawn: m points.
        groups: the class of each point, or the step of its quantity, (m,).
        known: the points whose row has a label, (m,).
        texts: what a point says when it is pointed at, (m,).
        steps: whether the groups are steps of a quantity.
    """
    top = max(float(drawn.positions[:, 1].max()), 0.2)
    figure = Figure(figsize=(WIDTH, WIDTH * (top + 0.06) / 1.06), facecolor="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, top + 0.03))
    if len(drawn.pairs):
        ends = drawn.positions[drawn.pairs].reshape(-1, 2)
        codes = np.tile([Path.MOVETO, Path.LINETO], len(drawn.pairs))
        path = Path(ends, codes)
        path.should_simplify = False  # every edge stays, however short
        axes.add_patch(PathPatch(path, fill=False, gid="edges"))
    members: dict[str, NDArray[np.int64]] = {}
    size = float(np.clip(220 / np.sqrt(len(drawn.rows)), 6, 10))
    for has_label in (False, True):
        for group in np.unique(groups[known == has_label]).tolist():
            colour, shape = (group, "o") if steps else class_look(group)
            gid = f"{'q' if steps else 'c'}{colour}{' known' if has_label else ''}|{group}"
            members[gid] = np.flatnonzero((groups == group) & (known == has_label))
            axes.plot(
                *drawn.positions[members[gid]].T, shape, color="black", markeredgecolor="black", gid=gid,
                markersize=size * (1.35 if has_label else 1.0) * (0.85 if shape in "sD" else 1.0), linestyle="none",
            )  # fmt: skip

    def mend(root: Element) -> None:
        root.set("role", "group")
        root.set("aria-label", f"The graph of {len(drawn.rows):,} rows")
        root.set("aria-describedby", INSTRUCTIONS)
        for element in root.iter("g"):
            name = element.get("id", "")
            if name == "edges":
                element.set("class", "edges")
                _strip(element)
                element.set("stroke-opacity", f"{np.clip(9 / np.sqrt(len(drawn.pairs)), 0.1, 0.3):.2f}")
            elif name in members:
                element.set("class", f"points {name.split('|')[0]}")
                _strip(element)
                _say(element, members[name], drawn, texts)

    return inline_svg(figure, "graph", "", mend=mend)


def marker_svg(place: int, *, steps: bool = False) -> str:
    """The point of a class, or of a step of a quantity, for the legend."""
    colour, shape = (place, "o") if steps else class_look(place)
    outlines = {
        "o": "M2 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        "s": "M2.5 2.5h7v7h-7z",
        "^": "M6 2L10 10H2z",
        "D": "M6 1.5L10.5 6L6 10.5L1.5 6z",
        "v": "M6 10L2 2H10z",
    }
    kind = f"{'q' if steps else 'c'}{colour}"
    return (
        f'<svg class="marker points {kind}" viewBox="0 0 12 12" aria-hidden="true"><path d="{outlines[shape]}"/></svg>'
    )


def _strip(group: Element) -> None:
    """Leave the look of a group to the page, and nothing clipped."""
    for element in group.iter():
        element.attrib.pop("style", None)
        element.attrib.pop("clip-path", None)


def _say(group: Element, members: NDArray[np.int64], drawn: DrawnGraph, texts: Sequence[str]) -> None:
    """Give every point its row's text, and an id to link to."""
    points = list(group.iter("use"))
    assert len(points) == len(members)
    for point, member in zip(points, members.tolist(), strict=True):
        point.set("id", f"row-{drawn.rows[member] + 1}")
        point.set("role", "img")
        ElementTree.SubElement(point, "title").text = texts[member]
