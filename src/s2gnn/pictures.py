"""The one place where a figure becomes a file."""

import io
from pathlib import Path

from matplotlib.figure import Figure

from s2gnn.files import write_atomically


def save_png(figure: Figure, path: str | Path) -> None:
    """Write `figure` to `path` as PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    write_atomically(path, buffer.getvalue())
