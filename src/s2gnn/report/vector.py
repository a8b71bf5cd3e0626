"""A matplotlib figure as SVG within a page: text as text, in the page's font and colours, and no names that clash."""

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from matplotlib.figure import Figure

from s2gnn.pictures import picture
from s2gnn.report.colours import variables

Element = ElementTree.Element
_REFERENCE = re.compile(r"#([A-Za-z][\w.-]*)")
_NUMBER = re.compile(r"-?\d+\.\d+")


def inline_svg(figure: Figure, name: str, described: str, *, mend: Callable[[Element], None] | None = None) -> str:
    """`figure` as an `<svg>` element for a page of HTML.

    Args:
        figure: drawn in the colours of `colours`; their places are taken by CSS variables.
        name: of the figure, which no other on the page has.
        described: what it shows, for those who cannot see it.
        mend: changes the elements, in which `id` is still what matplotlib's `gid` was, before they are written.
    """
    root = _without_namespaces(ElementTree.fromstring(picture(figure, "svg")))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in ("metadata", "style"):
                parent.remove(child)
    if mend is None:
        root.set("role", "img")
        root.set("aria-label", described)
    else:
        mend(root)
    _rename(root, name)
    for element in root.iter():
        _simplify(element)
    root.set("class", f"chart {name}")
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


def _without_namespaces(root: Element) -> Element:
    """Plain names, as HTML has them."""
    for element in root.iter():
        element.tag = element.tag.rsplit("}", 1)[-1]
        for key in [key for key in element.attrib if "}" in key]:
            element.attrib[key.rsplit("}", 1)[-1]] = element.attrib.pop(key)
    return root


def _rename(root: Element, name: str) -> None:
    """Keep the ids that are referred to, or that begin with "row-", the former with the figure's name before them."""
    used = {
        found for element in root.iter() for value in element.attrib.values() for found in _REFERENCE.findall(value)
    }
    new: dict[str, str] = {}
    for element in root.iter():
        old = element.get("id", "")
        if old in used:
            new[old] = f"{name}-{len(new)}"
            element.set("id", new[old])
        elif not old.startswith("row-"):
            element.attrib.pop("id", None)
    for element in root.iter():
        for key in ("href", "clip-path"):
            if key in element.attrib:
                element.set(key, _REFERENCE.sub(lambda found: f"#{new[found[1]]}", element.attrib[key]))


def _simplify(element: Element) -> None:
    """Shorter numbers; colours and fonts left to the page."""
    for key in ("d", "x", "y", "transform", "points"):
        if key in element.attrib:
            short = _NUMBER.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), element.attrib[key])
            element.set(key, " ".join(short.split()))
    style = element.attrib.get("style")
    if style is not None:
        rules = [rule.strip() for rule in style.split(";") if not rule.strip().startswith("font-family")]
        element.set("style", ";".join(_themed(rule) for rule in rules if rule))
    if element.get("transform", "").startswith("rotate(-0 ") or element.get("transform", "").startswith("rotate(0 "):
        del element.attrib["transform"]
    for part in ("text", "tail"):
        value: Any = getattr(element, part)
        if value is not None and not value.strip():
            setattr(element, part, None)


def _themed(rule: str) -> str:
    name, _, value = rule.partition(":")
    value = value.strip().lower() if "#" in value and "url" not in value else value.strip()
    variable = variables().get(value)
    return f"{name}:{value if variable is None else f'var({variable})'}"
