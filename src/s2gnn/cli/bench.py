"""`s2gnn bench`: timings on this machine."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import numpy as np
import torch
import typer

from s2gnn import provenance
from s2gnn.bench.epoch import EpochTiming, time_epoch
from s2gnn.bench.graphs import GraphTiming, sizes, time_diffusion, time_knn, time_smooth
from s2gnn.bench.operator import GRAPHS, OperatorTiming, time_operator
from s2gnn.bench.workloads import SIZES, data_file, workload
from s2gnn.cli.output import AsJson, print_table
from s2gnn.errors import InputError
from s2gnn.operators import kernel

app = typer.Typer(help="Measure time and memory on this machine.", no_args_is_help=True)


@app.command()
def graphs(
    points: Annotated[int, typer.Option(min=12_500, help="Measure up to so many points.")] = 100_000,
    as_json: AsJson = False,
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
    pubmed = data_file("citation/pubmed.npz")
    if pubmed is not None:
        with np.load(pubmed, allow_pickle=False) as archive:
            timings.append(time_diffusion(archive["edge_index"], len(archive["y"])))
    if as_json:
        _print_json(f"s2gnn bench graphs --points {points}", timings)
        return
    print_table(
        "Building graphs (k = 30, 64 features; diffusion: Pubmed, teleport 0.05, top 128)",
        ("graph", "points", "seconds", "µs a point", "peak MiB", "edges", ""),
        [_row(timing) for timing in timings],
    )
    if pubmed is not None:
        print(f"The paper's Table I has {SIZES['pubmed'][1]:,} edges for the diffusion of Pubmed.")


@app.command()
def info(as_json: AsJson = False) -> None:
    """Say which kernel runs here, on how many threads.

    Example: [bold]s2gnn bench info[/bold]
    """
    facts = {
        "kernel": kernel.chosen(),
        "available": kernel.available(),
        "threads": torch.get_num_threads(),
        "commit": provenance.commit(),
        **provenance.versions(),
    }
    if as_json:
        print(json.dumps(facts, indent=2))
    else:
        print_table("This installation", ("", "value"), [(k, _text(v)) for k, v in facts.items()])


@app.command()
def operator(as_json: AsJson = False) -> None:
    """Propagation with six branches against one sparse product, on two random graphs.

    Example: [bold]s2gnn bench operator[/bold]
    """
    timings = [timing for name in GRAPHS for timing in time_operator(name)]
    if as_json:
        _print_json("s2gnn bench operator", timings)
        return
    print_table(
        f"Forward propagation, α = 6, kernel {timings[0].kernel}, {torch.get_num_threads()} threads",
        ("graph", "F", "ours (ms)", "one CSR (ms)", "six CSR (ms)", "ours / one CSR", "ours / six CSR"),
        [
            (
                t.graph,
                str(t.width),
                *(f"{milliseconds:.1f}" for milliseconds in (t.ours, t.one_csr, t.all_csr)),
                *(f"{t.ours / other:.2f}×" for other in (t.one_csr, t.all_csr)),
            )
            for t in timings
        ],
    )


@app.command()
def epoch(
    tasks: Annotated[str, typer.Option(help="Tasks, separated by commas.")] = ",".join(SIZES),
    as_json: AsJson = False,
) -> None:
    """A training epoch of S2-GNN against the same network built otherwise and against PyG's GCN.

    Example: [bold]s2gnn bench epoch --tasks cancer-b,har[/bold]
    """
    names = [name.strip() for name in tasks.split(",")]
    unknown = [name for name in names if name not in SIZES]
    if unknown:
        raise InputError(f"there is no task {unknown[0]!r}: choose from {', '.join(SIZES)}")
    timings = []
    for name in names:
        timings.append(time_epoch(workload(name)))
        _say(f"{name}: {timings[-1].ours:.1f} ms an epoch")
    if as_json:
        _print_json(f"s2gnn bench epoch --tasks {tasks}", timings)
        return
    print_table(
        f"One epoch (step and evaluation), {torch.get_num_threads()} threads: how many times as long the others take",
        ("task", "ours (ms)", "GCNConv per branch", "six CSR matrices", "PyG's GCN, one branch"),
        [
            (
                t.workload,
                f"{t.ours:.1f}",
                *(f"{other / t.ours:.1f}×" if other else "–" for other in (t.gcnconv, t.csr, t.gcn)),
            )
            for t in timings
        ],
    )


def _print_json(command: str, timings: Sequence[GraphTiming | OperatorTiming | EpochTiming]) -> None:
    """Print the measurements with what made them."""
    record = {
        "command": command,
        "commit": provenance.commit(),
        "versions": provenance.versions(),
        "kernel": kernel.chosen(),
        "threads": torch.get_num_threads(),
        "timings": [asdict(timing) for timing in timings],
    }
    print(json.dumps(record, indent=2))


def _text(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


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
