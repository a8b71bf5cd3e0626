"""The elements of the page: sections, tables, small charts, and numbers as text."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from s2gnn.render import html_table

SPACE = "\N{NO-BREAK SPACE}"  # between a number and its unit
ROWS_STACKED = 3  # as in report.css
LONGEST_TEXT = 40


class Html(str):
    """Text that is HTML already; any other string is escaped."""


@dataclass(frozen=True)
class Section:
    """One section of the page."""

    anchor: str  # its id
    title: str
    key: str  # the result in a few words
    finding: str  # the result in a sentence or two
    reading: str  # how to read the figure
    figure: str = ""  # HTML
    wide: bool = False  # the figure takes the full width of the page
    specialist: bool = False  # folded away, and not among the links at the top


def percent(share: float) -> str:
    """Format a share as a percentage without decimals; shares close to 0 or 1 are not rounded to them."""
    if 0 < share < 0.0005:
        return f"under 0.1{SPACE}%"
    if 0.9995 <= share < 1:
        return f"over 99.9{SPACE}%"
    digits = 1 if 0 < share < 0.01 or 0.99 < share < 1 else 0
    return f"{100 * share:.{digits}f}{SPACE}%"


def points(share: float, other: float) -> str:
    """Format the difference of two shares in percentage points, each rounded as it is shown."""
    return counted(abs(round(100 * share) - round(100 * other)), "point")


def counted(number: int, one: str, several: str | None = None) -> str:
    """Format a count with its noun."""
    return f"{number:,}{SPACE}{one if number == 1 else several or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """Join names by commas and "and"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def shortened(text: str) -> str:
    """Shorten a text to one line of at most 40 characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 1]}…"


def escaped(text: str) -> str:
    """Escape text as HTML."""
    return text if isinstance(text, Html) else html.escape(text)


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = "", stacked: bool = False
) -> Html:
    """Return a table, whose first cell of each row is its heading.

    `kind` is a CSS class. On a narrow page, the cells of a row are `stacked`, each next to its heading, and rows beyond
    the first three are folded away.
    """
    rows = list(rows)
    headings = [f' data-heading="{escaped(name)}"' if stacked else "" for name in header]
    body = "\n".join(
        f'<tr><th scope="row"{headings[0]}>{escaped(first)}</th>'
        + "".join(f"<td{heading}>{escaped(cell)}</td>" for heading, cell in zip(headings[1:], rest, strict=True))
        + "</tr>"
        for first, *rest in rows
    )
    kind = f"{kind} stacked".strip() if stacked else kind
    found = html_table(caption, header, f"<tbody>\n{body}\n</tbody>", kind=kind)
    if stacked and len(rows) > ROWS_STACKED:
        found = f'<label class="fold"><input type="checkbox"> show all {len(rows):,} rows</label>{found}'
    return Html(found)


def details(summary: str, content: Html) -> Html:
    """Fold content away until it is opened."""
    return Html(f"<details><summary>{html.escape(summary)}</summary>\n{content}\n</details>")


def histogram(heights: Sequence[int]) -> Html:
    """Draw a tiny bar chart; the table around it has the same facts in words."""
    top, width = max([*heights, 1]), 4
    bars = "".join(
        f"M{index * width} 16v{-round(15 * height / top + (0.6 if height else 0), 1)}h{width - 1}V16z"
        for index, height in enumerate(heights)
    )
    return Html(
        f'<svg class="spark" viewBox="0 0 {width * len(heights)} 16" preserveAspectRatio="none" aria-hidden="true">'
        f'<path d="{bars}"/></svg>'
    )


def share_bar(share: float, text: str | None = None) -> Html:
    """Return a share as text, by default a percentage, and as a bar."""
    return Html(
        f'<span class="share" style="--share:{round(100 * share)}">{html.escape(text or percent(share))}</span>'
    )
