"""`s2gnn bench`: time and memory on this machine, ours and the peers."""

import json
import os
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer

from s2gnn import provenance
from s2gnn.bench import memory as memory_bench
from s2gnn.bench import scale as scale_bench
from s2gnn.bench.baselines import time_baseline
from s2gnn.bench.cost_model import training_bytes
from s2gnn.bench.cost_report import EDGES_PER_NODE, WIDE, EpochEstimate, FittedModel, task_table
from s2gnn.bench.epoch import time_epoch
from s2gnn.bench.graphs import sizes, time_diffusion, time_knn, time_smooth
from s2gnn.bench.layers import BASELINES
from s2gnn.bench.machine import measure_machine
from s2gnn.bench.memory import measure_memory
from s2gnn.bench.networks import WAYS
from s2gnn.bench.operator import time_operator
from s2gnn.bench.record import make_record
from s2gnn.bench.report import tables
from s2gnn.bench.scale import LargeTask, time_grid, train_large
from s2gnn.bench.workloads import REAL, SIZES, workload
from s2gnn.cli.output import AsJson, names, print_table
from s2gnn.data import data_file
from s2gnn.errors import InputError
from s2gnn.operators import kernel
from s2gnn.resources import available_bytes

PARTS = ("grid", "epoch", "training")

Repetitions = Annotated[int, typer.Option(min=1, help="The least of so many turns of two runs counts.")]

app = typer.Typer(help="Measure time and memory on this machine.", no_args_is_help=True)


