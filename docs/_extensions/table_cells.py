"""Cells of tables: numbers stay on one line (class `number`), columns of words are aligned left (class `words`)."""

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


def has_words(column: list[str]) -> bool:
    """Whether most cells of a column, the heading aside, have words and no number; empty cells do not count."""
    filled = [text for text in column if WORD.search(text) or NUMBER.match(text)]
    return 2 * sum(not is_number(text) for text in filled) > len(filled)


def _mark(_app: Any, doctree: nodes.document) -> None:
    for cell in doctree.findall(nodes.entry):
        if is_number(cell.astext().strip()):
            cell["classes"].append("number")
    for group in doctree.findall(nodes.tgroup):
        rows = [[cell for cell in row.children if isinstance(cell, nodes.entry)] for row in group.findall(nodes.row)]
        for cells in zip(*rows, strict=True):  # a column
            if has_words([cell.astext().strip() for cell in cells[1:]]):
                for cell in cells:
                    cell["classes"].append("words")


def setup(app: Sphinx) -> dict[str, bool]:
    """Look at the tables of a page once it is read."""
    app.connect("doctree-read", _mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
