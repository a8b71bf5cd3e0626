"""Numbers in tables stay on one line: their cells have the class `number`."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LONGEST = 32  # characters; a cell with more is text that starts with a number
NUMBER = re.compile(r"[−–+~±<>≤≥-]?\s?\d")
WORD = re.compile(r"[^\W\d_]{4,}")


def is_number(text: str) -> bool:
    """Whether a cell has a number, with an interval, a unit or a mark if any, and no sentence."""
    return len(text) <= LONGEST and NUMBER.match(text) is not None and len(WORD.findall(text)) < 2


def _mark(_app: Any, doctree: nodes.document) -> None:
    for cell in doctree.findall(nodes.entry):
        if is_number(cell.astext().strip()):
            cell["classes"].append("number")


def setup(app: Sphinx) -> dict[str, bool]:
    """Look at the tables of a page once it is read."""
    app.connect("doctree-read", _mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
