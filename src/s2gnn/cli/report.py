"""`s2gnn report`."""

import json
import shutil
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from s2gnn.cli.output import AsJson, check_writable
from s2gnn.estimator.folder import REPORT
from s2gnn.report import write_report
from s2gnn.report.sections import sections

app = typer.Typer()


@app.command()
def report(
    model: Annotated[Path, typer.Argument(help="A model folder that s2gnn fit wrote.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the page (.html); report.html in the model folder if left out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a page that shows a model: its data, its graph, how good it is and what to label next.

    The page is one file that needs no network. It shows values of some rows of the table, because those are in the
    model folder.

    Example: [bold]s2gnn report model/ --out report.html[/bold]
    """
    path = model / REPORT if out is None else out
    if out is not None or model.is_dir():
        check_writable(path, ".html")
    content = write_report(model, path, progress=not as_json)
    found = {part.title: part.words.finding for part in sections(content)}
    if as_json:
        print(json.dumps({"report": str(path), "findings": found}, indent=2))
        return
    width = shutil.get_terminal_size().columns
    for title, finding in found.items():
        mark = "" if title.endswith("?") else ":"
        print(textwrap.fill(f"{title}{mark} {finding}", width, subsequent_indent="  ", break_long_words=False))
    print(f"report: {path}")
