"""`s2gnn label`."""

import json
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from s2gnn.cli.options import Categorical, Device, Seed, integer
from s2gnn.cli.output import AsJson, names, print_table
from s2gnn.devices import AUTO, checked_device
from s2gnn.errors import InputError
from s2gnn.labelling import Strategy
from s2gnn.labelling.labels import LabelledCopy
from s2gnn.labelling.server import LabellingServer
from s2gnn.labelling.session import Session, only_session
from s2gnn.labelling.settings import Settings
from s2gnn.ranges import COUNT

app = typer.Typer()


@app.command()
def label(
    table: Annotated[Path, typer.Argument(help="A table: .csv or .tsv with a header, or .npz with X and y.")],
    column: Annotated[
        str, typer.Option("--label", help="Column of the labels; rows where it is empty are unlabelled.")
    ],
    identifier: Annotated[
        str | None, typer.Option("--id", help="Column that identifies the rows; not used as a feature.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="Column with the path of an image for each row, in the folder of the table.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column with a text for each row; not used as a feature.")] = None,
    features: Annotated[
        str | None,
        typer.Option(help="Columns to learn from, separated by commas. Default: all except constants and identifiers."),
    ] = None,
    categorical: Categorical = None,
    classes: Annotated[
        str | None,
        typer.Option(help="Further classes to choose from, separated by commas."),
    ] = None,
    strategy: Annotated[
        Strategy,
        typer.Option(
            metavar="NAME",
            help="Which rows come first: coverage of the table, uncertain, change, random, or auto, which moves from "
            "coverage to uncertain rows.",
        ),
    ] = "auto",
    batch: Annotated[int, integer(COUNT, help="Train again after this number of answers.")] = 5,
    listed: Annotated[
        int | None, integer(COUNT, "--list", help="Print this number of rows to label instead of opening the page.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 picks a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    seed: Seed = 0,
    device: Device = AUTO,
    as_json: AsJson = False,
) -> None:
    """Label the rows of a table that help a model most, on a local page in the browser.

    Labels are saved after every answer in a copy of the table, NAME.labelled.csv; the table itself is not changed. Run
    the command again to resume; skipped rows and undo are kept in NAME.labelled.session.json. The page is only
    reachable from this computer.

    Example: [bold]s2gnn label flowers.csv --label species[/bold]
    """
    if as_json and listed is None:
        raise InputError("--json prints rows to label: add --list 20")
    if image is not None and text is not None:
        raise InputError("--image and --text cannot both be shown: choose one")
    checked_device(device)
    settings = Settings(
        identifier,
        image,
        text,
        names(features),
        names(categorical) or (),
        names(classes) or (),
        strategy=strategy,
        batch=batch,
        seed=seed,
        parameters=(("device", device),),
    )
    labels = LabelledCopy.open(table, column, new_column=classes is not None)
    if listed is not None:
        session = Session(labels, settings)
        session.training.finish()
        _print_rows(session.suggestions(listed), column, as_json=as_json)
        return
    with only_session(labels.path):
        labels = LabelledCopy.open(table, column, new_column=classes is not None)  # as saved by the last session
        labels.create()
        session = Session(labels, settings)
        with session.training.in_background(), LabellingServer(session, port) as server:
            print(
                f"Label {column} at {server.address}\nPress Ctrl-C to end; run the command again to resume.", flush=True
            )
            if browser:
                webbrowser.open(server.address)
            try:
                server.serve_forever()
            except KeyboardInterrupt as error:
                raise KeyboardInterrupt(f"the labels are saved in {labels.path}") from error


def _print_rows(rows: list[dict[str, Any]], column: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"label": column, "rows": rows}, indent=2, allow_nan=False))
        return
    if not rows:
        print("No row is left to label.")
        return
    lines = []
    for row in rows:
        best = (row["prediction"] or [None])[0]
        predicted = ("–", "–") if best is None else (best["class"], f"{best['probability']:.2f}")
        lines.append((f"{row['number']:,}", *([] if row["id"] is None else [row["id"]]), *predicted))
    header = ("row", *([] if rows[0]["id"] is None else ["id"]), f"predicted {column}", "probability")
    print_table("Rows to label next", header, lines)
