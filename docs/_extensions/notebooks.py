"""Tutorials can be downloaded as notebooks, which are made from their pages when the site is built.

The code of a page and what it prints are tested as they stand on the page, so notebooks need no further tests.
"""

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

FOLDER = "tutorials"
BLOCK = re.compile(r"^(<!-- not run: [^\n]+ -->\n)?```(python|bash|text)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^]]+)\]\((?!https?:)[^)]*\)")


def notebook(page: str) -> dict[str, Any]:
    """A page of Markdown as a notebook of format 4: its text, its code as cells, and their outputs as shown."""
    cells: list[dict[str, Any]] = []
    end, runs = 0, True
    for block in BLOCK.finditer(page):
        _add_text(cells, page[end : block.start()])
        end = block.end()
        not_run, language, text = block.groups()
        runs = not not_run if language != "text" else runs  # what a command that is not run prints is text as well
        if not runs:
            _add_text(cells, f"```{language}\n{text}```")
        elif language == "text":
            printed = next(cell for cell in reversed(cells) if cell["cell_type"] == "code")
            printed["outputs"].append({"output_type": "stream", "name": "stdout", "text": text})
        else:
            code = re.sub(r"^(?=\S)", "!", text, flags=re.MULTILINE) if language == "bash" else text
            number = sum(cell["cell_type"] == "code" for cell in cells) + 1
            cell = {"cell_type": "code", "execution_count": number, "outputs": [], "source": code.rstrip("\n")}
            cells.append({"id": f"cell-{len(cells)}", "metadata": {}, **cell})
    _add_text(cells, page[end:])
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _add_text(cells: list[dict[str, Any]], text: str) -> None:
    """Add a cell of text; links to other pages, which a notebook does not have, become text."""
    if text.strip():
        source = LINK.sub(r"\1", text.strip())
        cells.append({"id": f"cell-{len(cells)}", "cell_type": "markdown", "metadata": {}, "source": source})


def _add_link(app: Sphinx, doctree: nodes.document) -> None:
    folder, _, name = app.env.docname.rpartition("/")
    if folder == FOLDER:
        link = nodes.reference("", "Download this page as a notebook", refuri=f"{name}.ipynb", internal=True)
        first = next(doctree.findall(nodes.paragraph))
        first.parent.insert(first.parent.index(first) + 1, nodes.paragraph("", "", link))


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        for page in sorted(Path(app.srcdir, FOLDER).glob("*.md")):
            content = notebook(page.read_text(encoding="utf-8"))
            target = Path(app.outdir, FOLDER, f"{page.stem}.ipynb")
            target.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Add a link to each tutorial, and write the notebooks at the end."""
    app.connect("doctree-read", _add_link)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
