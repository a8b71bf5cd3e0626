"""`s2gnn bench`: time and memory on this machine, ours and the alternatives."""

import json
import os
import shlex
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer

from s2gnn import provenance
from s2gnn.bench import speed
from s2gnn.bench.cost import training_bytes
from s2gnn.bench.cost_model import EDGES_PER_NODE, WIDE, CostModel, EpochEstimate, task_table
from s2gnn.bench.graphs import SIZES as POINTS
from s2gnn.bench.graphs import time_graph
from s2gnn.bench.memory import measure_memory
from s2gnn.bench.networks import BASELINES, WAYS
from s2gnn.bench.report import make_record, table_of, tables
from s2gnn.bench.speed import time_baseline, time_epoch, time_grid, time_operator
from s2gnn.bench.tasks import REAL, SIZES, LargeTask, workload
from s2gnn.bench.timing import measure_machine
from s2gnn.bench.training import train_large
from s2gnn.cli.output import AsJson, names
from s2gnn.data import data_file
from s2gnn.errors import InputError
from s2gnn.operators import kernel
from s2gnn.render import as_text
from s2gnn.resources import available_bytes

PARTS = ("grid", "epoch", "training")
ALL_GRAPHS, REAL_TASKS = ",".join(SIZES), ",".join(REAL)

Graphs = Annotated[str, typer.Option(help="Graphs, separated by commas.")]
Tasks = Annotated[str, typer.Option(help="Tasks, separated by commas.")]
Repetitions = Annotated[int, typer.Option(min=1, help="Number of timing rounds; the fastest run is reported.")]

app = typer.Typer(help="Measure time and memory on this machine.", no_args_is_help=True)


@app.command()
def graphs(
    points: Annotated[int, typer.Option(min=POINTS[0], help="Maximum number of points.")] = POINTS[-1],
    as_json: AsJson = False,
) -> None:
    """Time and memory of building k-NN and learned graphs for a growing number of points, and of Pubmed's diffusion.

    Takes about fifteen minutes on 2 cores for 100,000 points. Pubmed is measured if it is in the folder S2GNN_DATA
    or in the cache.

    Example: [bold]s2gnn bench graphs --points 50000[/bold]
    """
    timings = []
    for n in (n for n in POINTS if n <= points):
        for what in ("k-NN", "learned"):
            timings.append(time_graph(what, n))
            _say(f"{what} graph of {n:,} points: {timings[-1].seconds:.1f} s")
    pubmed = data_file("citation/pubmed.npz")
    if pubmed is not None:
        with np.load(pubmed, allow_pickle=False) as archive:
            timings.append(time_graph("diffusion", len(archive["y"]), archive["edge_index"]))
    _publish(make_record(_command(), timings=timings), as_json)
    if pubmed is not None and not as_json:
        print(f"The paper's Table I has {SIZES['pubmed'][1]:,} edges for the diffusion of Pubmed.")


@app.command()
def info(as_json: AsJson = False) -> None:
    """Show the kernel in use, the number of threads, and how fast memory and dense products are.

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
        **facts,
        "available": ", ".join(kernel.available()),
        "available_bytes": f"{facts['available_bytes'] / 2**30:.1f} GiB",
        "bandwidth": f"{machine.bandwidth / 1e9:.1f} GB/s",
        "gemm": f"{machine.gemm / 1e9:.0f} GFLOP/s",
    }
    rows = [(name, str(value)) for name, value in readable.items()]
    print(as_text(table_of("This installation", ("", "value"), rows)), end="")


@app.command()
def operator(
    graphs: Graphs = ALL_GRAPHS,
    widths: Annotated[str, typer.Option(help="Widths F of the signal, separated by commas.")] = "64,16",
    repetitions: Repetitions = 5,
    as_json: AsJson = False,
) -> None:
    """Propagation with six branches, compared with one sparse product and with six, and the share of the bandwidth.

    Example: [bold]s2gnn bench operator --graphs er-10000,random-132000[/bold]
    """
    chosen, numbers = _chosen(graphs, SIZES, "graph"), _numbers(widths, "widths")
    machine = measure_machine()
    timings = []
    for name in chosen:
        task = workload(name)
        timings += time_operator(task.name, task.graph, numbers, repetitions)
        _say(f"{task.name}: {timings[-1].ways['ours']} at F = {numbers[-1]}")
    _publish(make_record(_command(), machine, timings=timings), as_json)


@app.command()
def epoch(tasks: Tasks = REAL_TASKS, repetitions: Repetitions = 5, as_json: AsJson = False) -> None:
    """A training epoch (step and evaluation), compared with the same network built differently and with a GCN.

    Example: [bold]s2gnn bench epoch --tasks cancer-b,har[/bold]
    """
    chosen = _chosen(tasks, SIZES, "task")
    machine = measure_machine()
    timings = []
    for name in chosen:
        timings.append(time_epoch(workload(name), repetitions))
        _say(f"{timings[-1].workload}: {timings[-1].ways['ours']}")
    _publish(make_record(_command(), machine, timings=timings), as_json)


@app.command()
def baselines(
    models: Annotated[str, typer.Option(help="Baselines, separated by commas.")] = ",".join(BASELINES),
    tasks: Tasks = "cancer-b",
    heads: Annotated[int, typer.Option(min=1, help="Number of attention heads.")] = 3,
    repetitions: Repetitions = 5,
    as_json: AsJson = False,
) -> None:
    """A training epoch of each baseline that PyTorch Geometric also has, ours and PyG's.

    Example: [bold]s2gnn bench baselines --models gcn,gat --heads 1[/bold]
    """
    networks, chosen = _chosen(models, BASELINES, "baseline"), _chosen(tasks, SIZES, "task")
    machine = measure_machine()
    timings = []
    for task in map(workload, chosen):
        for model in networks:
            timings.append(time_baseline(task, model, heads, repetitions))
            _say(f"{model} on {task.name}: {timings[-1].ways['ours']}, PyG's {timings[-1].ways['pyg']}")
    _publish(make_record(_command(), machine, timings=timings), as_json)


@app.command()
def memory(
    graphs: Graphs = ALL_GRAPHS,
    alpha: Annotated[int, typer.Option(min=1, help="Measure α = 1 up to this.")] = 8,
    as_json: AsJson = False,
) -> None:
    """The memory of the operator for increasing α, compared with its bound, α sparse matrices and α edge lists.

    Example: [bold]s2gnn bench memory --graphs cancer-b --alpha 4[/bold]
    """
    uses = []
    for name in _chosen(graphs, SIZES, "graph"):
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
    cache folder (S2GNN_CACHE). A network that needs more memory than is available is skipped.

    Example: [bold]s2gnn bench scale --parts training[/bold]
    """
    chosen, networks = _chosen(parts, PARTS, "part"), _chosen(ways, WAYS, "way")
    machine = measure_machine()
    grid, timings, runs, task = [], [], [], LargeTask()
    if "grid" in chosen:
        for timing in time_grid(speed.NODES, speed.PROBABILITIES, repetitions):
            grid.append(timing)
            _say(f"{timing.graph}: {timing.ways['ours']}")
    if "epoch" in chosen:
        timings.append(time_epoch(workload("random-132000"), repetitions))
    if "training" in chosen:
        for way in networks:
            runs.append(train_large(task, way, epochs))
            _say(f"{way}: {runs[-1].not_run or f'{runs[-1].stages[-1].seconds:.1f} s per epoch'}")
    _publish(make_record(_command(), machine, grid=grid, epochs=timings, training=runs, task=[task]), as_json)


