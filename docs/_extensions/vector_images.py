"""Pictures that exist as SVG too are shown as SVG: GitHub's pages name the PNG, the site is sharp at any size."""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def _prefer_svg(app: Sphinx, doctree: nodes.document) -> None:
    folder = Path(app.env.doc2path(app.env.docname)).parent
    for image in doctree.findall(nodes.image):
        uri = image["uri"]
        if uri.endswith(".png") and (folder / uri).with_suffix(".svg").is_file():
            image["uri"] = uri.removesuffix(".png") + ".svg"


def setup(app: Sphinx) -> dict[str, Any]:
    """Look before the pictures are collected."""
    app.connect("doctree-read", _prefer_svg, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
