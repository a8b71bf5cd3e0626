"""The record of a benchmark, and the tables that show it on the terminal and in the documentation."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from s2gnn import provenance
from s2gnn.bench.cost import ALLOWANCE, GIB, dense_flops
from s2gnn.bench.tasks import LargeTask
from s2gnn.bench.timing import Machine
from s2gnn.errors import InputError
from s2gnn.operators import kernel
from s2gnn.render import Block, Cell, Table, as_markdown

MIB = 2**20
NAMES = {
    "ours": "ours",
    "one_csr": "one CSR",
    "csr": "α CSR matrices",
    "torch_sparse": "torch_sparse",
    "gcnconv": "GCNConv per branch",
    "gcn": "PyG's GCN, one branch",
}
Record = Mapping[str, Any]


def make_record(command: str, machine: Machine | None = None, **measurements: Iterable[Any]) -> dict[str, Any]:
    """The JSON record of a benchmark: lists of dataclasses by name, and the command and versions that made them."""
    return {
        "command": command,
        "commit": provenance.commit(),
        "versions": provenance.versions(),
        "kernel": kernel.chosen(),
        "threads": torch.get_num_threads(),
        **({"machine": asdict(machine)} if machine else {}),
        **{name: [asdict(item) for item in items] for name, items in measurements.items()},
    }


def render_benchmark(path: Path) -> str:
    """The tables of a stored record and the command that made them, as Markdown."""
    command = _command_for(path)
    if not path.is_file():
        return f"No record yet: run `{command}`.\n"
    record = read_record(path)
    try:
        found = tables(record)
    except KeyError as error:
        return f"The record lacks {error}, it was made by an older version: run `{command}`.\n"
    made = f"`{record['command']}` at commit {record['commit']}, torch {record['versions']['torch']}.\n"
    return "\n".join([*map(titled_markdown, found), made])


def read_record(path: Path) -> dict[str, Any]:
    """A stored record."""
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"there is no record {path}: create it with {_command_for(path)}") from error
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}): recreate it with {_command_for(path)}") from error
    return record


def _command_for(path: Path) -> str:
    return f"s2gnn bench {path.stem.split('-')[1]} --json > results/{path.name}"


def titled_markdown(table: Table) -> str:
    """The table below its title."""
    return f"**{table.title}**\n\n{as_markdown(table)}"


def table_of(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table of one block."""
    return Table(title, tuple(header), (Block("", tuple(tuple(map(Cell, row)) for row in rows)),))


def _table(title: str, items: Iterable[Record], columns: Mapping[str, Callable[[Record], str]]) -> Table:
    """A row for every item, a column for every function."""
    return table_of(title, tuple(columns), [[column(item) for column in columns.values()] for item in items])


def tables(record: Record) -> list[Table]:
    """The tables of a record, by the benchmark in its command."""
    benchmark = record["command"].split()[2]
    if benchmark == "graphs":
        return [_graph_table(record["timings"])]
    if benchmark == "memory":
        return _memory_tables(record["memory"])
    machine = record["machine"]
    found = [_machine_table(record)]
    if benchmark == "operator":
        found.append(_propagation_table("Forward propagation", record["timings"], machine["bandwidth"]))
    elif benchmark == "epoch":
        found.append(_epoch_table(record["timings"], machine["gemm"]))
    elif benchmark == "baselines":
        names = dict.fromkeys(timing["workload"] for timing in record["timings"])
        found += [_baseline_table([t for t in record["timings"] if t["workload"] == name]) for name in names]
    elif benchmark == "scale":
        title = "Erdős–Rényi grid, forward propagation"
        found += [_propagation_table(title, record["grid"], machine["bandwidth"])] if record["grid"] else []
        found += [_epoch_table(record["epochs"], machine["gemm"])] if record["epochs"] else []
        if record["training"]:
            found.append(_training_table(record["training"], LargeTask(**record["task"][0]), machine["gemm"]))
    return found


