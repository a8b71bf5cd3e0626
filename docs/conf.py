"""The documentation site: the pages of this folder, the docstrings, mathematics as MathML; nothing from the network."""

import importlib.metadata
import sys
from pathlib import Path
from typing import Any

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
    "mathml",
    "repository_files",
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
autodoc_default_options = {"exclude-members": "set_fit_request, set_score_request, set_partial_fit_request"}
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_custom_sections = [("Shapes", "notes")]
maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_math_renderer = "mathml"
html_title = "s2gnn"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False


def _escape_bars(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Keep |x| in docstrings a magnitude, which reStructuredText would take for a substitution."""
    lines[:] = [line if ":math:" in line else line.replace("|", r"\|") for line in lines]


def setup(app: Any) -> None:
    """Register what the settings above cannot say."""
    app.connect("autodoc-process-docstring", _escape_bars)
