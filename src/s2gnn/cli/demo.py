"""`s2gnn demo`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import s2gnn
from s2gnn import provenance
from s2gnn.cli.output import AsJson, check_writable, counting_bar
from s2gnn.demo import METHODS, compare, draw
from s2gnn.render import render

app = typer.Typer()


@app.command()
def demo(
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Number of draws of the labelled digits.")] = 5,
    out: Annotated[Path, typer.Option(help="Where to write the picture (PNG).")] = Path("s2gnn-demo.png"),
    as_json: AsJson = False,
) -> None:
    """Classify handwritten digits from a tenth of the labels; compare with GCN, MLP, SVM and label spreading.

    No download needed: the 1,797 digits come with scikit-learn.

    Example: [bold]s2gnn demo --seeds 5 --out digits.png[/bold]
    """
    check_writable(out, ".png")
    command = f"s2gnn demo --seeds {seeds}"
    with counting_bar(description="{task.description:32s}") as progress:
        task = progress.add_task("building the graph", total=seeds * len(METHODS))
        comparison = compare(
            seeds,
            on_start=lambda method, seed: progress.update(task, description=f"seed {seed + 1} of {seeds}: {method}"),
            on_done=lambda: progress.advance(task),
        )
    if as_json:
        result = {
            **provenance.origin(command),
            "picture": str(out),
            "scores": {method: asdict(score) for method, score in comparison.scores.items()},
        }
        print(json.dumps(result, indent=2))
    else:
        print(render(comparison.table(), "text"), end="")
    draw(comparison, out, f"{command} · s2gnn {s2gnn.__version__} · commit {provenance.commit() or '–'}")
    if not as_json:
        print(f"Picture: {out}")