def _machine_table(record: Record) -> Table:
    machine = record["machine"]
    rows = [
        ("memory bandwidth", f"{machine['bandwidth'] / 1e9:.1f} GB/s"),
        ("float32 matrix product", f"{machine['gemm'] / 1e9:.0f} GFLOP/s"),
        ("kernel, threads", f"{record['kernel']}, {record['threads']}"),
    ]
    return table_of("This machine, in the same run", ("", "measured"), rows)


def _propagation_table(what: str, timings: Sequence[Record], bandwidth: float) -> Table:
    """Ours in milliseconds and relative to one product, the others relative to ours, and the share of the bandwidth."""

    def share(moved: str) -> Callable[[Record], str]:
        return lambda t: f"{1e5 * t[moved] / t['ways']['ours']['milliseconds'] / bandwidth:.0f} %"

    columns = {
        "graph": lambda t: t["graph"],
        "nonzeros": lambda t: f"{t['nonzeros']:,}",
        "F": lambda t: str(t["width"]),
        "ours (ms)": lambda t: _milliseconds(t["ways"]["ours"]),
        "ours ÷ one CSR": lambda t: _ratio(t["ways"]["ours"], t["ways"]["one_csr"], digits=2),
        **_relative_to_ours("csr", "torch_sparse", "gcnconv"),
        "minimum MiB": lambda t: f"{t['streamed_bytes'] / MIB:.0f}",
        "of the bandwidth": share("streamed_bytes"),
        "with gathers": share("gathered_bytes"),
    }
    alphas = "/".join(sorted({str(t["alpha"]) for t in timings}))
    return _table(f"{what}, α = {alphas}", timings, columns)


def _epoch_table(timings: Sequence[Record], gemm: float) -> Table:
    """Ours in milliseconds, the others relative to ours, and the time of the dense products alone."""

    def minimum(t: Record) -> str:
        dense = {"milliseconds": 1e3 * t["flops"] / gemm}
        return f"{_milliseconds(dense)} ({100 * dense['milliseconds'] / t['ways']['ours']['milliseconds']:.0f} %)"

    columns = {
        "task": lambda t: t["workload"],
        "nonzeros": lambda t: f"{t['nonzeros']:,}",
        "ours (ms)": lambda t: _milliseconds(t["ways"]["ours"]),
        **_relative_to_ours("gcnconv", "csr", "torch_sparse", "gcn"),
        "dense GFLOP": lambda t: f"{t['flops'] / 1e9:.2f}",
        "their minimum (ms)": minimum,
    }
    return _table("One epoch (step and evaluation)", timings, columns)


def _baseline_table(timings: Sequence[Record]) -> Table:
    """Ours and PyG's network of every baseline on one task, in milliseconds, and PyG's relative to ours."""
    columns = {
        "model": lambda t: t["model"],
        "ours (ms)": lambda t: _milliseconds(t["ways"]["ours"]),
        "PyG (ms)": lambda t: _milliseconds(t["ways"]["pyg"]),
        "PyG ÷ ours": lambda t: (
            "–" if any(way["not_run"] for way in t["ways"].values()) else _ratio(t["ways"]["pyg"], t["ways"]["ours"])
        ),
    }
    first = timings[0]
    layers = " → ".join(map(str, first["widths"]))
    task = f"{first['workload']}: {first['nonzeros']:,} nonzeros, layers {layers}, heads: {first['heads']}"
    return _table(f"One epoch (step and evaluation) on {task}", timings, columns)


