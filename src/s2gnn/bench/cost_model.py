"""The cost of full-batch training on a graph of any size: memory by formula, time by rates fitted to records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from s2gnn.bench.cost import CACHED_SIGNAL, dense_flops, fetched, fetched_in_epoch, training_bytes
from s2gnn.bench.record import GIB, Row, origin_text, read_record, records_of
from s2gnn.bench.report import epoch_seconds, table_of, titled_markdown
from s2gnn.bench.tasks import Task
from s2gnn.errors import InputError
from s2gnn.nn.plan import LARGEST_PREPARED_INPUT
from s2gnn.render import Table

EDGES_PER_NODE = 20  # about those of a k-NN graph with k = 30
WIDE = Task(nodes=500_000, edges=10_000_000, features=128, labels=10, hidden=64, layers=2, alpha=6)
NARROW = replace(WIDE, hidden=16, alpha=3)
EDGES = (10_000_000, 100_000_000, 1_000_000_000)
FEWEST_DIRECTIONS = 100_000  # below, the overhead of calls dominates an epoch
RECORDS = ("epoch", "operator", "scale", "memory", "cost", "cost-kept")
LABELS = {
    "building": "while the graph is built",
    "graph": "graph",
    "preparing": "while the operator is built",
    "operator": "operator",
    "features": "features",
    "copied": "the network's copy of them, unless they are propagated once",
    "propagated": "features under every power, if the plan keeps them",
    "activations": "activations and gradients",
    "peak": "peak of the process",
}


@dataclass(frozen=True)
class Measured:
    """A measured epoch or propagation.

    Attributes:
        work: seconds of its dense products at the rate of a large product, and bytes fetched from cached and from
            larger signals, (3,).
    """

    kind: Literal["epoch", "propagation", "epoch, not fitted"]
    name: str
    directions: int
    work: NDArray[np.float64]
    seconds: float


@dataclass(frozen=True)
class EpochEstimate:
    """The estimated seconds of an epoch on the machine of the records, with a range."""

    seconds: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_short(self.low)} to {_short(self.high)}"


class CostModel:
    """A model of training time with three rates, fitted to the records in the folder `results`.

    Attributes:
        records: records by name, see `RECORDS`.
        gemm: floating-point operations per second of a large dense product, mean over the runs that measured epochs.
        measured: measured epochs and propagations; the rates are fitted to all except the last two.
        costs: slowdown of a network's dense products relative to a large product, and seconds per byte fetched from
            cached and from larger signals, (3,).
        low, high: the range of measured ÷ modelled epochs.
    """

    def __init__(self, results: Path) -> None:
        self.records = _records(results)
        self.gemm = sum(float(self.records[name]["machine"]["gemm"]) for name in ("epoch", "scale")) / 2
        self.measured = [one for one in self._measured() if one.directions >= FEWEST_DIRECTIONS]
        self.costs = fit_costs([one for one in self.measured if one.kind != "epoch, not fitted"])
        ratios = [self.ratio(one) for one in self.measured if one.kind != "propagation"]
        self.low, self.high = min(ratios), max(ratios)

    def ratio(self, measured: Measured) -> float:
        """Return measured ÷ modelled seconds."""
        return measured.seconds / float(measured.work @ self.costs)

    def epoch(self, task: Task) -> EpochEstimate:
        """Return the seconds of an epoch of `task`."""
        seconds = float(_work_of_epoch(task, self.gemm) @ self.costs)
        return EpochEstimate(seconds, self.low * seconds, self.high * seconds)

    def large_training(self, name: str) -> tuple[Task, Row]:
        """Return the task of a recorded large training, and our run of it."""
        record = self.records[name]
        runs = [run for run in record["training"] if run["way"] == "ours" and run["stages"]]
        if not runs:
            raise InputError(f"the record of {origin_text(record)} has no training of ours: create it again with one")
        return Task(**record["task"][0]), runs[0]

    def _measured(self) -> Iterator[Measured]:
        record = self.records["epoch"]
        for timing in record["timings"]:
            widths = timing["widths"]
            network = {"features": widths[0], "hidden": widths[1], "labels": widths[-1], "layers": len(widths) - 1}
            task = replace(_timed(timing), **network)
            work = _work_of_epoch(task, record["machine"]["gemm"])
            seconds = timing["ways"]["ours"]["milliseconds"] / 1e3
            yield Measured("epoch", timing["workload"], task.directions, work, seconds)
        yield self._large_epoch("scale", self.records["scale"]["machine"]["gemm"])
        for timing in self.records["operator"]["timings"]:
            task, seconds = _timed(timing), timing["ways"]["ours"]["milliseconds"] / 1e3
            work, name = np.array([0.0, *fetched(task, timing["width"])]), f"{timing['graph']}, F = {timing['width']}"
            yield Measured("propagation", name, task.directions, work, seconds)
        for name, how in (("cost", ", new pages"), ("cost-kept", ", kept pages")):
            held_out = self._large_epoch(name, self.gemm)
            yield replace(held_out, kind="epoch, not fitted", name=held_out.name + how)

    def _large_epoch(self, record: str, gemm: float) -> Measured:
        task, run = self.large_training(record)
        name = f"random, {task.edges:,} edges"
        return Measured("epoch", name, task.directions, _work_of_epoch(task, gemm), epoch_seconds(run))


def _records(results: Path) -> dict[str, Row]:
    """Return the records of the processor with the latest epochs among those with all records."""
    for epochs in records_of(results / "bench-epoch.json"):
        paths = {name: epochs.with_name(epochs.name.replace("epoch", name, 1)) for name in RECORDS}
        if all(path.is_file() for path in paths.values()):
            return {name: read_record(path) for name, path in paths.items()}
    return {name: read_record(results / f"bench-{name}.json") for name in RECORDS}


def fit_costs(measured: Sequence[Measured]) -> NDArray[np.float64]:
    """Fit the costs (3,) by minimising the sum of squared relative errors."""
    parts = np.array([one.work / one.seconds for one in measured])
    costs, _ = nnls(parts, np.ones(len(measured)))
    if not (costs > 0).all():
        raise InputError(
            "the measurements do not separate dense products from sparse ones within and beyond the caches: measure "
            "epochs and propagations on small and large graphs"
        )
    return np.asarray(costs)


def _work_of_epoch(task: Task, gemm: float) -> NDArray[np.float64]:
    return np.array([dense_flops(task) / gemm, *fetched_in_epoch(task)])


def _timed(timing: Row) -> Task:
    return Task(timing["nodes"], (timing["nonzeros"] - timing["nodes"]) // 2, alpha=timing["alpha"])


def task_table(task: Task, epoch: EpochEstimate | None, run: Row | None = None) -> Table:
    """Return the modelled cost of a task and, if it was run, the measured cost."""
    needs = training_bytes(task)
    rows = [[label, f"{getattr(needs, part) / GIB:.2f} GiB"] for part, label in LABELS.items()]
    rows.append(["an epoch (step and evaluation)", "–" if epoch is None else f"{epoch} s"])
    header = ["", "by the model"]
    if run is not None:
        header.append("measured")
        peak = seconds = f"not run: {run['not_run']}"
        if run["not_run"] is None:
            peak = f"{max(stage['peak'] for stage in run['stages']) / GIB:.2f} GiB"
            seconds = f"{_short(epoch_seconds(run))} s"
        rows = [[*row, text] for row, text in zip(rows, [""] * (len(rows) - 2) + [peak, seconds], strict=True)]
    title = f"Full-batch training on {task.edges:,} edges and {task.nodes:,} nodes, {_network(task)}"
    return table_of(title, header, rows)


def render_cost_model(results: Path) -> str:
    """Return the cost model as Markdown: cost per edge and node, cost of graphs of three sizes, and accuracy."""
    model = CostModel(results)
    full_batch, mini_batch = zip(*(_size_tables(model, network) for network in (WIDE, NARROW)), strict=True)
    tables = [unit_cost_table(model, WIDE), *full_batch, *mini_batch, byte_table(model), _second_table(model)]
    sources = map(origin_text, model.records.values())
    return "\n".join([*map(titled_markdown, tables), f"From the records of {', '.join(sources)}.\n"])


def unit_cost_table(model: CostModel, task: Task) -> Table:
    """Return the marginal cost of an edge and a node, with rows below and above the limit for propagated features."""
    most = LARGEST_PREPARED_INPUT // (4 * (task.alpha + 1) * task.features)  # nodes
    within, beyond = (replace(task, nodes=nodes, edges=EDGES_PER_NODE * nodes) for nodes in (most - 1, most + 1))
    rows: list[tuple[str, ...]] = []
    for few, many in zip(_unit_costs(model, within), _unit_costs(model, beyond), strict=True):
        if few == many:
            rows.append(few)
        else:
            rows += [(f"{few[0]}, up to {most:,} nodes", *few[1:]), (f"{many[0]}, beyond", *many[1:])]
    header = ("", "bytes per edge", "bytes per node", "ns per edge and epoch", "ns per node and epoch")
    return table_of(f"Cost of an edge and a node, {_network(task)}", header, rows)


def _unit_costs(model: CostModel, task: Task) -> Iterator[tuple[str, ...]]:
    grown = (task, replace(task, edges=task.edges + 1), replace(task, nodes=task.nodes + 1))
    base, *more = map(training_bytes, grown)
    for part, label in LABELS.items():
        if part not in ("peak", "preparing"):  # which are not sums over edges and nodes
            yield label, *(f"{getattr(one, part) - getattr(base, part):,}" for one in more), "", ""
    slowdown, _, per_byte = model.costs
    per_edge, per_node = fetched_in_epoch(task).sum() / task.edges, dense_flops(replace(task, nodes=1))
    sparse, dense = 1e9 * per_edge * per_byte, 1e9 * slowdown * per_node / model.gemm
    yield f"sparse products, {per_edge:,.0f} bytes fetched per edge", "", "", f"{sparse:,.0f}", ""
    yield f"dense products, {per_node:,} operations per node", "", "", "", f"{dense:,.0f}"


def _size_tables(model: CostModel, network: Task) -> tuple[Table, Table]:
    """Return the cost of full-batch and mini-batch training on graphs of three sizes."""
    tasks = [replace(network, edges=edges, nodes=edges // EDGES_PER_NODE) for edges in EDGES]
    needs = list(map(training_bytes, tasks))
    measured, _ = model.large_training("cost")
    full_batch = [
        ("nodes", *(f"{task.nodes:,}" for task in tasks)),
        *((f"{label}, GiB", *(_short(getattr(need, part) / GIB) for need in needs)) for part, label in LABELS.items()),
        ("an epoch, seconds", *(str(model.epoch(task)) for task in tasks)),
        ("", *("peak measured, see below" if task == measured else "extrapolated" for task in tasks)),
    ]
    stages = [need.in_clusters() for need in needs]
    mini_batch = [(name, *(_short(stage[name] / GIB) for stage in stages)) for name in stages[0]]
    header = ("", *(f"{task.edges:,} edges" for task in tasks))
    return (
        table_of(f"Memory and time of full-batch training, {_network(network)}", header, full_batch),
        table_of(f"Memory of mini-batch training in addition to a batch, GiB, {_network(network)}", header, mini_batch),
    )


def byte_table(model: CostModel) -> Table:
    """Return bytes by formula and measured, of graphs and operators, and of the processes of the large trainings."""
    uses, rows = model.records["memory"]["memory"], []
    graphs, alphas = {use["workload"] for use in uses}, {use["alpha"] for use in uses}
    formulas = [training_bytes(Task(use["nodes"], use["directions"] // 2, alpha=use["alpha"])) for use in uses]
    for part in ("graph", "operator"):
        ratios = [use[part] / getattr(formula, part) for use, formula in zip(uses, formulas, strict=True)]
        what = f"{part}, {len(graphs)} graphs, α = {min(alphas)} to {max(alphas)}"
        rows.append((what, "", "", f"{min(ratios):.3f} to {max(ratios):.3f}"))
    for name in ("scale", "cost", "cost-kept"):
        task, run = model.large_training(name)
        peaks, needs = {stage["name"]: stage["peak"] for stage in run["stages"]}, training_bytes(task)
        pairs = {"while the graph is built": (needs.peak_of_building, peaks["graph"])} if name != "cost-kept" else {}
        pairs["in training"] = needs.peak, max(peaks.values())
        for when, (formula, measured) in pairs.items():
            kept = ", kept pages" if name == "cost-kept" else ""
            what = f"resident {when}, {task.edges:,} edges, {task.nodes:,} nodes{kept}"
            rows.append((what, f"{formula / GIB:.2f}", f"{measured / GIB:.2f}", f"{measured / formula:.2f}"))
    return table_of(
        "Accuracy of the bytes", ("bytes", "by formula (GiB)", "measured (GiB)", "measured ÷ formula"), rows
    )


def _second_table(model: CostModel) -> Table:
    slowdown, cached, memory = model.costs
    title = (
        f"Accuracy of the seconds: dense products take {slowdown:.2f} times as long as one large product, "
        f"sparse ones fetch {1e-9 / cached:.0f} GB/s from signals up to {CACHED_SIGNAL // 2**20} MiB and "
        f"{1e-9 / memory:.0f} GB/s from larger ones"
    )
    rows = []
    for one in model.measured:
        milliseconds = (_short(1e3 * seconds) for seconds in (float(one.work @ model.costs), one.seconds))
        rows.append((f"{one.kind}: {one.name}", f"{one.directions // 2:,}", *milliseconds, f"{model.ratio(one):.2f}"))
    return table_of(title, ("", "edges", "by the model (ms)", "measured (ms)", "measured ÷ model"), rows)


def _network(task: Task) -> str:
    return f"{' → '.join(map(str, task.widths))}, α = {task.alpha}"


def _short(value: float) -> str:
    """Return a number with about two significant digits."""
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"
