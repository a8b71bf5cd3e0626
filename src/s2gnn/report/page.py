"""The report as one page of HTML."""

import html
from pathlib import Path

from s2gnn.files import write_atomically
from s2gnn.progress import progress_bar
from s2gnn.report.colours import palette_css
from s2gnn.report.content import Content, measure
from s2gnn.report.rows import row_columns
from s2gnn.report.sections import Section, sections
from s2gnn.report.subject import load_subject
from s2gnn.report.words import counted, listed
from s2gnn.report.words_of_data import summary
from s2gnn.webpage import webpage

_HERE = Path(__file__).parent


def write_report(folder: str | Path, path: str | Path, *, progress: bool = False) -> Content:
    """Measure the model in `folder` and write a page about it, which needs nothing else, to `path`.

    Args:
        folder: that `s2gnn fit` or `save_estimator` wrote.
        path: of the page.
        progress: show a bar.

    Raises:
        InputError: if the folder holds no model, or its files are damaged.
    """
    subject = load_subject(Path(folder))
    with progress_bar("looking at the model", shown=progress) as show:
        content = measure(subject, show)
    write_atomically(path, report_page(content).encode())
    return content


def report_page(content: Content) -> str:
    """The page."""
    title = _title(content)
    parts = sections(content)
    links = "\n".join(
        f'<li><a href="#{part.anchor}"><b>{html.escape(part.title)}</b> {html.escape(part.words.key)}</a></li>'
        for part in parts
    )
    across = 3 if len(parts) == 9 else 4  # so that no row of them is left half empty
    body = (
        '<a class="skip" href="#data">Skip to the data</a>\n'
        f"<header>\n<h1>{html.escape(title)}</h1>\n<p>{html.escape(summary(content))}</p>\n</header>\n"
        f'<nav aria-label="Parts of this report">\n<ul style="--across:{across}">\n{links}\n</ul>\n</nav>\n<main>\n'
        + "\n".join(_section(part, content) for part in parts)
        + f"\n</main>\n<footer>\n{_footer(content)}\n</footer>"
    )
    style = palette_css() + (_HERE / "report.css").read_text(encoding="utf-8")
    return webpage(title, body, style=style, script=(_HERE / "report.js").read_text(encoding="utf-8"))


def _title(content: Content) -> str:
    subject = content.subject
    if subject.label is None:
        return f"Report on {subject.name}"
    source = f" in {subject.evidence.source}" if subject.evidence is not None else ""
    return f"Predicting {subject.label}{source}"


def _section(part: Section, content: Content) -> str:
    drawn = part.figure(content)
    figure = f'<div class="figure">{drawn}</div>' if drawn else ""
    return (
        f'<section id="{part.anchor}" class="{"wide" if part.wide else "split"}" tabindex="-1">\n<div class="words">\n'
        f"<h2>{html.escape(part.title)}</h2>\n<p>{html.escape(part.words.finding)}</p>\n"
        f'<p class="reading">{html.escape(part.words.reading)}</p>\n</div>\n{figure}\n</section>'
    )


def _footer(content: Content) -> str:
    evidence = content.subject.evidence
    names = listed([f"“{name}”" for name in row_columns(content, content.graph.rows[:1])[0]])
    said = [
        f"This page shows {counted(len(content.graph.rows), 'row')} of the table: their numbers (1 is the first row "
        f"below the header), their labels, and their values of {names}. Share it as you would share those. It needs no "
        "network and loads nothing.",
        "Hidden labels were predicted by models that were trained without them. The model that is kept has learned "
        "from all labels.",
    ]
    if evidence is not None:
        versions = ", ".join(f"{name} {version}" for name, version in evidence.versions.items())
        code = "" if evidence.commit is None else f", commit {evidence.commit}"
        said.append(f"The model was made by “{evidence.command}” ({versions}{code}).")
    return "\n".join(f"<p>{html.escape(text)}</p>" for text in said)
