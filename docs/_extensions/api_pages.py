"""The directive `api`: the public names of a package as tables in groups, each linked to its full description below.

    ```{api} s2gnn.nn
    # The layer and the network
    S2Conv
    S2GNN
    # Names
    MODELS: S2-GNN and the baselines by name.
    ```

A text replaces the first sentence of a docstring in the table; constants and type aliases, which have none, need one.
"""

import inspect
import re
from importlib import import_module
from typing import Any, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sklearn.base import BaseEstimator
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Api(SphinxDirective):
    """Tables of names with their first sentences, then the descriptions, in the same order."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Write reStructuredText and parse it."""
        package = self.arguments[0]
        summary, details = [f".. py:module:: {package}", ""], list[str]()
        lines = [line.strip() for line in self.content if line.strip()]
        if not lines[0].startswith("#"):
            summary += _TABLE
        for line in lines:
            if line.startswith("#"):
                summary += ["", f".. rubric:: {line.lstrip('# ')}", "", *_TABLE]
                continue
            name, _, text = line.partition(": ")
            found = getattr(import_module(package), name)
            summary += [f"   * - :py:obj:`{name} <{package}.{name}>`", f"     - {text or _first_sentence(found)}"]
            details += ["", *_description(package, name, found, text)]
        text = StringList(["````{eval-rst}", *summary, "", *details, "````"], source=self.get_source_info()[0])
        container = nodes.Element()
        self.state.nested_parse(text, self.content_offset, container)
        return list(container.children)


_OF_ESTIMATORS = (
    "   :inherited-members: BaseEstimator",
    "   :exclude-members: get_metadata_routing, set_fit_request, set_partial_fit_request, set_score_request",
)
_TABLE = [".. list-table::", "   :class: summary", "   :widths: auto", ""]


def _first_sentence(found: Any) -> str:
    """Of a docstring, up to a full stop or colon that ends it, with |x| kept a magnitude."""
    paragraph = " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())
    sentence = re.match(r"(.+?[.:])(?: (?=[A-ZS`])|$)", paragraph)
    return (sentence[1] if sentence else paragraph).removesuffix(":").replace("|", r"\|")


def _description(package: str, name: str, found: Any, text: str) -> list[str]:
    if inspect.isfunction(found):
        return [f".. autofunction:: {package}.{name}"]
    if inspect.isclass(found):
        kind = "exception" if issubclass(found, BaseException) else "class"
        inherited = _OF_ESTIMATORS if issubclass(found, BaseEstimator) else ()
        return [f".. auto{kind}:: {package}.{name}", "   :members:", *inherited]
    return [f".. py:data:: {name}", "", f"   {text}"]  # of the module that was opened above


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("api", Api)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
