"""Links from a page to a file of the repository outside docs/ lead to a page of the site that shows the file.

So the same link serves readers of the repository and of the site.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

LANGUAGES = {".cff": "yaml", ".cpp": "cpp", ".md": "markdown", ".py": "python", ".sh": "bash", ".toml": "toml"}
FOLDER = "files"


def _link_to_shown_files(app: Sphinx, doctree: nodes.document) -> None:
    """Replace links to files above the folder of the pages, which Sphinx takes for downloads or unknown pages."""
    docname = app.env.docname
    page = Path(app.env.doc2path(docname))
    for node in list(doctree.findall(lambda n: isinstance(n, addnodes.download_reference | addnodes.pending_xref))):
        target = _outside_file(app, page, node)
        if target is None:
            continue
        app.env.metadata[docname].setdefault("repository_files", []).append(target)
        up = "../" * docname.count("/")
        link = nodes.reference("", "", *node.children, internal=True, refuri=f"{up}{FOLDER}/{target}.html")
        node.replace_self(link)


def _outside_file(app: Sphinx, page: Path, node: nodes.Element) -> str | None:
    """The path within the repository of the file that a link outside docs/ names; `None` for other links."""
    name = node.get("reftarget", "")
    # A link to Markdown has lost its suffix and is relative to docs/.
    path = app.srcdir / f"{name}.md" if node.get("refdomain") == "doc" else page.parent / name
    root = Path(app.srcdir).parent
    relative = Path(os.path.relpath(path, root))
    if relative.parts[0] in ("..", "docs") or not path.is_file() or path.suffix not in LANGUAGES:
        return None
    return relative.as_posix()


def _pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for every file that is linked."""
    linked = {file for meta in app.env.metadata.values() for file in meta.get("repository_files", [])}
    for file in sorted(linked):
        text = (Path(app.srcdir).parent / file).read_text(encoding="utf-8")
        code = app.builder.highlighter.highlight_block(text, LANGUAGES[Path(file).suffix])  # type: ignore[attr-defined]
        yield f"{FOLDER}/{file}", {"title": file, "body": f"<h1>{file}</h1>{code}", "parents": []}, "page.html"


def setup(app: Sphinx) -> dict[str, bool]:
    """Follow the links while pages are read, and write the pages of files at the end."""
    app.connect("doctree-read", _link_to_shown_files, priority=400)  # before downloads are collected
    app.connect("html-collect-pages", _pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
