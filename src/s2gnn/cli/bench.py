"""`s2gnn bench`: measure the time and memory of S2-GNN and its alternatives on this machine."""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import torch
import typer

from s2gnn import provenance
from s2gnn.bench import benchmarks
from s2gnn.bench.cost import training_bytes
from s2gnn.bench.cost_model import EDGES_PER_NODE, WIDE, CostModel, task_table
from s2gnn.bench.fitting import SIZES, time_fits
from s2gnn.bench.gpu_model import calculated_rows
from s2gnn.bench.labelling import SIZES as ROUND_SIZES
from s2gnn.bench.labelling import time_rounds
from s2gnn.bench.layers import time_layers
from s2gnn.bench.networks import BASELINES, NETWORKS
from s2gnn.bench.record import Row, keep_record, make_record
from s2gnn.bench.report import outcome_text, tables
from s2gnn.bench.tasks import REAL, TASKS, Task, workload
from s2gnn.bench.timing import measure_machine
from s2gnn.cli.memory import size_text
from s2gnn.cli.options import integer
from s2gnn.cli.output import AsJson, command_line, names, print_facts
from s2gnn.devices import checked_device
from s2gnn.errors import InputError, unknown_name
from s2gnn.operators import kernel
from s2gnn.ranges import COUNT, DEPTH, DRAWS, SIZE, WIDTH, Range
from s2gnn.render import as_text
from s2gnn.resources import available_bytes

PARTS = ("grid", "epoch", "orders", "training")
ALL_GRAPHS, REAL_TASKS = ",".join(TASKS), ",".join(REAL)

Graphs = Annotated[str, typer.Option(help="Graphs, separated by commas.")]
Tasks = Annotated[str, typer.Option(help="Tasks, separated by commas.")]
Record = Annotated[
    Path | None,
    typer.Option(
        "--record", help="Folder to store the record in; replaces the previous record of this benchmark and processor."
    ),
]
Repetitions = Annotated[int, integer(DRAWS, help="Number of timing rounds; the fastest run is reported.")]

app = typer.Typer(help="Measure time and memory on this machine.", no_args_is_help=True)


@app.command()
def graphs(
    points: Annotated[
        int, integer(Range(benchmarks.POINTS[0], 10**8), help="Maximum number of points.")
    ] = benchmarks.POINTS[-1],
    as_json: AsJson = False,
    record: Record = None,
) -> None:
    """Measure building k-NN and learned graphs for a growing number of points, and diffusing Pubmed.

    Takes about three minutes on 2 cores for 100,000 points. Pubmed is measured if it is in the folder S2GNN_DATA
    or in the cache; the paper's Table I has 1,723,360 edges for its diffusion.

    Example: [bold]s2gnn bench graphs --points 50000[/bold]
    """
    _run(as_json, record, None, timings=benchmarks.time_graphs(points))


@app.command()
def fit(
    rows: Annotated[int, integer(Range(SIZES[0][0], 10**7), help="Maximum number of rows.")] = 100_000,
    as_json: AsJson = False,
    record: Record = None,
) -> None:
    """Fit S2GNNClassifier on tables of growing size: time and memory, compared with the estimates of s2gnn fit.

    Takes about two minutes on 2 cores for 100,000 rows.

    Example: [bold]s2gnn bench fit --rows 20000[/bold]
    """
    _run(as_json, record, None, timings=time_fits(rows))


@app.command()
def label(
    rows: Annotated[int, integer(Range(ROUND_SIZES[0][0], 10**7), help="Maximum number of rows.")] = 2_000,
    as_json: AsJson = False,
    record: Record = None,
) -> None:
    """Time a round of s2gnn label, from an answer to new suggestions, and the page's requests meanwhile.

    Example: [bold]s2gnn bench label --rows 20000[/bold]
    """
    _run(as_json, record, None, timings=time_rounds(rows))


