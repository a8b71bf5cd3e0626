"""The tables that show a record of a benchmark, on the terminal and in the documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from s2gnn.bench.cost import ALLOWANCE, GIB
from s2gnn.bench.scale import LargeTask, large_flops

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


@dataclass(frozen=True)
class ReportTable:
    """A title, a header, and rows of text."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def tables(record: Record) -> list[ReportTable]:
    """The tables of a record, by the benchmark that its command names."""
    benchmark = record["command"].split()[2]
    return {
        "operator": _operator_tables,
        "epoch": _epoch_tables,
        "baselines": _baseline_tables,
        "memory": _memory_tables,
        "scale": _scale_tables,
        "graphs": _graph_tables,
    }[benchmark](record)


def _operator_tables(record: Record) -> list[ReportTable]:
    return [_machine_table(record), _propagation_table(record, record["timings"], "Forward propagation")]


def _epoch_tables(record: Record) -> list[ReportTable]:
    return [_machine_table(record), _training_table(record, record["timings"], "One epoch (step and evaluation)")]


def _baseline_tables(record: Record) -> list[ReportTable]:
    by_task: dict[str, list[Record]] = {}
    for timing in record["timings"]:
        by_task.setdefault(timing["workload"], []).append(timing)
    return [_machine_table(record), *map(_baseline_table, by_task.values())]


def _scale_tables(record: Record) -> list[ReportTable]:
    found = [_machine_table(record)]
    if record["grid"]:
        found.append(_propagation_table(record, record["grid"], "Erdős–Rényi grid, forward propagation"))
    if record["epochs"]:
        found.append(_training_table(record, record["epochs"], "One epoch (step and evaluation)"))
    if record["training"]:
        found.append(_large_table(record["training"], record["task"][0], record["machine"]))
    return found


def _machine_table(record: Record) -> ReportTable:
    machine = record["machine"]
    rows = [
        ("memory bandwidth", f"{machine['bandwidth'] / 1e9:.1f} GB/s"),
        ("float32 matrix product", f"{machine['gemm'] / 1e9:.0f} GFLOP/s"),
        ("kernel, threads", f"{record['kernel']}, {record['threads']}"),
    ]
    return ReportTable("This machine, in the same run", ("", "measured"), rows)


def _propagation_table(record: Record, timings: list[Record], what: str) -> ReportTable:
    """Ours in milliseconds and against one product, the peers against ours, and the share of the bandwidth."""
    bandwidth = record["machine"]["bandwidth"]
    peers = ("csr", "torch_sparse", "gcnconv")
    header = ("graph", "nonzeros", "F", "ours (ms)", "ours ÷ one CSR", *(f"{NAMES[peer]} ÷ ours" for peer in peers))
    rows = []
    for t in timings:
        ours, one = t["ways"]["ours"]["milliseconds"], t["ways"]["one_csr"]
        shares = (1e3 * t[moved] / ours / bandwidth for moved in ("streamed_bytes", "gathered_bytes"))
        rows.append(
            (
                t["graph"],
                f"{t['nonzeros']:,}",
                str(t["width"]),
                _milliseconds(ours),
                f"{ours / one['milliseconds']:.2f}" if one["milliseconds"] else _refusal(one),
                *(_times(t["ways"][peer], ours) for peer in peers),
                f"{t['streamed_bytes'] / MIB:.0f}",
                *(f"{100 * share:.0f} %" for share in shares),
            )
        )
    alphas = "/".join(sorted({str(t["alpha"]) for t in timings}))
    columns = (*header, "least MiB", "of the bandwidth", "with gathers")
    return ReportTable(f"{what}, α = {alphas}", columns, rows)


def _training_table(record: Record, timings: list[Record], what: str) -> ReportTable:
    """Ours in milliseconds, how many times as long the peers take, and the time of the dense products alone."""
    peers = ("gcnconv", "csr", "torch_sparse", "gcn")
    rows = []
    for t in timings:
        ours = t["ways"]["ours"]["milliseconds"]
        floor = 1e3 * t["flops"] / record["machine"]["gemm"]
        rows.append(
            (
                t["workload"],
                f"{t['nonzeros']:,}",
                _milliseconds(ours),
                *(_times(t["ways"][peer], ours) for peer in peers),
                f"{t['flops'] / 1e9:.2f}",
                f"{_milliseconds(floor)} ({100 * floor / ours:.0f} %)",
            )
        )
    header = ("task", "nonzeros", "ours (ms)", *(f"{NAMES[peer]} ÷ ours" for peer in peers))
    return ReportTable(what, (*header, "dense GFLOP", "their floor (ms)"), rows)


