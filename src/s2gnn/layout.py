"""Tables of results as text, Markdown, LaTeX or a page of HTML, from one description."""

import html
import io
import textwrap
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from s2gnn.documents import markdown_table
from s2gnn.errors import InputError
from s2gnn.webpage import webpage

_WIDEST = 1000  # characters; no number is ever cut off

FormatName = Literal["text", "markdown", "latex", "html"]


@dataclass(frozen=True)
class Entry:
    """One place of a table; `rank` 1 is marked as the best of its kind, 2 as the second best."""

    text: str
    rank: int | None = None


@dataclass(frozen=True)
class Block:
    """Rows under a heading of their own."""

    heading: str
    rows: tuple[tuple[Entry, ...], ...]


@dataclass(frozen=True)
class Layout:
    """A table to look at.

    Attributes:
        title: above it.
        header: of the columns, the first of which is aligned to the left.
        blocks: the rows.
        notes: below it.
    """

    title: str
    header: tuple[str, ...]
    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()


def rendered(layout: Layout, form: FormatName) -> str:
    """The table in one of the formats."""
    formats = {"text": as_text, "markdown": as_markdown, "latex": as_latex, "html": as_html}
    if form not in formats:
        raise InputError(f"the format is {form!r}, but it must be one of {', '.join(formats)}")
    return formats[form](layout)


def as_text(layout: Layout) -> str:
    """For a terminal: the best is marked by **, the second best by *."""
    stream = io.StringIO()
    console = Console(file=stream, highlight=False, width=_WIDEST)
    console.print(Text(layout.title))
    for block in layout.blocks:
        table = Table(title=block.heading or None, title_justify="left")
        for position, name in enumerate(layout.header):
            table.add_column(name, justify="right" if position else "left", no_wrap=True)
        for row in block.rows:
            table.add_row(*(Text(entry.text + "*" * (3 - entry.rank if entry.rank else 0)) for entry in row))
        console.print(table)
    notes = "\n".join(textwrap.fill(note, 120) for note in layout.notes)
    return "\n".join(line.rstrip() for line in f"{stream.getvalue()}{notes}".splitlines()) + "\n"


def as_markdown(layout: Layout) -> str:
    """The best in bold, the second best in italics."""
    marks = {None: "", 1: "**", 2: "*"}
    blocks = [
        (f"**{block.heading}**\n\n" if block.heading else "")
        + markdown_table(
            layout.header,
            [[f"{marks[entry.rank]}{entry.text}{marks[entry.rank]}" for entry in row] for row in block.rows],
        )
        for block in layout.blocks
    ]
    return "\n".join([*blocks, *(f"{note}\n" for note in layout.notes)])


def as_latex(layout: Layout) -> str:
    """A `table*` for the packages booktabs and graphicx, no wider than text; the best bold, the second underlined."""
    columns = f"l{'r' * (len(layout.header) - 1)}"
    lines = [
        r"\begin{table*}",
        r"\centering",
        rf"\caption{{{_latex(layout.title)}}}",
        r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{columns}}}",
    ]
    lines += [r"\toprule", rf"{' & '.join(map(_latex, layout.header))} \\"]
    for block in layout.blocks:
        lines += [r"\midrule", rf"\multicolumn{{{len(layout.header)}}}{{l}}{{\textbf{{{_latex(block.heading)}}}}} \\"]
        lines += [rf"{' & '.join(map(_latex_entry, row))} \\" for row in block.rows]
    lines += [r"\bottomrule", r"\end{tabular}}"]
    lines += [rf"\par\footnotesize {_latex(note)}" for note in layout.notes]
    return "\n".join([*lines, r"\end{table*}", ""])


def _latex_entry(entry: Entry) -> str:
    text = _latex(entry.text)
    return {None: text, 1: rf"\textbf{{{text}}}", 2: rf"\underline{{{text}}}"}[entry.rank]


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "–": "--", "−": "$-$", "<": "$<$",
        "α": r"$\alpha$", "ε": r"$\epsilon$", "ρ": r"$\rho$", "μ": r"$\mu$", "`": "'",
    }
)  # fmt: skip


def _latex(text: str) -> str:
    return text.translate(_LATEX)


def as_html(layout: Layout) -> str:
    """One page that needs nothing else; the best in bold, the second best underlined."""
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in layout.header)
    bodies = []
    for block in layout.blocks:
        said = f"<span>{html.escape(block.heading)}</span>"
        heading = f'<tr><th scope="rowgroup" colspan="{len(layout.header)}">{said}</th></tr>'
        rows = "\n".join(f"<tr>{''.join(map(_html_entry, row))}</tr>" for row in block.rows)
        bodies.append(f"<tbody>\n{heading}\n{rows}\n</tbody>")
    notes = "\n".join(f"<p>{html.escape(note)}</p>" for note in layout.notes)
    title = html.escape(layout.title)
    body = (
        f'<h1>{title}</h1>\n<div class="scroll" tabindex="0" role="region" aria-label="{title}">\n<table>\n'
        f"<thead><tr>{head}</tr></thead>\n" + "\n".join(bodies) + f"\n</table>\n</div>\n{notes}"
    )
    return webpage(layout.title, body)


def _html_entry(entry: Entry) -> str:
    text = html.escape(entry.text)
    return {None: f"<td>{text}</td>", 1: f"<td><b>{text}</b></td>", 2: f'<td class="second">{text}</td>'}[entry.rank]
