"""Classes of the cells of tables, which the style sheet lays out.

`number`: a number, which stays on one line. `short`: a few words, which stay on one line on a wide screen. `words`: a
cell in a column of words, which is aligned left. `heading`: a cell in a first column with long texts, which gets room.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LONGEST = 32  # characters; a cell with more is text that starts with a number
SHORT = 14
NUMBER = re.compile(r"[−–+~±<>≤≥-]?\s?\d")
WORD = re.compile(r"[^\W\d_]{4,}")


def is_number(text: str) -> bool:
    """Whether a cell has a number, with an interval, a unit or a mark if any, and no sentence."""
    return len(text) <= LONGEST and NUMBER.match(text) is not None and len(WORD.findall(text)) < 2


def has_words(column: list[str]) -> bool:
    """Whether most cells of a column, the heading aside, have words and no number; empty cells do not count."""
    filled = [text for text in column if WORD.search(text) or NUMBER.match(text)]
    return 2 * sum(not is_number(text) for text in filled) > len(filled)


def _mark(_app: Any, doctree: nodes.document) -> None:
    for cell in doctree.findall(nodes.entry):
        text = cell.astext().strip()
        if is_number(text) or len(text) <= SHORT:
            cell["classes"].append("number" if is_number(text) else "short")
    for group in doctree.findall(nodes.tgroup):
        rows = [[cell for cell in row.children if isinstance(cell, nodes.entry)] for row in group.findall(nodes.row)]
        for position, cells in enumerate(zip(*rows, strict=True)):  # a column, with its heading
            texts = [cell.astext().strip() for cell in cells[1:]]
            classes = ["words"] if has_words(texts) else []
            classes += ["heading"] if position == 0 and max(map(len, texts), default=0) > LONGEST else []
            for cell in cells:
                cell["classes"].extend(classes)


def setup(app: Sphinx) -> dict[str, bool]:
    """Look at the tables of a page once it is read."""
    app.connect("doctree-read", _mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
