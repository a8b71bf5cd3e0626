"""The record of a benchmark, and the tables that show it on the terminal and in the documentation."""

import json
from collections.abc import Iterable, Mapping, Sequence
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
    command = f"s2gnn bench {path.stem.removeprefix('bench-')} --json > results/{path.name}"
    if not path.is_file():
        return f"No record yet: run `{command}`.\n"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        found = tables(record)
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} is damaged ({error}): recreate it with {command}") from error
    except KeyError as error:
        return f"The record lacks {error}, it was made by an older version: run `{command}`.\n"
    made = f"`{record['command']}` at commit {record['commit']}, torch {record['versions']['torch']}.\n"
    return "\n".join([*map(titled_markdown, found), made])


def titled_markdown(table: Table) -> str:
    """The table below its title."""
    return f"**{table.title}**\n\n{as_markdown(table)}"


def table_of(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table of one block."""
    return Table(title, tuple(header), (Block("", tuple(tuple(map(Cell, row)) for row in rows)),))


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
        found.append(_propagation_table(record["timings"], machine, "Forward propagation"))
    elif benchmark == "epoch":
        found.append(_epoch_table(record["timings"], machine))
    elif benchmark == "baselines":
        names = dict.fromkeys(timing["workload"] for timing in record["timings"])
        found += [_baseline_table([t for t in record["timings"] if t["workload"] == name]) for name in names]
    elif benchmark == "scale":
        if record["grid"]:
            found.append(_propagation_table(record["grid"], machine, "Erdős–Rényi grid, forward propagation"))
        if record["epochs"]:
            found.append(_epoch_table(record["epochs"], machine))
        if record["training"]:
            found.append(_training_table(record["training"], LargeTask(**record["task"][0]), machine))
    return found


def _machine_table(record: Record) -> Table:
    machine = record["machine"]
    rows = [
        ("memory bandwidth", f"{machine['bandwidth'] / 1e9:.1f} GB/s"),
        ("float32 matrix product", f"{machine['gemm'] / 1e9:.0f} GFLOP/s"),
        ("kernel, threads", f"{record['kernel']}, {record['threads']}"),
    ]
    return table_of("This machine, in the same run", ("", "measured"), rows)


def _propagation_table(timings: Sequence[Record], machine: Record, what: str) -> Table:
    """Ours in milliseconds and relative to one product, the others relative to ours, and the share of the bandwidth."""
    others = ("csr", "torch_sparse", "gcnconv")
    rows = []
    for t in timings:
        ours = t["ways"]["ours"]["milliseconds"]
        one = t["ways"]["one_csr"]
        shares = (1e3 * t[moved] / ours / machine["bandwidth"] for moved in ("streamed_bytes", "gathered_bytes"))
        rows.append(
            (
                t["graph"],
                f"{t['nonzeros']:,}",
                str(t["width"]),
                _milliseconds(ours),
                f"{ours / one['milliseconds']:.2f}" if one["milliseconds"] else _refusal(one),
                *(_ratio(t["ways"][other], ours) for other in others),
                f"{t['streamed_bytes'] / MIB:.0f}",
                *(f"{100 * share:.0f} %" for share in shares),
            )
        )
    alphas = "/".join(sorted({str(t["alpha"]) for t in timings}))
    ratios = (f"{NAMES[other]} ÷ ours" for other in others)
    header = ("graph", "nonzeros", "F", "ours (ms)", "ours ÷ one CSR", *ratios, "minimum MiB")
    return table_of(f"{what}, α = {alphas}", (*header, "of the bandwidth", "with gathers"), rows)


def _epoch_table(timings: Sequence[Record], machine: Record) -> Table:
    """Ours in milliseconds, the others relative to ours, and the time of the dense products alone."""
    others = ("gcnconv", "csr", "torch_sparse", "gcn")
    rows = []
    for t in timings:
        ours = t["ways"]["ours"]["milliseconds"]
        floor = 1e3 * t["flops"] / machine["gemm"]
        rows.append(
            (
                t["workload"],
                f"{t['nonzeros']:,}",
                _milliseconds(ours),
                *(_ratio(t["ways"][other], ours) for other in others),
                f"{t['flops'] / 1e9:.2f}",
                f"{_milliseconds(floor)} ({100 * floor / ours:.0f} %)",
            )
        )
    header = ("task", "nonzeros", "ours (ms)", *(f"{NAMES[other]} ÷ ours" for other in others))
    return table_of("One epoch (step and evaluation)", (*header, "dense GFLOP", "their minimum (ms)"), rows)


def _baseline_table(timings: Sequence[Record]) -> Table:
    """Ours and PyG's network of every baseline on one task, in milliseconds, and PyG's relative to ours."""
    rows = []
    for t in timings:
        ours, pyg = t["ways"]["ours"], t["ways"]["pyg"]
        ratio = f"{pyg['milliseconds'] / ours['milliseconds']:.1f}" if _all_run(ours, pyg) else "–"
        rows.append(
            (
                t["model"],
                *(_milliseconds(w["milliseconds"]) if _all_run(w) else _refusal(w) for w in (ours, pyg)),
                ratio,
            )
        )
    first = timings[0]
    title = (
        f"One epoch (step and evaluation) on {first['workload']}: {first['nonzeros']:,} nonzeros, layers "
        f"{' → '.join(map(str, first['widths']))}, heads: {first['heads']}"
    )
    return table_of(title, ("model", "ours (ms)", "PyG (ms)", "PyG ÷ ours"), rows)


def _memory_tables(uses: Sequence[Record]) -> list[Table]:
    alphas = sorted({use["alpha"] for use in uses})
    parts = ("operator", "bound", "resident", "graph", "csr", "edge_list", "edge_lists")
    largest = [
        (use["workload"], f"{use['nodes']:,}", f"{use['directions']:,}", *(f"{use[part] / MIB:.1f}" for part in parts))
        for use in uses
        if use["alpha"] == alphas[-1]
    ]
    header = (
        "graph", "nodes", "stored nonzeros", "operator", "bound", "resident growth", "the caller's graph",
        "α CSR matrices", "one edge list, α weights", "α edge lists",
    )  # fmt: skip
    ratios = {(use["workload"], use["alpha"]): f"{ALLOWANCE * use['operator'] / use['bound']:.3f}" for use in uses}
    growth = [
        (name, *(ratios.get((name, alpha), "–") for alpha in alphas))
        for name in dict.fromkeys(use["workload"] for use in uses)
    ]
    title = f"Operator ÷ (8 bytes per nonzero + 4 α bytes per node), the bound is {ALLOWANCE}"
    return [
        table_of(f"Memory at α = {alphas[-1]}, MiB", header, largest),
        table_of(title, ("graph", *(f"α = {alpha}" for alpha in alphas)), growth),
    ]


def _training_table(runs: Sequence[Record], task: LargeTask, machine: Record) -> Table:
    rows: list[tuple[str, ...]] = []
    for run in runs:
        stages = {stage["name"]: stage for stage in run["stages"]}
        epochs = [stage["seconds"] for name, stage in stages.items() if name.startswith("epoch")]
        if not epochs:
            rows.append((NAMES[run["way"]], *("–",) * 6, _refusal(run)))
            continue
        built = (f"{stages[name]['seconds']:.1f}" for name in ("graph", "operator"))
        peaks = (f"{stages[name]['peak'] / GIB:.2f}" for name in ("graph", "operator"))
        peak = max(stage["peak"] for stage in run["stages"]) / GIB
        floor = dense_flops(task.nodes, task.alpha, task.widths) / machine["gemm"]
        minimum = f"{floor:.1f}" if run["way"] == "ours" else "–"
        rows.append((NAMES[run["way"]], *built, *peaks, f"{min(epochs):.1f}", minimum, f"{peak:.2f} GiB"))
    title = (
        f"Full-batch training: {task.nodes:,} nodes, {task.edges:,} edges, {task.features} features, "
        f"{task.layers} layers of {task.hidden}, α = {task.alpha}, {task.labels} labels"
    )
    header = ("network", "graph (s)", "operator (s)", "peak, graph (GiB)", "peak, operator (GiB)")
    return table_of(title, (*header, "epoch (s)", "dense minimum (s)", "peak memory"), rows)


def _graph_table(timings: Sequence[Record]) -> Table:
    rows = [
        (
            t["what"],
            f"{t['points']:,}",
            f"{t['seconds']:.1f}",
            f"{1e6 * t['seconds'] / t['points']:.0f}",
            f"{t['peak_mib']:,.0f}",
            f"{t['edges']:,}",
            t["note"],
        )
        for t in timings
    ]
    title = "Building graphs (k = 30, 64 features; diffusion: Pubmed, teleport 0.05, top 128)"
    return table_of(title, ("graph", "points", "seconds", "µs per point", "peak MiB", "edges", ""), rows)


def _all_run(*outcomes: Record) -> bool:
    return all(outcome["milliseconds"] is not None for outcome in outcomes)


def _ratio(outcome: Record, ours: float) -> str:
    """The time relative to ours, or why it was not run."""
    return f"{outcome['milliseconds'] / ours:.1f}" if _all_run(outcome) else _refusal(outcome)


def _refusal(outcome: Record) -> str:
    if outcome["not_run"] == "memory":
        return f"not run: needs {outcome['needs'] / GIB:.1f} GiB"
    return str(outcome["not_run"])


def _milliseconds(value: float) -> str:
    return f"{value:.1f}" if value >= 1 else f"{value:.3f}"
