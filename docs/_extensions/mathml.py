"""Formulas as MathML, which browsers draw by themselves: no script, no font, no network."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _write(translator: Any, node: nodes.Element, *, as_block: bool) -> None:
    try:
        formula = tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        logger.warning("the formula %r cannot be converted: %s", node.astext(), error, location=node)
        formula = f"<code>{translator.encode(node.astext())}</code>"
    translator.body.append(f'<div class="math">{formula}</div>' if as_block else formula)
    raise nodes.SkipNode


def _write_inline(translator: Any, node: nodes.math) -> None:
    _write(translator, node, as_block=False)


def _write_block(translator: Any, node: nodes.math_block) -> None:
    _write(translator, node, as_block=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the renderer `mathml`."""
    app.add_html_math_renderer("mathml", (_write_inline, None), (_write_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
