"""`s2gnn demo`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import s2gnn
from s2gnn import provenance
from s2gnn.cli.output import AsJson, check_writable, counting_bar, print_table
from s2gnn.demo import METHODS, Comparison, compare, draw

app = typer.Typer()


@app.command()
def demo(
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Number of draws of the labelled digits.")] = 5,
    out: Annotated[Path, typer.Option(help="Where to write the picture (PNG).")] = Path("s2gnn-demo.png"),
    as_json: AsJson = False,
) -> None:
    """Classify handwritten digits from a tenth of the labels, beside a GCN, MLP, SVM and label spreading.

    Needs no download: the 1,797 digits come with scikit-learn.

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
            "command": command,
            "commit": provenance.commit(),
            "versions": provenance.versions(),
            "picture": str(out),
            "scores": {method: asdict(score) for method, score in comparison.scores.items()},
        }
        print(json.dumps(result, indent=2))
    else:
        _print_scores(comparison)
    draw(comparison, out, f"{command} · s2gnn {s2gnn.__version__} · commit {provenance.commit() or '–'}")
    if not as_json:
        print(f"Picture: {out}")


def _print_scores(comparison: Comparison) -> None:
    scores = comparison.scores
    rows = []
    for method in sorted(METHODS, key=lambda m: -np.mean(scores[m].accuracy)):
        accuracy = 100 * np.array(scores[method].accuracy)
        seconds = np.mean(scores[method].seconds)
        rows.append((method, f"{accuracy.mean():.2f}", f"{accuracy.std():.2f}", f"{seconds:.2f}"))
    n_labelled, n = len(comparison.labelled), len(comparison.data.y)
    print_table(
        f"Handwritten digits: {n_labelled} of {n:,} labelled, accuracy on the rest",
        ("method", "accuracy (%)", "± std over seeds", "seconds per seed"),
        rows,
    )
    print(
        "S2-GNN, GCN and MLP share width, learning rate, dropout and epochs, the last two chosen for S2-GNN on other\n"
        "draws of the labels, as were the graph's k and S2-GNN's alpha and epsilon. SVM and LabelSpreading have\n"
        f"scikit-learn's defaults. The graph of S2-GNN and GCN took {comparison.data.seconds:.2f} s, not counted here."
    )
