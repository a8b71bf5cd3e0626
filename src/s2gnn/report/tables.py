"""Tables of the report as HTML, whatever texts they hold."""

import html
from collections.abc import Iterable, Sequence


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = "") -> str:
    """A table that scrolls by itself where it is wider than the page.

    Args:
        caption: what it is, for those who cannot see it.
        header: plain text.
        rows: cells as HTML; the first of a row is its head.
        kind: a class for the style.
    """
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in header)
    body = "\n".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>' for first, *rest in rows
    )
    name = html.escape(caption, quote=True)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">\n<table class="{kind}">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def confusion_table(classes: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """A confusion matrix whose cells are shaded by their share of the true class."""
    rows = []
    for place, (name, line) in enumerate(zip(classes, counts, strict=True)):
        total = max(sum(line), 1)
        cells = [
            f'<span class="{"hit" if place == column else "miss"}" style="--share:{round(100 * count / total)}">'
            f"{count:,}</span>" if count else '<span class="zero">·</span>'
            for column, count in enumerate(line)
        ]  # fmt: skip
        rows.append((html.escape(name), *cells, f"{sum(line):,}"))
    header = ("true ↓ predicted →", *classes, "labels")
    return table("Confusion matrix of the hidden labels", header, rows, kind="confusion")


def bars(heights: Sequence[int]) -> str:
    """A tiny chart of bars, which a table says in words beside."""
    top, width = max([*heights, 1]), 4
    drawn = "".join(
        f"M{place * width} 16v{-round(15 * height / top + (0.6 if height else 0), 1)}h{width - 1}V16z"
        for place, height in enumerate(heights)
    )
    return (
        f'<svg class="spark" viewBox="0 0 {width * len(heights)} 16" preserveAspectRatio="none" aria-hidden="true">'
        f'<path d="{drawn}"/></svg>'
    )


def share_bar(share: float, text: str) -> str:
    """A share in words, and a bar as long."""
    return f'<span class="share" style="--share:{round(100 * share)}">{html.escape(text)}</span>'


def details(summary: str, content: str) -> str:
    """Content that is shown when asked for."""
    return f"<details><summary>{html.escape(summary)}</summary>\n{content}\n</details>"
