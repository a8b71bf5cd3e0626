"""The documentation site: the pages of this folder, the docstrings, mathematics as MathML; nothing from the network."""

import importlib.metadata
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from numpy.typing import ArrayLike
from sphinx.util.typing import stringify_annotation

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "s2gnn"
author = "The s2gnn developers"
project_copyright = author
release = importlib.metadata.version("s2gnn")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "api_pages",
    "mathml",
    "notebooks",
    "repository_files",
    "table_cells",
    "types_elsewhere",
    "vector_images",
]
exclude_patterns = ["_extensions"]
highlight_language = "text"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
smartquotes_action = "qe"  # no dashes: commands stand in the text, and --option is none

# Docstrings write `name`: a link where the name is documented, else code.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_custom_sections = ["Shapes"]
maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_math_renderer = "mathml"
html_title = "s2gnn"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False


_EXPANDED = stringify_annotation(ArrayLike, "smart")


def _escape_bars(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Keep |x| in docstrings a magnitude, which reStructuredText would take for a substitution."""
    lines[:] = [line if ":math:" in line else line.replace("|", r"\|") for line in lines]


def _short_types(
    _app: Any, _what: str, _name: str, _obj: Any, _options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Write ArrayLike, which autodoc expands to a union of eight types, by its name."""
    return tuple(text and text.replace(_EXPANDED, "ArrayLike") for text in (signature, returns))  # type: ignore[return-value]


def _dashes(_app: Any, doctree: nodes.document) -> None:
    """Give lists of parameters a dash; Sphinx writes two hyphens."""
    for text in list(doctree.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" – "))


def setup(app: Any) -> None:
    """Register what the settings above cannot say."""
    app.connect("autodoc-process-docstring", _escape_bars)
    app.connect("autodoc-process-signature", _short_types)
    app.connect("doctree-read", _dashes)
