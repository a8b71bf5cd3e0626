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

app = typer.Typer()


@app.command()
def report(
    model: Annotated[Path, typer.Argument(help="A model folder written by s2gnn fit.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the page (.html); default: report.html in the model folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write an HTML report on a model: its data and graph, how accurate it is, and what to label next.

    The page is one file that works offline. It contains values of some training rows: share it accordingly.

    Example: [bold]s2gnn report model/ --out report.html[/bold]
    """
    path = model / REPORT if out is None else out
    if out is not None or model.is_dir():
        check_writable(path, ".html")
    findings = {section.title: section.finding for section in write_report(model, path, progress=not as_json)}
    if as_json:
        print(json.dumps({"report": str(path), "findings": findings}, indent=2))
        return
    width = shutil.get_terminal_size().columns
    for title, finding in findings.items():
        mark = "" if title.endswith("?") else ":"
        print(textwrap.fill(f"{title}{mark} {finding}", width, subsequent_indent="  ", break_long_words=False))
    print(f"report: {path}")