@app.command()
def info(as_json: AsJson = False) -> None:
    """Show the kernel in use, the number of threads, the memory bandwidth and the speed of dense products.

    Example: [bold]s2gnn bench info[/bold]
    """
    machine, memory = measure_machine(), available_bytes()
    facts = {
        "cpu": provenance.cpu(),
        "kernel": kernel.chosen(),
        "available": kernel.available(),
        "threads": torch.get_num_threads(),
        "available_bytes": memory,
        **machine,
        "commit": provenance.commit(),
        **provenance.versions(),
    }
    if as_json:
        print(json.dumps(facts, indent=2))
        return
    print_facts(
        {
            "processor": provenance.cpu(),
            "kernel": f"{kernel.chosen()} (available: {', '.join(kernel.available())})",
            "threads": str(torch.get_num_threads()),
            "available memory": size_text(memory),
            "memory bandwidth": f"{machine['bandwidth'] / 1e9:.1f} GB/s",
            "dense product": f"{machine['gemm'] / 1e9:.0f} GFLOP/s",
            "commit": provenance.commit(),
            **provenance.versions(),
        }
    )


@app.command()
def operator(
    graphs: Graphs = ALL_GRAPHS,
    widths: Annotated[str, typer.Option(help="Widths F of the signal, separated by commas.")] = "64,16",
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, or auto.")] = "cpu",
    repetitions: Repetitions = 5,
    as_json: AsJson = False,
    record: Record = None,
) -> None:
    """Time propagation with six branches, compared with one and with six sparse products and the memory bandwidth.

    Example: [bold]s2gnn bench operator --graphs er-10000,random-132000[/bold]
    """
    chosen, numbers = _chosen(graphs, TASKS, "graph"), _numbers(widths, "widths")
    place = checked_device(device)
    named = ((work.name, work.graph) for work in map(workload, chosen))
    timings = benchmarks.time_operator(named, numbers, repetitions, place)
    _run(as_json, record, measure_machine(device=place), place, timings=timings)


@app.command()
def epoch(
    tasks: Tasks = REAL_TASKS, repetitions: Repetitions = 5, as_json: AsJson = False, record: Record = None
) -> None:
    """Time a training epoch (step and evaluation), compared with other implementations and with a GCN.

    Example: [bold]s2gnn bench epoch --tasks cancer-b,har[/bold]
    """
    chosen = _chosen(tasks, TASKS, "task")
    _run(as_json, record, measure_machine(), timings=benchmarks.time_epoch(map(workload, chosen), repetitions))


@app.command()
def baselines(
    models: Annotated[str, typer.Option(help="Baselines, separated by commas.")] = ",".join(BASELINES),
    tasks: Tasks = "cancer-b",
    heads: Annotated[int, integer(DEPTH, help="Number of attention heads.")] = 3,
    repetitions: Repetitions = 5,
    as_json: AsJson = False,
    record: Record = None,
) -> None:
    """Time a training epoch of each baseline that PyTorch Geometric also has, ours and PyG's.

    Example: [bold]s2gnn bench baselines --models gcn,gat --heads 1[/bold]
    """
    networks, works = _chosen(models, BASELINES, "baseline"), map(workload, _chosen(tasks, TASKS, "task"))
    _run(as_json, record, measure_machine(), timings=benchmarks.time_baselines(works, networks, heads, repetitions))


@app.command()
def layers(
    task: Annotated[str, typer.Option(help="Graph of the attention layers.")] = "cancer-b",
    repetitions: Repetitions = 5,
    as_json: AsJson = False,
    record: Record = None,
) -> None:
    """Time a forward and backward pass of single layers and of a small batch, compared with PyG's layers.

    Example: [bold]s2gnn bench layers[/bold]
    """
    chosen = _chosen(task, TASKS, "task")
    if len(chosen) != 1:
        raise InputError(f"--task has {len(chosen)} tasks, {task!r}, but expects one, such as cancer-b")
    _run(as_json, record, measure_machine(), timings=time_layers(workload(chosen[0]), repetitions))


