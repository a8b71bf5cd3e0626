"""How the report speaks: shares, counts and lists in words that need no knowledge of the method."""

from collections.abc import Sequence
from dataclasses import dataclass

FEW = 30  # hidden labels, below which a share is said to be rough
SPACE = "\N{NO-BREAK SPACE}"  # between a number and its unit


@dataclass(frozen=True)
class Words:
    """Of one part: what it says in a number or two, in a sentence or two, and how its picture is read."""

    key: str
    finding: str
    reading: str


def percent(share: float) -> str:
    """A share in per cent: whole, but for those near 0 and 1, which are not rounded to them."""
    if 0 < share < 0.0005:
        return f"under 0.1{SPACE}%"
    if 0.9995 <= share < 1:
        return f"over 99.9{SPACE}%"
    digits = 1 if 0 < share < 0.01 or 0.99 < share < 1 else 0
    return f"{100 * share:.{digits}f}{SPACE}%"


def points(share: float, other: float) -> str:
    """How far two shares differ in points of a per cent, each rounded as a reader sees them."""
    rounded = abs(round(100 * share) - round(100 * other))
    return f"{rounded}{SPACE}{'point' if rounded == 1 else 'points'}"


def counted(number: int, one: str, several: str | None = None) -> str:
    """A number of things."""
    return f"{number:,}{SPACE}{one if number == 1 else several or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """Names with commas and "and" between them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
