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
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Number of draws of the labelled rows.")] = 10,
    out: Annotated[Path, typer.Option(help="Where to write the picture (PNG).")] = Path("s2gnn-demo.png"),
    as_json: AsJson = False,
) -> None:
    """Predict the cultivar of wines from ten labels per class; compare with seven methods of scikit-learn.

    No download needed: the 178 wines come with scikit-learn. The lead of S2GNNClassifier is similar to its median
    lead on the 53 tables of [bold]s2gnn study show leaderboard[/bold], which has other draws of the labels.

    Example: [bold]s2gnn demo --seeds 10 --out wine.png[/bold]
    """
    check_writable(out, ".png")
    command = f"s2gnn demo --seeds {seeds}"
    with counting_bar(description="{task.description:32s}") as progress:
        task = progress.add_task("starting", total=seeds * len(METHODS))
        comparison = compare(
            seeds,
            on_start=lambda method, seed: progress.update(task, description=f"draw {seed + 1} of {seeds}: {method}"),
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