@app.command()
def memory(
    graphs: Graphs = ALL_GRAPHS,
    alpha: Annotated[int, integer(DEPTH, help="Largest α.")] = 8,
    as_json: AsJson = False,
    record: Record = None,
) -> None:
    """Measure the operator's memory for α = 1, 2, …, compared with its bound, α sparse matrices and α edge lists.

    Example: [bold]s2gnn bench memory --graphs cancer-b --alpha 4[/bold]
    """
    _run(as_json, record, None, memory=benchmarks.measure_memory(_chosen(graphs, TASKS, "graph"), range(1, alpha + 1)))


@app.command()
def gpu(
    targets: Annotated[
        str, typer.Option(help="Architectures, separated by commas: sm_80 (A100), sm_90 (H100), gfx942 (MI300).")
    ] = "sm_80,sm_90,gfx942",
    as_json: AsJson = False,
    record: Record = None,
) -> None:
    """Compile the GPU kernels and report the registers and spills of every variant; needs Triton, but no GPU.

    Also calculates the time of a propagation from the bytes it moves and the published bandwidth of two GPUs.

    Example: [bold]s2gnn bench gpu --targets sm_90[/bold]
    """
    if find_spec("triton") is None:
        raise InputError("the GPU kernels need Triton, which is not installed: pip install 's2gnn[gpu]'")
    from s2gnn.bench.compiled import TARGETS, compile_kernels

    kernels = compile_kernels(_chosen(targets, TARGETS, "target"))
    _run(as_json, record, None, kernels=kernels, calculated=calculated_rows())


@app.command()
def scale(
    parts: Annotated[
        str, typer.Option(help="Parts to run (grid, epoch, orders, training), separated by commas.")
    ] = ",".join(PARTS),
    repetitions: Repetitions = 3,
    epochs: Annotated[int, integer(COUNT, help="Number of epochs of the training.")] = 2,
    ways: Annotated[str, typer.Option(help="Networks to train, separated by commas.")] = ",".join(NETWORKS),
    as_json: AsJson = False,
    record: Record = None,
) -> None:
    """Measure large graphs: the paper's Erdős–Rényi grid, 132,000 nodes, and training at the size of ogbn-proteins.

    The last one has 132,534 nodes and 39.6 million edges; its graph is built in the first run and takes 0.6 GiB of the
    cache (S2GNN_CACHE). A network that needs more memory than is available is skipped.

    Example: [bold]s2gnn bench scale --parts training[/bold]
    """
    chosen, networks, task = _chosen(parts, PARTS, "part"), _chosen(ways, NETWORKS, "way"), Task()
    _run(
        as_json,
        record,
        measure_machine(),
        grid=benchmarks.time_operator(benchmarks.grid(), [16], repetitions) if "grid" in chosen else [],
        epochs=benchmarks.time_epoch(map(workload, ["random-132000"]), repetitions) if "epoch" in chosen else [],
        orders=benchmarks.time_orders(benchmarks.unordered(), 64, repetitions) if "orders" in chosen else [],
        training=benchmarks.train_large(task, networks, epochs) if "training" in chosen else [],
        task=[asdict(task)],
    )


