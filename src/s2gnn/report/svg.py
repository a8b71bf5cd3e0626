"""Matplotlib figures as inline SVG: text in the page's font, colours that follow its light or dark theme."""

import re
from collections.abc import Callable, Iterable, Sequence
from xml.etree import ElementTree

from matplotlib.figure import Figure

from s2gnn.pictures import picture
from s2gnn.report.elements import Html, details, table

INK, QUIET, LINE = "#1c2128", "#59636e", "#d9dee4"
# Paul Tol's "muted" scheme and a brown; in the dark theme the same hues, lighter.
LIGHT = (
    "#332288", "#44aa99", "#cc6677", "#88ccee", "#999933", "#aa4499", "#117733", "#ddcc77", "#882255", "#661100",
)  # fmt: skip
DARK = (
    "#9a90f0", "#3fb8a5", "#ee8795", "#7cc4ea", "#b9b94f", "#d277c9", "#4fae72", "#e6d680", "#d45c94", "#c98a57",
)  # fmt: skip
# Seven steps of matplotlib's viridis for quantities, from low to high: its dark part on light paper and vice versa.
STEPS = ("#440154", "#46337f", "#355e8d", "#26828e", "#21a585", "#54c568", "#b0dd2f")
DARK_STEPS = ("#375a8c", "#2a788e", "#1f958b", "#2cb17e", "#63cb5f", "#b0dd2f", "#fde725")
VARIABLES = {INK: "--ink", QUIET: "--quiet", LINE: "--line", **{colour: f"--c{n}" for n, colour in enumerate(LIGHT)}}

Element = ElementTree.Element
_REFERENCE = re.compile(r"#([A-Za-z][\w.-]*)")
_NUMBER = re.compile(r"-?\d+\.\d+")


def palette_css() -> str:
    """Return CSS variables for the colours in both themes, and a class for the points of each colour."""
    names = [f"c{n}" for n in range(len(LIGHT))] + [f"q{n}" for n in range(len(STEPS))]
    light, dark = (
        "".join(f"--{name}:{colour};" for name, colour in zip(names, colours, strict=True))
        for colours in (LIGHT + STEPS, DARK + DARK_STEPS)
    )
    points = "".join(f".{name}{{--colour:var(--{name})}}" for name in names)
    return f":root{{{light}}}\n@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{points}\n"


def inline_svg(figure: Figure, name: str, description: str, edit: Callable[[Element], None] | None = None) -> Html:
    """Return `figure` as an `<svg>` element.

    Args:
        figure: drawn in `INK`, `QUIET`, `LINE` and `LIGHT`, which are replaced by CSS variables.
        name: unique on the page.
        description: read out by screen readers.
        edit: changes the elements, whose `id` is matplotlib's `gid`, before they are written.
    """
    root = ElementTree.fromstring(picture(figure, "svg", salt=name))
    for element in root.iter():  # HTML has no namespaces
        element.tag = element.tag.rsplit("}", 1)[-1]
        element.attrib = {key.rsplit("}", 1)[-1]: value for key, value in element.attrib.items()}
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in ("metadata", "style")]:
            parent.remove(child)
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "class": f"chart {name}",
        "role": "img",
        "aria-label": description,
    }
    if edit is not None:
        edit(root)
    references = {
        found for element in root.iter() for value in element.attrib.values() for found in _REFERENCE.findall(value)
    }
    for element in root.iter():
        if element.get("id") not in references and not element.get("id", "").startswith("row-"):
            element.attrib.pop("id", None)
        _simplify(element)
    return Html(ElementTree.tostring(root, encoding="unicode", short_empty_elements=False))


def chart(figure: Figure, name: str, description: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Return `inline_svg` of a figure, followed by a table of its numbers that opens on request."""
    return Html(inline_svg(figure, name, description) + details("The numbers", table(description, header, rows)))


def _simplify(element: Element) -> None:
    """Round numbers; leave colours and fonts to the page."""
    for key in {"d", "x", "y", "transform", "points"} & element.attrib.keys():
        short = _NUMBER.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), element.attrib[key])
        element.set(key, " ".join(short.split()))
    if "style" in element.attrib:
        rules = [rule.strip().partition(":") for rule in element.attrib["style"].split(";")]
        kept = [f"{key}:{_themed(value.strip())}" for key, _, value in rules if key not in ("", "font-family")]
        element.set("style", ";".join(kept))
    if element.get("transform", "").startswith(("rotate(-0 ", "rotate(0 ")):
        del element.attrib["transform"]
    element.text, element.tail = (text if text and text.strip() else None for text in (element.text, element.tail))


def _themed(value: str) -> str:
    variable = VARIABLES.get(value.lower())
    return value if variable is None else f"var({variable})"