@app.command()
def graphs(
    points: Annotated[int, typer.Option(min=12_500, help="Measure up to so many points.")] = 100_000,
    as_json: AsJson = False,
) -> None:
    """Time and memory of k-NN and learned graphs on growing sets of points, and of the diffusion of Pubmed.

    Takes about fifteen minutes on 2 cores for 100,000 points. Pubmed is measured when it is in the folder that
    S2GNN_DATA names or in the cache.

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
    _publish(make_record(_command(), timings=timings), as_json)
    if pubmed is not None and not as_json:
        print(f"The paper's Table I has {SIZES['pubmed'][1]:,} edges for the diffusion of Pubmed.")


@app.command()
def info(as_json: AsJson = False) -> None:
    """Say which kernel runs here, on how many threads, and how fast memory and dense products are.

    Example: [bold]s2gnn bench info[/bold]
    """
    machine = measure_machine()
    facts = {
        "kernel": kernel.chosen(),
        "available": kernel.available(),
        "threads": torch.get_num_threads(),
        "available_bytes": available_bytes(),
        **asdict(machine),
        "commit": provenance.commit(),
        **provenance.versions(),
    }
    if as_json:
        print(json.dumps(facts, indent=2))
        return
    readable = {
        "available_bytes": f"{facts['available_bytes'] / 2**30:.1f} GiB",
        "bandwidth": f"{machine.bandwidth / 1e9:.1f} GB/s",
        "gemm": f"{machine.gemm / 1e9:.0f} GFLOP/s",
    }
    print_table("This installation", ("", "value"), [(k, readable.get(k, _text(v))) for k, v in facts.items()])


@app.command()
def operator(
    graphs: Annotated[str, typer.Option(help="Graphs, separated by commas.")] = ",".join(SIZES),
    widths: Annotated[str, typer.Option(help="Widths F of the signal, separated by commas.")] = "64,16",
    repetitions: Repetitions = 5,
    as_json: AsJson = False,
) -> None:
    """Propagation with six branches against one sparse product and against six, with the share of the bandwidth.

    Example: [bold]s2gnn bench operator --graphs er-10000,random-132000[/bold]
    """
    names, chosen = _chosen(graphs, tuple(SIZES), "graph"), _numbers(widths, "widths")
    machine = measure_machine()
    timings = []
    for name in names:
        task = workload(name)
        timings += time_operator(task.name, task.graph, chosen, repetitions)
        _say(f"{task.name}: {timings[-1].ways['ours'].text} at F = {chosen[-1]}")
    _publish(make_record(_command(), machine, timings=timings), as_json)


@app.command()
def epoch(
    tasks: Annotated[str, typer.Option(help="Tasks, separated by commas.")] = ",".join(REAL),
    repetitions: Repetitions = 5,
    as_json: AsJson = False,
) -> None:
    """A training epoch of S2-GNN against the same network built otherwise and against PyG's GCN.

    Example: [bold]s2gnn bench epoch --tasks cancer-b,har[/bold]
    """
    names = _chosen(tasks, tuple(SIZES), "task")
    machine = measure_machine()
    timings = []
    for name in names:
        timings.append(time_epoch(workload(name), repetitions))
        _say(f"{name}: {timings[-1].ways['ours'].text} an epoch")
    _publish(make_record(_command(), machine, timings=timings), as_json)


@app.command()
def baselines(
    models: Annotated[str, typer.Option(help="Baselines, separated by commas.")] = ",".join(BASELINES),
    tasks: Annotated[str, typer.Option(help="Tasks, separated by commas.")] = "cancer-b",
    heads: Annotated[int, typer.Option(min=1, help="Heads of the networks with attention.")] = 3,
    repetitions: Repetitions = 5,
    as_json: AsJson = False,
) -> None:
    """A training epoch of each baseline that PyTorch Geometric has too, ours and the network of its layers.

    Example: [bold]s2gnn bench baselines --models gcn,gat --heads 1[/bold]
    """
    chosen, names = _chosen(models, BASELINES, "baseline"), _chosen(tasks, tuple(SIZES), "task")
    machine = measure_machine()
    timings = []
    for name in names:
        task = workload(name)
        for model in chosen:
            timings.append(time_baseline(task, model, heads, repetitions))
            ways = timings[-1].ways
            _say(f"{model} on {task.name}: {ways['ours'].text}, PyG's {ways['pyg'].text}")
    _publish(make_record(_command(), machine, timings=timings), as_json)


@app.command()
def memory(
    graphs: Annotated[str, typer.Option(help="Graphs, separated by commas.")] = ",".join(SIZES),
    alpha: Annotated[int, typer.Option(min=1, help="Measure α = 1 up to this.")] = max(memory_bench.ALPHAS),
    as_json: AsJson = False,
) -> None:
    """The memory of the operator for growing α, beside its bound, α sparse matrices and α edge lists.

    Example: [bold]s2gnn bench memory --graphs cancer-b --alpha 4[/bold]
    """
    uses = []
    for name in _chosen(graphs, tuple(SIZES), "graph"):
        uses += measure_memory(name, tuple(range(1, alpha + 1)))
        _say(f"{uses[-1].workload}: {uses[-1].operator / uses[-1].bound:.2f} of the bound")
    _publish(make_record(_command(), memory=uses), as_json)


@app.command()
def scale(
    parts: Annotated[str, typer.Option(help="grid, epoch or training, separated by commas.")] = ",".join(PARTS),
    repetitions: Repetitions = 3,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of the large training.")] = 2,
    ways: Annotated[str, typer.Option(help="Networks of the large training, separated by commas.")] = ",".join(WAYS),
    as_json: AsJson = False,
) -> None:
    """Large graphs: the paper's Erdős–Rényi grid, 132,000 nodes, and training at the size of ogbn-proteins.

    The last one has 132,534 nodes and 39.6 million edges; its graph is made at the first run and takes 0.6 GiB of the
    cache folder (S2GNN_CACHE). A network that would need more memory than there is is not run.

    Example: [bold]s2gnn bench scale --parts training[/bold]
    """
    chosen, networks = _chosen(parts, PARTS, "part"), _chosen(ways, WAYS, "way")
    machine = measure_machine()
    grid, timings, runs, task = [], [], [], LargeTask()
    if "grid" in chosen:
        for timing in time_grid(scale_bench.NODES, scale_bench.PROBABILITIES, repetitions):
            grid.append(timing)
            _say(f"{timing.graph}: {timing.ways['ours'].text}")
    if "epoch" in chosen:
        timings.append(time_epoch(workload("random-132000"), repetitions))
    if "training" in chosen:
        for way in networks:
            runs.append(train_large(task, way, epochs))
            _say(f"{way}: {runs[-1].not_run or f'{runs[-1].stages[-1].seconds:.1f} s an epoch'}")
    _publish(make_record(_command(), machine, grid=grid, epochs=timings, training=runs, task=[task]), as_json)


@app.command()
def cost(
    edges: Annotated[int, typer.Option(min=1, help="Undirected edges of the graph.")] = WIDE.edges,
    nodes: Annotated[int | None, typer.Option(min=1, help="Nodes; a twentieth of the edges if left out.")] = None,
    features: Annotated[int, typer.Option(min=1, help="Features of a node.")] = WIDE.features,
    hidden: Annotated[int, typer.Option(min=1, help="Width between layers.")] = WIDE.hidden,
    classes: Annotated[int, typer.Option(min=1, help="Outputs of the network.")] = WIDE.labels,
    layers: Annotated[int, typer.Option(min=1, help="Layers.")] = WIDE.layers,
    alpha: Annotated[int, typer.Option(min=1, help="Highest Hadamard power.")] = WIDE.alpha,
    train: Annotated[bool, typer.Option("--train", help="Also train on a random graph of that size, here.")] = False,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of that training.")] = 2,
    results: Annotated[Path, typer.Option(help="The folder of the records that the seconds come from.")] = Path(
        "results"
    ),
    as_json: AsJson = False,
) -> None:
    """What full-batch training needs on a graph of your size: bytes by formula, seconds by the rates of stored records.

    The seconds are those of the machine of the records. --train measures both here, if the memory is there.

    Example: [bold]s2gnn bench cost --edges 100000000 --nodes 5000000 --features 100 --hidden 64 --alpha 4[/bold]
    """
    task = LargeTask(nodes or max(edges // EDGES_PER_NODE, 1), edges, features, classes, hidden, layers, alpha)
    if 2 * edges > task.nodes * (task.nodes - 1):
        raise InputError(
            f"{task.nodes:,} nodes have at most {task.nodes * (task.nodes - 1) // 2:,} edges, not {edges:,}"
        )
    estimate: EpochEstimate | None = None
    try:
        estimate = FittedModel.of(results).epoch(task)
    except InputError as error:
        _say(f"no seconds by the model: {error}")
    machine = measure_machine() if train else None
    run = train_large(task, "ours", epochs) if train else None
    if as_json:
        needs = training_bytes(task.size, task.widths)
        measured = [run] if run else []
        record = make_record(
            _command(), machine, task=[task], bytes=[needs], epoch=[estimate] if estimate else [], training=measured
        )
        allocator = {name: value for name, value in os.environ.items() if name.startswith("MALLOC_")}
        print(json.dumps({**record, "environment": allocator}, indent=2))
    else:
        table = task_table(task, estimate, run)
        print_table(table.title, table.header, table.rows)


def _chosen(given: str, choices: tuple[str, ...], what: str) -> list[str]:
    wanted = names(given)
    unknown = [name for name in wanted if name not in choices]
    if unknown:
        raise InputError(f"there is no {what} {unknown[0]!r}: choose from {', '.join(choices)}")
    return wanted


def _numbers(given: str, what: str) -> tuple[int, ...]:
    numbers = names(given)
    unusable = [number for number in numbers if not number.isdecimal() or int(number) < 1]
    if unusable:
        raise InputError(f"--{what} has {unusable[0]!r}, but it wants whole numbers of at least 1, such as 64,16")
    return tuple(int(number) for number in numbers)


def _command() -> str:
    """The command line that is running, without the way it prints."""
    return "s2gnn " + shlex.join(argument for argument in sys.argv[1:] if argument != "--json")


def _publish(record: dict[str, Any], as_json: bool) -> None:
    """Print the record as JSON, or its tables."""
    if as_json:
        print(json.dumps(record, indent=2))
        return
    for table in tables(record):
        print_table(table.title, table.header, table.rows)


def _text(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _say(text: str) -> None:
    typer.echo(text, err=True)
