"""`s2gnn bench`: timings on this machine."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from s2gnn.bench.graphs import GraphTiming, sizes, time_diffusion, time_knn, time_smooth
from s2gnn.cli.output import print_table

app = typer.Typer(help="Measure time and memory on this machine.", no_args_is_help=True)

PUBMED_EDGES_IN_THE_PAPER = 1_723_360


@app.callback()
def _group() -> None:
    """Measure time and memory on this machine."""


@app.command()
def graphs(
    points: Annotated[int, typer.Option(min=12_500, help="Measure up to so many points.")] = 100_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Time and memory of k-NN and learned graphs on growing sets of points, and of the diffusion of Pubmed.

    Takes about fifteen minutes on 2 cores for 100,000 points. Pubmed is measured when S2GNN_DATA names the folder
    of the data sets.

    Example: [bold]s2gnn bench graphs --points 50000[/bold]
    """
    timings = []
    for n in sizes(points):
        for measure in (time_knn, time_smooth):
            timings.append(measure(n))
            _say(f"{timings[-1].what} graph of {n:,} points: {timings[-1].seconds:.1f} s")
    pubmed = Path(os.environ.get("S2GNN_DATA", "")) / "citation" / "pubmed.npz"
    if pubmed.is_file():
        with np.load(pubmed, allow_pickle=False) as archive:
            timings.append(time_diffusion(archive["edge_index"], len(archive["y"])))
    if as_json:
        print(json.dumps([asdict(timing) for timing in timings], indent=2))
        return
    print_table(
        "Building graphs (k = 30, 64 features; diffusion: Pubmed, teleport 0.05, top 128)",
        ("graph", "points", "seconds", "µs a point", "peak MiB", "edges", ""),
        [_row(timing) for timing in timings],
    )
    if pubmed.is_file():
        print(f"The paper's Table I has {PUBMED_EDGES_IN_THE_PAPER:,} edges for the diffusion of Pubmed.")


def _row(timing: GraphTiming) -> tuple[str, ...]:
    return (
        timing.what,
        f"{timing.points:,}",
        f"{timing.seconds:.1f}",
        f"{1e6 * timing.seconds / timing.points:.0f}",
        f"{timing.peak_mib:,.0f}",
        f"{timing.edges:,}",
        timing.note,
    )


def _say(text: str) -> None:
    typer.echo(text, err=True)