@app.command()
def cost(
    edges: Annotated[int, integer(SIZE, help="Number of undirected edges.")] = WIDE.edges,
    nodes: Annotated[int | None, integer(SIZE, help="Number of nodes; default: a twentieth of the edges.")] = None,
    features: Annotated[int, integer(WIDTH, help="Number of features per node.")] = WIDE.features,
    hidden: Annotated[int, integer(WIDTH, help="Width of the hidden layers.")] = WIDE.hidden,
    classes: Annotated[int, integer(WIDTH, help="Number of outputs.")] = WIDE.labels,
    layers: Annotated[int, integer(DEPTH, help="Number of layers.")] = WIDE.layers,
    alpha: Annotated[int, integer(DEPTH, help="Highest Hadamard power.")] = WIDE.alpha,
    train: Annotated[bool, typer.Option("--train", help="Also train on a random graph of that size.")] = False,
    epochs: Annotated[int, integer(COUNT, help="Number of epochs of that training.")] = 2,
    results: Annotated[Path, typer.Option(help="Folder of the records that the time is predicted from.")] = Path(
        "results"
    ),
    as_json: AsJson = False,
    record: Record = None,
) -> None:
    """Estimate the memory and time of full-batch training on a graph of your size.

    Memory is computed by a formula; time is predicted from stored records, for the machine they were made on. --train
    measures both on this machine, if it has enough memory.

    Example: [bold]s2gnn bench cost --edges 100000000 --nodes 5000000 --features 100 --hidden 64 --alpha 4[/bold]
    """
    task = Task(nodes or max(edges // EDGES_PER_NODE, 1), edges, features, classes, hidden, layers, alpha)
    most = task.nodes * (task.nodes - 1) // 2
    if edges > most:
        raise InputError(f"{task.nodes:,} nodes have at most {most:,} edges, not {edges:,}: give more with --nodes")
    if record is not None and not train:
        raise InputError("an estimate is not recorded: add --train to measure")
    _check_folder(record)
    estimate = None
    try:
        estimate = CostModel(results).epoch(task)
    except InputError as error:
        typer.echo(f"time cannot be predicted: {error}", err=True)
    machine = measure_machine() if train else None
    runs = list(benchmarks.train_large(task, ["ours"], epochs)) if train else []
    needs, epoch = [asdict(training_bytes(task))], [asdict(estimate)] if estimate else []
    measured = make_record(_command(), machine, task=[asdict(task)], bytes=needs, epoch=epoch, training=runs)
    if record is not None:
        keep_record(measured, record)
    print(json.dumps(measured, indent=2) + "\n" if as_json else as_text(task_table(task, estimate, *runs)), end="")


def _chosen(given: str, choices: Iterable[str], what: str) -> list[str]:
    wanted = names(given)
    unknown = [name for name in wanted if name not in choices]
    if unknown:
        raise unknown_name(f"there is no {what}", unknown[0], choices)
    return wanted


def _numbers(given: str, what: str) -> tuple[int, ...]:
    numbers = names(given)
    unusable = [number for number in numbers if not number.isdecimal() or len(number) > len(str(WIDTH.high))]
    if unusable:
        raise InputError(f"--{what} has {unusable[0]!r}, but expects integers of at least 1, such as 64,16")
    return tuple(WIDTH.checked(int(number), f"--{what}") for number in numbers)


def _command() -> str:
    return re.sub(r" --json| --record[ =]('[^']*'|\S+)", "", command_line())


def _run(
    as_json: bool,
    folder: Path | None,
    machine: dict[str, float] | None,
    device: torch.device | None = None,
    **parts: Iterable[Row],
) -> None:
    """Run the measurements, report each on standard error, and print the record as JSON or tables."""
    _check_folder(folder)
    record = make_record(_command(), machine, device, **{part: map(_reported, rows) for part, rows in parts.items()})
    if folder is not None:
        keep_record(record, folder)
    print(json.dumps(record, indent=2) if as_json else "\n".join(map(as_text, tables(record))))


def _check_folder(folder: Path | None) -> None:
    """Raise before the measurements if their record cannot be stored."""
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"--record {folder} is not a folder and cannot become one: {error.strerror}") from error


def _reported(row: Row) -> Row:
    subject = [value for value in row.values() if isinstance(value, str)]
    if subject:
        subject += [f"{name} {row[name]:,}" for name in ("points", "width", "alpha") if name in row]
        times = (f"{way} {outcome_text(outcome)}" for way, outcome in row.get("ways", {}).items())
        typer.echo(f"{', '.join(subject)}: {', '.join(times) or 'done'}", err=True)
    return row
