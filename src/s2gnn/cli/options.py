"""Options shared by the commands on data sets and experiments."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, get_args

import typer

from s2gnn.data.catalogue import Kind
from s2gnn.errors import InputError
from s2gnn.ranges import COUNT, SEED, Range


def integer(allowed: Range, *names: str, help: str) -> Any:
    """Define an option for an integer in a range; values outside it are rejected before anything is computed.

    Typer's own limits would fill the help with ranges such as 1<=x<=2147483647.
    """

    def within(value: int | None) -> int | None:
        if value is not None and not allowed.low <= value <= allowed.high:
            raise typer.BadParameter(f"{value} is not in the range {allowed.low}<=x<={allowed.high}.")
        return value

    return typer.Option(*names, callback=within, help=help)


def number(help: str, *, min: float | None = None) -> Any:
    """Define an option for a finite number; Typer's own limits accept NaN."""

    def finite(value: float | None) -> float | None:
        if value is not None and not math.isfinite(value):
            raise typer.BadParameter(f"{value} is not a finite number.")
        return value

    return typer.Option(callback=finite, min=min, help=help)


Seed = Annotated[int, integer(SEED, help="Random seed.")]
GraphKind = Annotated[
    Kind | None,
    typer.Option(metavar="KIND", help=f"Graph: {', '.join(get_args(Kind))}; default: that of the paper's Table I."),
]
K = Annotated[int | None, integer(COUNT, help="Number of neighbours; default: the paper's.")]
Device = Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, mps; auto uses a GPU if there is one.")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Override a hyperparameter's default for the data set; repeatable."
    ),
]

Categorical = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS",
        help="Columns of codes, such as 1, 2, 3, to treat as categories instead of numbers, separated by commas.",
    ),
]


def assignment(text: str) -> tuple[str, int | float | str]:
    """Parse NAME=VALUE into a name and an integer, a number or a string."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise InputError(f"--set {text} is not of the form NAME=VALUE, such as epsilon=1.5")
    for convert in (int, float):
        try:
            return name, convert(value)
        except ValueError:
            continue
    return name, value


def refuse(options: Mapping[str, object], why: str) -> None:
    """Raise for the first option that was given, with the reason `why`."""
    for option, value in options.items():
        if value is not None:
            raise InputError(f"{option} {why}")