def _baseline_table(timings: list[Record]) -> ReportTable:
    """Ours and PyG's network of every baseline on one task, in milliseconds, and how many times as long PyG's takes."""
    rows = []
    for t in timings:
        ours, peer = t["ways"]["ours"], t["ways"]["pyg"]
        ratio = _times(peer, ours["milliseconds"]) if ours["milliseconds"] and peer["milliseconds"] else "–"
        rows.append((t["model"], *(_time(outcome) for outcome in (ours, peer)), ratio))
    first = timings[0]
    title = (
        f"One epoch (step and evaluation) on {first['workload']}: {first['nonzeros']:,} nonzeros, layers "
        f"{' → '.join(map(str, first['widths']))}, heads: {first['heads']}"
    )
    return ReportTable(title, ("model", "ours (ms)", "PyG (ms)", "PyG ÷ ours"), rows)


def _memory_tables(record: Record) -> list[ReportTable]:
    uses = record["memory"]
    names = list(dict.fromkeys(use["workload"] for use in uses))
    alphas = sorted({use["alpha"] for use in uses})
    largest = [use for use in uses if use["alpha"] == alphas[-1]]
    detail = [
        (
            use["workload"],
            f"{use['nodes']:,}",
            f"{use['directions']:,}",
            *(
                f"{use[part] / MIB:.1f}"
                for part in ("operator", "bound", "resident", "graph", "csr", "edge_list", "edge_lists")
            ),
        )
        for use in largest
    ]
    ratios = {(use["workload"], use["alpha"]): use["operator"] / (use["bound"] / ALLOWANCE) for use in uses}
    growth = [
        (name, *(f"{ratios[name, alpha]:.3f}" if (name, alpha) in ratios else "–" for alpha in alphas))
        for name in names
    ]
    return [
        ReportTable(
            f"Memory at α = {alphas[-1]}, MiB",
            (
                "graph", "nodes", "stored nonzeros", "operator", "bound", "resident growth", "the caller's graph",
                "α CSR matrices", "one edge list, α weights", "α edge lists",
            ),
            detail,
        ),
        ReportTable(
            f"Operator ÷ (8 bytes a nonzero + 4 α bytes a node), the bound is {ALLOWANCE}",
            ("graph", *(f"α = {alpha}" for alpha in alphas)),
            growth,
        ),
    ]  # fmt: skip


def _large_table(runs: list[Record], task: Record, machine: Record) -> ReportTable:
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
        floor = f"{large_flops(LargeTask(**task)) / machine['gemm']:.1f}" if run["way"] == "ours" else "–"
        rows.append((NAMES[run["way"]], *built, *peaks, f"{min(epochs):.1f}", floor, f"{peak:.2f} GiB"))
    title = (
        f"Full-batch training: {task['nodes']:,} nodes, {task['edges']:,} edges, {task['features']} features, "
        f"{task['layers']} layers of {task['hidden']}, α = {task['alpha']}, {task['labels']} labels"
    )
    header = ("network", "graph (s)", "operator (s)", "peak, graph (GiB)", "peak, operator (GiB)")
    return ReportTable(title, (*header, "epoch (s)", "dense floor (s)", "peak memory"), rows)


def _graph_tables(record: Record) -> list[ReportTable]:
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
        for t in record["timings"]
    ]
    title = "Building graphs (k = 30, 64 features; diffusion: Pubmed, teleport 0.05, top 128)"
    return [ReportTable(title, ("graph", "points", "seconds", "µs a point", "peak MiB", "edges", ""), rows)]


def _time(outcome: Record) -> str:
    """Its milliseconds, or why it was not run."""
    return _refusal(outcome) if outcome["milliseconds"] is None else _milliseconds(outcome["milliseconds"])


def _times(outcome: Record, ours: float) -> str:
    """How many times as long as ours, or why it was not run."""
    if outcome["milliseconds"] is None:
        return _refusal(outcome)
    return f"{outcome['milliseconds'] / ours:.1f}"


def _refusal(outcome: Record) -> str:
    if outcome["not_run"] == "memory":
        return f"not run: needs {outcome['needs'] / GIB:.1f} GiB"
    return str(outcome["not_run"])


def _milliseconds(value: float) -> str:
    return f"{value:.1f}" if value >= 1 else f"{value:.3f}"
