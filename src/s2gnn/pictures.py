"""Matplotlib figures as files."""

import io
from pathlib import Path
from typing import Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from s2gnn.files import write_atomically

# Paul Tol's "muted" colours, distinguishable with colour blindness.
PALETTE = ("#332288", "#88CCEE", "#44AA99", "#DDCC77", "#CC6677", "#AA4499", "#117733", "#882255", "#999933")


# Of the files that a picture is written to.
FORMS: tuple[Literal["png", "svg"], ...] = ("png", "svg")


def bare(axes: Axes) -> None:
    """Hide the top and right spines."""
    axes.spines[["top", "right"]].set_visible(False)


def save_png(figure: Figure, path: str | Path) -> None:
    """Write `figure` to `path` as PNG."""
    write_atomically(path, picture(figure, "png"))


def picture(figure: Figure, form: Literal["png", "svg"], *, salt: str = "s2gnn") -> bytes:
    """`figure` as a file, with the same bytes whenever it is drawn; `salt` makes the ids of an SVG differ."""
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        figure.savefig(buffer, format=form, dpi=130, metadata={"Date": None} if form == "svg" else None)
    return buffer.getvalue()
