"""`s2gnn demo`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import s2gnn
from s2gnn import provenance
from s2gnn.cli.output import check_writable


def demo(
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Number of draws of the labelled digits.")] = 5,
    out: Annotated[Path, typer.Option(help="Where to write the picture (PNG).")] = Path("s2gnn-demo.png"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Classify handwritten digits from a tenth of the labels, beside a GCN, MLP, SVM and label spreading.

    Needs no download: the 1,797 digits come with scikit-learn.

    Example: [bold]s2gnn demo --seeds 5 --out digits.png[/bold]
    """
    from s2gnn.demo import METHODS, compare, draw

    check_writable(out, ".png")
    with _progress() as progress:
        task = progress.add_task("building the graph", total=seeds * len(METHODS) + 1)
        comparison = compare(
            seeds,
            on_start=lambda method, seed: progress.update(task, description=f"seed {seed + 1} of {seeds}: {method}"),
            on_done=lambda: progress.advance(task),
        )
        progress.update(task, description="drawing the picture")
        source = f"s2gnn demo --seeds {seeds} · s2gnn {s2gnn.__version__} · commit {provenance.commit() or '–'}"
        draw(comparison, out, source)
        progress.advance(task)
    scores = comparison.scores
    if as_json:
        result: dict[str, Any] = {
            "command": f"s2gnn demo --seeds {seeds}",
            "commit": provenance.commit(),
            "versions": provenance.versions(),
            "picture": str(out),
            "scores": {method: asdict(score) for method, score in scores.items()},
        }
        print(json.dumps(result, indent=2))
        return
    n_labelled, n = len(comparison.labelled), len(comparison.data.y)
    table = Table(title=f"Handwritten digits: {n_labelled} of {n:,} labelled, accuracy on the rest")
    table.add_column("method")
    table.add_column("accuracy (%)", justify="right")
    table.add_column("± std over seeds", justify="right")
    table.add_column("seconds per seed", justify="right")
    for method in sorted(METHODS, key=lambda m: -np.mean(scores[m].accuracy)):
        accuracy = 100 * np.array(scores[method].accuracy)
        table.add_row(
            method,
            f"{accuracy.mean():.2f}",
            f"{accuracy.std():.2f}",
            f"{np.mean(scores[method].seconds):.2f}",
        )
    console = Console(highlight=False)
    console.print(table)
    console.print(
        "S2-GNN, GCN and MLP share width, dropout, epochs and learning rate, chosen for S2-GNN on other\n"
        f"draws of the labels; SVM and LabelSpreading have scikit-learn's defaults. Picture: {out}",
        soft_wrap=True,
    )


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:32s}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
