"""Links for names that a page does not define: those of other packages, without fetching inventories, and short ones.

An address is made from the name by the scheme of the package's documentation, so a build needs no network.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PYTHON = "https://docs.python.org/3/library"
# The first pattern that matches a whole name gives its address.
ADDRESSES = (
    (r"torch\.Tensor", "https://docs.pytorch.org/docs/stable/tensors.html#torch.Tensor"),
    (r"torch\.(dtype|device)", r"https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.\1"),
    (r"(torch\.nn\.(?:modules\.\w+\.)?)(\w+)", r"https://docs.pytorch.org/docs/stable/generated/torch.nn.\2.html"),
    (r"numpy\.(\w+)", r"https://numpy.org/doc/stable/reference/generated/numpy.\1.html"),
    (r"(?:numpy\.typing\.|)(ArrayLike|NDArray)", r"https://numpy.org/doc/stable/reference/typing.html#numpy.typing.\1"),
    (
        r"scipy\.sparse\.(?:_\w+\.)?(\w+)",
        r"https://docs.scipy.org/doc/scipy/reference/generated/scipy.sparse.\1.html",
    ),
    (
        r"pandas\.(?:core\.\w+\.)?(DataFrame|Series)",
        r"https://pandas.pydata.org/docs/reference/api/pandas.\1.html",
    ),
    (r"sklearn\.([\w.]+)", r"https://scikit-learn.org/stable/modules/generated/sklearn.\1.html"),
    (
        r"torch_geometric\.(data|nn|loader|transforms)\.(?:\w+\.)*(\w+)",
        r"https://pytorch-geometric.readthedocs.io/en/latest/modules/\1.html#torch_geometric.\1.\2",
    ),
    (
        r"networkx\.(?:classes\.\w+\.)?(Graph)",
        r"https://networkx.org/documentation/stable/reference/classes/graph.html",
    ),
    (r"(?:pathlib\.(?:_local\.)?)?(Path)", rf"{PYTHON}/pathlib.html#pathlib.\1"),
    (r"collections\.abc\.(\w+)", rf"{PYTHON}/collections.abc.html#collections.abc.\1"),
    (r"(?:typing\.)?(Any|Literal|NamedTuple|Self)", rf"{PYTHON}/typing.html#typing.\1"),
    (r"(int|float|complex|str|bytes|list|tuple|dict|set|frozenset|range)", rf"{PYTHON}/stdtypes.html#\1"),
    (r"(bool)", rf"{PYTHON}/functions.html#\1"),
    (r"(None)", rf"{PYTHON}/constants.html#\1"),
    (r"(\w+(?:Error|Warning))", rf"{PYTHON}/exceptions.html#\1"),
)


def address(name: str) -> str | None:
    """Where another package documents `name`; `None` if its scheme is not known."""
    found = ((re.fullmatch(pattern, name), template) for pattern, template in ADDRESSES)
    return next((match.expand(template) for match, template in found if match), None)


def _resolve(app: Sphinx, env: Any, node: Any, content: Any) -> nodes.reference | None:
    """A link for a name without a target: to the one public name that ends like it, or to another package."""
    if node.get("refdomain") != "py":
        return None
    name, domain = node["reftarget"], env.domains["py"]
    short = name.rpartition(".")[2]
    if "." not in name or name.startswith("s2gnn."):
        public = [full for full in domain.objects if full.endswith(f".{short}") and full.count(".") == 2]
        if len(public) > 1:  # the layer and the network have a form for PyTorch Geometric, too
            public = [full for full in public if not full.startswith("s2gnn.pyg.")]
        if len(public) == 1 and short[0].isupper():
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", public[0], node, content)
    uri = address(name)
    return None if uri is None else nodes.reference("", "", content, internal=False, refuri=uri)


def setup(app: Sphinx) -> dict[str, bool]:
    """Resolve what Sphinx cannot."""
    app.connect("missing-reference", _resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
