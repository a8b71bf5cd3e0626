"""Numbers in words by the least and the greatest of them."""

from collections.abc import Sequence


def span(values: Sequence[float], form: str = "") -> str:
    """The least and the greatest of some numbers in a format, or the only one that is read."""
    return " to ".join(dict.fromkeys(f"{value:{form}}" for value in (min(values), max(values))))


def counted(counts: Sequence[int], noun: str = "seed") -> str:
    """The span of numbers of seeds or of other things, with their noun."""
    return f"{span(counts)} {noun}{'s' if max(counts) > 1 else ''}"