def _memory_tables(uses: Sequence[Record]) -> list[Table]:
    def mebibytes(part: str) -> Callable[[Record], str]:
        return lambda use: f"{use[part] / MIB:.1f}"

    alphas = sorted({use["alpha"] for use in uses})
    columns = {
        "graph": lambda use: use["workload"],
        "nodes": lambda use: f"{use['nodes']:,}",
        "stored nonzeros": lambda use: f"{use['directions']:,}",
        "operator": mebibytes("operator"),
        "bound": mebibytes("bound"),
        "resident growth": mebibytes("resident"),
        "the caller's graph": mebibytes("graph"),
        "α CSR matrices": mebibytes("csr"),
        "one edge list, α weights": mebibytes("edge_list"),
        "α edge lists": mebibytes("edge_lists"),
    }
    largest = [use for use in uses if use["alpha"] == alphas[-1]]
    ratios = {(use["workload"], use["alpha"]): f"{ALLOWANCE * use['operator'] / use['bound']:.3f}" for use in uses}
    names = dict.fromkeys(use["workload"] for use in uses)
    return [
        _table(f"Memory at α = {alphas[-1]}, MiB", largest, columns),
        table_of(
            f"Operator ÷ (8 bytes per nonzero + 4 α bytes per node), the bound is {ALLOWANCE}",
            ("graph", *(f"α = {alpha}" for alpha in alphas)),
            [(name, *(ratios.get((name, alpha), "–") for alpha in alphas)) for name in names],
        ),
    ]


def _training_table(runs: Sequence[Record], task: LargeTask, gemm: float) -> Table:
    rows: list[tuple[str, ...]] = []
    for run in runs:
        if not run["stages"]:
            rows.append((NAMES[run["way"]], *("–",) * 6, _refusal(run)))
            continue
        stages = {stage["name"]: stage for stage in run["stages"]}
        epoch = min(stage["seconds"] for name, stage in stages.items() if name.startswith("epoch"))
        built = (f"{stages[name]['seconds']:.1f}" for name in ("graph", "operator"))
        peaks = (f"{stages[name]['peak'] / GIB:.2f}" for name in ("graph", "operator"))
        peak = max(stage["peak"] for stage in run["stages"]) / GIB
        floor = dense_flops(task.nodes, task.alpha, task.widths) / gemm
        minimum = f"{floor:.1f}" if run["way"] == "ours" else "–"
        rows.append((NAMES[run["way"]], *built, *peaks, f"{epoch:.1f}", minimum, f"{peak:.2f} GiB"))
    title = (
        f"Full-batch training: {task.nodes:,} nodes, {task.edges:,} edges, {task.features} features, "
        f"{task.layers} layers of {task.hidden}, α = {task.alpha}, {task.labels} labels"
    )
    header = ("network", "graph (s)", "operator (s)", "peak, graph (GiB)", "peak, operator (GiB)")
    return table_of(title, (*header, "epoch (s)", "dense minimum (s)", "peak memory"), rows)


def _graph_table(timings: Sequence[Record]) -> Table:
    columns = {
        "graph": lambda t: t["what"],
        "points": lambda t: f"{t['points']:,}",
        "seconds": lambda t: f"{t['seconds']:.1f}",
        "µs per point": lambda t: f"{1e6 * t['seconds'] / t['points']:.0f}",
        "peak MiB": lambda t: f"{t['peak_mib']:,.0f}",
        "edges": lambda t: f"{t['edges']:,}",
        "": lambda t: t["note"],
    }
    return _table("Building graphs (k = 30, 64 features; diffusion: Pubmed, teleport 0.05, top 128)", timings, columns)


def _relative_to_ours(*ways: str) -> dict[str, Callable[[Record], str]]:
    def column(way: str) -> Callable[[Record], str]:
        return lambda t: _ratio(t["ways"][way], t["ways"]["ours"])

    return {f"{NAMES[way]} ÷ ours": column(way) for way in ways}


def _ratio(outcome: Record, other: Record, digits: int = 1) -> str:
    """The ratio of two times, or why one was not run."""
    for one in (outcome, other):
        if one["not_run"]:
            return _refusal(one)
    return f"{outcome['milliseconds'] / other['milliseconds']:.{digits}f}"


def _milliseconds(outcome: Record) -> str:
    value = outcome["milliseconds"]
    return _refusal(outcome) if value is None else f"{value:.1f}" if value >= 1 else f"{value:.3f}"


def _refusal(outcome: Record) -> str:
    if outcome["not_run"] == "memory":
        return f"not run: needs {outcome['needs'] / GIB:.1f} GiB"
    return str(outcome["not_run"])
