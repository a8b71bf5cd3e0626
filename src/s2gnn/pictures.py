"""Matplotlib figures in one style, for print and for screens, and as files."""

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from s2gnn.files import write_atomically

# Paul Tol's "muted" colours, distinguishable with colour blindness.
PALETTE = ("#332288", "#88CCEE", "#44AA99", "#DDCC77", "#CC6677", "#AA4499", "#117733", "#882255", "#999933")
QUIET, GUIDE = "0.45", "0.9"  # background elements, and guide lines
WIDTH = 7.2  # inches, two columns of a journal; text has 6.5 to 8.5 points
STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7.5,
    "legend.title_fontsize": 7.5,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "figure.titlesize": 9,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.width": 0.5,
    "ytick.minor.width": 0.5,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
}
_LEGEND_HEIGHT = 0.3
_CHARACTERS = 120  # of a legend that fit into a row of it
_DPI = 200

Form = Literal["png", "svg"]
FORMS: tuple[Form, ...] = ("png", "svg")  # of a picture that is kept


def graded(n: int) -> list[Any]:
    """Return `n` visibly ordered colours, from light to dark."""
    return list(colormaps["viridis"](np.linspace(0.82, 0.05, n)))


def bare(axes: Axes) -> None:
    """Hide the top and right spines."""
    axes.spines[["top", "right"]].set_visible(False)


def panel_grid(n: int, columns: int, height: float, **shared: Any) -> tuple[Figure, list[Axes], Axes | None]:
    """Return a figure of the page's width with `n` bare panels in rows of `columns`, and the first empty cell.

    Args:
        n: number of panels.
        columns: panels in a full row.
        height: of a row in inches.
        shared: arguments of `Figure.subplots`.
    """
    columns = min(columns, n)
    rows = -(-n // columns)
    below = _LEGEND_HEIGHT if n == rows * columns else 0.0
    figure = Figure(figsize=(WIDTH, height * rows + below), layout="constrained")
    cells = list(figure.subplots(rows, columns, squeeze=False, **shared).flat)
    for axes in cells:
        bare(axes)
    for axes in cells[n:]:
        axes.set_axis_off()
    return figure, cells[:n], cells[n] if n < len(cells) else None


def add_legend(figure: Figure, cell: Axes | None, handles: Sequence[Artist], title: str = "") -> None:
    """Add a legend of artists with labels: in an empty cell of the figure, or else in rows below it."""
    if cell is None:
        characters = sum(len(str(handle.get_label())) + 6 for handle in handles)
        across = -(-len(handles) // -(-characters // _CHARACTERS))
        figure.legend(handles=handles, loc="outside lower center", ncols=across, title=title or None)
    else:
        cell.legend(handles=handles, loc="center", title=title or None).set_in_layout(False)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows 0, 1, … from the top, with a faint line through each."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color=GUIDE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)


def label_ends(axes: Axes, ends: Iterable[tuple[float, float, str, str]], gap: float = 8.0) -> None:
    """Write labels to the right of the panel next to the ends of its lines, moved apart where they would overlap.

    Args:
        axes: with all lines drawn.
        ends: x, y, label and colour of each.
        gap: the smallest distance of two labels in points.
    """
    axes.get_xlim(), axes.get_ylim()  # scales the axes to their lines
    to_axes = axes.transData + axes.transAxes.inverted()
    found = sorted((*to_axes.transform((x, y))[::-1], label, colour) for x, y, label, colour in ends)
    figure = axes.get_figure(root=True)
    assert figure is not None
    height = 72 * figure.get_figheight() * axes.get_position().height
    for at, (y, x, label, colour) in zip(_apart([y for y, *_ in found], gap / height), found, strict=True):
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 2}
        place: Any = {"xycoords": "axes fraction", "textcoords": "axes fraction", "annotation_clip": False}
        axes.annotate(label, (x, y), (1.06, at), va="center", fontsize=6.5, arrowprops=line, **place)


def _apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Return increasing places up to 1, at least `gap` apart; places too close are spread around their mean."""
    groups: list[list[float]] = []  # the wanted places of labels that touch
    for one in wanted:
        groups.append([one])
        while len(groups) > 1 and _places(groups[-1], gap)[0] - _places(groups[-2], gap)[-1] < gap:
            last = groups.pop()
            groups[-1] += last
    places = [place for group in groups for place in _places(group, gap)]
    return [min(place, 1 - gap * above) for above, place in zip(range(len(places))[::-1], places, strict=True)]


def _places(group: Sequence[float], gap: float) -> list[float]:
    middle = float(np.mean(group))
    return [middle + gap * (place - (len(group) - 1) / 2) for place in range(len(group))]


def save_figure(draw: Callable[[], Figure], path: str | Path) -> None:
    """Draw a figure in `STYLE` and write it to `path`: as PNG or SVG by its suffix, or as both if it has neither."""
    forms = tuple(form for form in FORMS if str(path).endswith(f".{form}"))
    with rc_context(STYLE):
        figure = draw()
        files = {form: picture(figure, form, outlines=True) for form in forms or FORMS}
    for form, content in files.items():
        write_atomically(path if forms else f"{path}.{form}", content)


def picture(figure: Figure, form: Form, *, salt: str = "s2gnn", outlines: bool = False) -> bytes:
    """Return `figure` as a file, with the same bytes whenever it is drawn.

    Args:
        figure: with a layout that fits its text.
        form: of the file.
        salt: makes the ids of an SVG differ.
        outlines: whether an SVG has letters as shapes, or as text in a font of the reader.
    """
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": salt, "svg.fonttype": "path" if outlines else "none"}):
        figure.savefig(buffer, format=form, dpi=_DPI, metadata={"Date": None} if form == "svg" else None)
    return buffer.getvalue()