@app.command()
def cost(
    edges: Annotated[int, typer.Option(min=1, help="Undirected edges of the graph.")] = WIDE.edges,
    nodes: Annotated[int | None, typer.Option(min=1, help="Nodes; default: a twentieth of the edges.")] = None,
    features: Annotated[int, typer.Option(min=1, help="Features per node.")] = WIDE.features,
    hidden: Annotated[int, typer.Option(min=1, help="Width between layers.")] = WIDE.hidden,
    classes: Annotated[int, typer.Option(min=1, help="Outputs of the network.")] = WIDE.labels,
    layers: Annotated[int, typer.Option(min=1, help="Number of layers.")] = WIDE.layers,
    alpha: Annotated[int, typer.Option(min=1, help="Highest Hadamard power.")] = WIDE.alpha,
    train: Annotated[bool, typer.Option("--train", help="Also train on a random graph of that size, here.")] = False,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of that training.")] = 2,
    results: Annotated[Path, typer.Option(help="Folder of the records that the seconds are fitted to.")] = Path(
        "results"
    ),
    as_json: AsJson = False,
) -> None:
    """What full-batch training needs on a graph of your size: bytes by formula, seconds by the rates of stored records.

    The seconds are those of the machine of the records. --train measures both here, if they fit into memory.

    Example: [bold]s2gnn bench cost --edges 100000000 --nodes 5000000 --features 100 --hidden 64 --alpha 4[/bold]
    """
    task = LargeTask(nodes or max(edges // EDGES_PER_NODE, 1), edges, features, classes, hidden, layers, alpha)
    most = task.nodes * (task.nodes - 1) // 2
    if edges > most:
        raise InputError(f"{task.nodes:,} nodes have at most {most:,} edges, not {edges:,}")
    estimate: EpochEstimate | None = None
    try:
        estimate = CostModel(results).epoch(task)
    except InputError as error:
        _say(f"no seconds by the model: {error}")
    machine = measure_machine() if train else None
    run = train_large(task, "ours", epochs) if train else None
    if not as_json:
        print(as_text(task_table(task, estimate, run)), end="")
        return
    measurements: dict[str, list[Any]] = {
        "task": [task],
        "bytes": [training_bytes(task.size, task.widths)],
        "epoch": [estimate] if estimate else [],
        "training": [run] if run else [],
    }
    allocator = {name: value for name, value in os.environ.items() if name.startswith("MALLOC_")}
    _publish({**make_record(_command(), machine, **measurements), "environment": allocator}, as_json)


def _chosen(given: str, choices: Iterable[str], what: str) -> list[str]:
    wanted = names(given)
    unknown = [name for name in wanted if name not in choices]
    if unknown:
        raise InputError(f"there is no {what} {unknown[0]!r}: choose from {', '.join(choices)}")
    return wanted


def _numbers(given: str, what: str) -> tuple[int, ...]:
    numbers = names(given)
    unusable = [number for number in numbers if not number.isdecimal() or int(number) < 1]
    if unusable:
        raise InputError(f"--{what} has {unusable[0]!r}, but expects integers of at least 1, such as 64,16")
    return tuple(int(number) for number in numbers)


def _command() -> str:
    """The command line that is running, without --json."""
    return "s2gnn " + shlex.join(argument for argument in sys.argv[1:] if argument != "--json")


def _publish(record: dict[str, Any], as_json: bool) -> None:
    """Print the record as JSON, or its tables."""
    print(json.dumps(record, indent=2) if as_json else "\n".join(map(as_text, tables(record))))


def _say(text: str) -> None:
    typer.echo(text, err=True)
