"""Tables of results as text, Markdown, LaTeX or HTML, and the generated sections of Markdown documents."""

import html
import io
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from s2gnn.errors import InputError
from s2gnn.webpage import webpage

_SECTION = re.compile(r"(<!-- record: (?P<name>[\w.-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_WIDEST = 1000  # characters; no number is ever cut off

FormatName = Literal["text", "markdown", "latex", "html"]


@dataclass(frozen=True)
class Cell:
    """One cell of a table; `rank` 1 is marked as the best of its kind, 2 as the second best."""

    text: str
    rank: int | None = None


@dataclass(frozen=True)
class Block:
    """Rows under a heading; `folded` blocks are collapsed in Markdown."""

    heading: str
    rows: tuple[tuple[Cell, ...], ...]
    folded: bool = False


@dataclass(frozen=True)
class Table:
    """A table of text cells.

    Attributes:
        title: title of the table.
        header: names of the columns; the first column is left-aligned.
        blocks: blocks of rows.
        notes: paragraphs below the table.
    """

    title: str
    header: tuple[str, ...]
    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()


def render(table: Table, form: FormatName) -> str:
    """Render the table in one of the formats."""
    formats = {"text": as_text, "markdown": as_markdown, "latex": as_latex, "html": as_html}
    if form not in formats:
        raise InputError(f"the format is {form!r}, but it must be one of {', '.join(formats)}")
    return formats[form](table)


def as_text(table: Table) -> str:
    """Render the table as text; the best is marked by **, the second best by *."""
    stream = io.StringIO()
    console = Console(file=stream, highlight=False, width=_WIDEST)
    console.print(Text(table.title))
    for block in table.blocks:
        grid = RichTable(title=block.heading or None, title_justify="left")
        for position, name in enumerate(table.header):
            grid.add_column(name, justify="right" if position else "left", no_wrap=True)
        for row in block.rows:
            grid.add_row(*(Text(entry.text + "*" * (3 - entry.rank if entry.rank else 0)) for entry in row))
        console.print(grid)
    notes = "\n".join(textwrap.fill(note, 120) for note in table.notes)
    return "\n".join(line.rstrip() for line in f"{stream.getvalue()}{notes}".splitlines()) + "\n"


def as_markdown(table: Table) -> str:
    """Render the table as Markdown; the best is bold, the second best italic."""
    marks = {None: "", 1: "**", 2: "*"}
    blocks = []
    for block in table.blocks:
        rows = [[f"{marks[entry.rank]}{entry.text}{marks[entry.rank]}" for entry in row] for row in block.rows]
        text = markdown_table(table.header, rows)
        if block.folded:
            text = f"<details>\n<summary>{html.escape(block.heading)}</summary>\n\n{text}\n</details>\n"
        elif block.heading:
            text = f"**{block.heading}**\n\n{text}"
        blocks.append(text)
    return "\n".join([*blocks, *(f"{note}\n" for note in table.notes)])


def as_latex(table: Table) -> str:
    """Return a `table*` for booktabs and graphicx, no wider than text; the best bold, the second underlined."""
    columns = f"l{'r' * (len(table.header) - 1)}"
    lines = [
        r"\begin{table*}",
        r"\centering",
        rf"\caption{{{_latex(table.title)}}}",
        r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{columns}}}",
    ]
    lines += [r"\toprule", rf"{' & '.join(map(_latex, table.header))} \\"]
    for block in table.blocks:
        lines += [r"\midrule", rf"\multicolumn{{{len(table.header)}}}{{l}}{{\textbf{{{_latex(block.heading)}}}}} \\"]
        lines += [rf"{' & '.join(map(_latex_entry, row))} \\" for row in block.rows]
    lines += [r"\bottomrule", r"\end{tabular}}"]
    lines += [rf"\par\footnotesize {_latex(note)}" for note in table.notes]
    return "\n".join([*lines, r"\end{table*}", ""])


def _latex_entry(entry: Cell) -> str:
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


def as_html(table: Table) -> str:
    """Render the table as a self-contained HTML page; the best is bold, the second best underlined."""
    bodies = []
    for block in table.blocks:
        said = f"<span>{html.escape(block.heading)}</span>"
        heading = f'<tr><th scope="rowgroup" colspan="{len(table.header)}">{said}</th></tr>'
        rows = "\n".join(f"<tr>{''.join(map(_html_entry, row))}</tr>" for row in block.rows)
        bodies.append(f"<tbody>\n{heading}\n{rows}\n</tbody>")
    notes = "\n".join(f"<p>{html.escape(note)}</p>" for note in table.notes)
    grid = html_table(table.title, table.header, "\n".join(bodies))
    return webpage(table.title, f"<h1>{html.escape(table.title)}</h1>\n{grid}\n{notes}")


def html_table(caption: str, header: Sequence[str], bodies: str, *, kind: str = "") -> str:
    """Return an HTML table that scrolls horizontally if it is wider than the page.

    Args:
        caption: label for screen readers.
        header: names of the columns, plain text.
        bodies: the `<tbody>` elements.
        kind: CSS class of the table.
    """
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in header)
    style = f' class="{kind}"' if kind else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(caption)}">\n<table{style}>\n'
        f"<thead><tr>{head}</tr></thead>\n{bodies}\n</table>\n</div>"
    )


def _html_entry(entry: Cell) -> str:
    text = html.escape(entry.text)
    return {None: f"<td>{text}</td>", 1: f"<td><b>{text}</b></td>", 2: f'<td class="second">{text}</td>'}[entry.rank]


def fill_sections(text: str, render: Callable[[str], str]) -> str:
    """Replace the text between every `<!-- record: NAME -->` and `<!-- end -->` by `render(NAME)`."""
    if not _SECTION.search(text):
        raise InputError("the document has no section for a record: <!-- record: NAME --> and <!-- end -->")
    return _SECTION.sub(lambda block: f"{block[1]}\n{render(block['name'])}\n{block[3]}", text)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; all columns except the first are right-aligned."""
    lines = [header, ("---", *("---:",) * (len(header) - 1)), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
