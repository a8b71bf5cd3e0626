"""The colours of the report: figures are drawn with those of the light page and take those of the dark one there."""

from collections.abc import Mapping

INK, QUIET, LINE = "#1c2128", "#59636e", "#d9dee4"

# Paul Tol's "muted" scheme and a brown, by name of the variable; on dark paper the same hues, lighter.
LIGHT = (
    "#332288", "#44aa99", "#cc6677", "#88ccee", "#999933", "#aa4499", "#117733", "#ddcc77", "#882255", "#661100",
)  # fmt: skip
DARK = (
    "#9a90f0", "#3fb8a5", "#ee8795", "#7cc4ea", "#b9b94f", "#d277c9", "#4fae72", "#e6d680", "#d45c94", "#c98a57",
)  # fmt: skip

# Seven steps of matplotlib's viridis, for quantities from low to high: its dark part on light paper and vice versa.
STEPS = ("#440154", "#46337f", "#355e8d", "#26828e", "#21a585", "#54c568", "#b0dd2f")
DARK_STEPS = ("#375a8c", "#2a788e", "#1f958b", "#2cb17e", "#63cb5f", "#b0dd2f", "#fde725")

SHAPES = ("o", "s", "^", "D", "v")


def class_look(place: int) -> tuple[int, str]:
    """The colour, as a place in the scheme, and the shape of a class; fifty classes look different."""
    return place % len(LIGHT), SHAPES[(place + place // len(LIGHT)) % len(SHAPES)]


def variables() -> Mapping[str, str]:
    """The CSS variable that takes the place of each colour in a figure."""
    return {INK: "--ink", QUIET: "--quiet", LINE: "--line", **{colour: f"--c{n}" for n, colour in enumerate(LIGHT)}}


def palette_css() -> str:
    """The rules that give the variables of the schemes, and the classes of points, their colours."""
    names = [f"c{n}" for n in range(len(LIGHT))] + [f"q{n}" for n in range(len(STEPS))]
    light, dark = (
        "".join(f"--{name}:{colour};" for name, colour in zip(names, colours, strict=True))
        for colours in (LIGHT + STEPS, DARK + DARK_STEPS)
    )
    points = "".join(f".{name}{{--colour:var(--{name})}}" for name in names)
    return f":root{{{light}}}\n@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{points}\n"
