"""The tables of the cost model: for one task on the terminal, for growing graphs in the documents."""

from dataclasses import dataclass, replace
from pathlib import Path

from s2gnn.bench.cost import GIB, dense_flops
from s2gnn.bench.cost_model import (
    CACHED_SIGNAL,
    Rates,
    fit_rates,
    gathers_of_epoch,
    most_nodes_propagated_once,
    training_bytes,
)
from s2gnn.bench.cost_parts import parts_bytes
from s2gnn.bench.cost_records import (
    ByteCheck,
    byte_checks,
    held_to,
    mean_gemm,
    measured_epochs,
    measured_propagations,
    sources,
    trained_task,
)
from s2gnn.bench.report import ReportTable
from s2gnn.bench.scale import LargeTask, LargeTraining
from s2gnn.render import markdown_table

EDGES_PER_NODE = 20  # about those of a k-NN graph with k = 30
WIDE = LargeTask(nodes=500_000, edges=10_000_000, features=128, labels=10, hidden=64, layers=2, alpha=6)
NARROW = replace(WIDE, hidden=16, alpha=3)
SIZES = (10_000_000, 100_000_000, 1_000_000_000)
PARTS = {
    "building": "while the graph is made",
    "graph": "graph",
    "preparing": "while the operator is made",
    "operator": "operator",
    "features": "features",
    "copied": "the network's copy of them, unless they are propagated once",
    "propagated": "features under every power, where the plan keeps them",
    "activations": "activations and gradients",
    "peak": "peak of the process",
}
STAGES_IN_PARTS = {
    "building": "every process, while the graph is made",
    "dividing": "the first process, while METIS divides it, without its coarser graphs",
    "part_degrees": "every process from then on, `--degrees part`",
    "whole_degrees": "every process from then on, `--degrees whole`",
    "evaluation": "the first process in an evaluation, `--degrees whole --evaluate whole`",
}


@dataclass(frozen=True)
class EpochEstimate:
    """The seconds of an epoch on the machine of the records.

    Attributes:
        seconds: by the model.
        low: as far below as the records are at most.
        high: as far above.
    """

    seconds: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """The range."""
        return f"{_short(self.low)} to {_short(self.high)}"


@dataclass(frozen=True)
class FittedModel:
    """The rates of the records in a folder, and how far these are from the model."""

    rates: Rates
    gemm: float
    low: float
    high: float

    @classmethod
    def of(cls, results: Path) -> "FittedModel":
        """Fitted to the epochs and propagations of the records.

        The range is that of the epochs, and of the training that the model is held to.
        """
        epochs = measured_epochs(results)
        rates = fit_rates([*epochs, *measured_propagations(results)])
        ratios = [rates.ratio(epoch) for epoch in (*epochs, *held_to(results))]
        return cls(rates, mean_gemm(results), min(ratios), max(ratios))

    def epoch(self, task: LargeTask) -> EpochEstimate:
        """The seconds of an epoch of `task`."""
        floor = dense_flops(task.nodes, task.alpha, task.widths) / self.gemm
        seconds = self.rates.seconds(floor, gathers_of_epoch(task.size, task.widths))
        return EpochEstimate(seconds, self.low * seconds, self.high * seconds)


def task_table(task: LargeTask, epoch: EpochEstimate | None, run: LargeTraining | None = None) -> ReportTable:
    """What one task needs, and what it took where it was run."""
    needs = training_bytes(task.size, task.widths)
    rows = [(what, f"{getattr(needs, part) / GIB:.2f} GiB") for part, what in PARTS.items()]
    rows.append(("an epoch, a step and an evaluation", "–" if epoch is None else f"{epoch.text} s"))
    if run is None:
        return ReportTable(_title(task), ("", "by the model"), rows)
    measured = [""] * (len(rows) - 2)
    if run.not_run is not None:
        measured += [f"not run: {run.not_run}"] * 2
    else:
        peak = max(stage.peak for stage in run.stages) / GIB
        seconds = min(stage.seconds for stage in run.stages if stage.name.startswith("epoch"))
        measured += [f"{peak:.2f} GiB", f"{_short(seconds)} s"]
    return ReportTable(
        _title(task), ("", "by the model", "measured"), [(*row, text) for row, text in zip(rows, measured, strict=True)]
    )


def render_cost_model(results: Path) -> str:
    """The cost model for a document: what each edge and node costs, what graphs need, and how right it is."""
    model = FittedModel.of(results)
    measured = trained_task(results)
    tables = [
        _coefficients(model, WIDE),
        *(_sizes(model, network, measured) for network in (WIDE, NARROW)),
        *(_sizes_in_parts(network) for network in (WIDE, NARROW)),
        _byte_table(byte_checks(results)),
        _second_table(model.rates, results),
    ]
    made = f"From the records of {', '.join(sources(results))}.\n"
    return "\n".join([*(f"**{t.title}**\n\n{markdown_table(t.header, t.rows)}" for t in tables), made])


def _coefficients(model: FittedModel, task: LargeTask) -> ReportTable:
    """By how much the model grows with one more edge and one more node.

    Where that changes once the features are too large to be propagated once, there is a row for either side of it.
    """
    most = most_nodes_propagated_once(task.alpha, task.features)
    within, beyond = (replace(task, nodes=nodes, edges=EDGES_PER_NODE * nodes) for nodes in (most - 1, most + 1))
    rows: list[tuple[str, ...]] = []
    for few, many in zip(_growth(model, within), _growth(model, beyond), strict=True):
        if few == many:
            rows.append(few)
        else:
            rows += [(f"{few[0]}, up to {most:,} nodes", *few[1:]), (f"{many[0]}, beyond", *many[1:])]
    header = ("", "bytes an edge", "bytes a node", "ns an edge and epoch", "ns a node and epoch")
    return ReportTable(f"What an edge and a node cost, {_network(task)}", header, rows)


def _growth(model: FittedModel, task: LargeTask) -> list[tuple[str, ...]]:
    base, edge, node = (
        training_bytes(size, task.widths)
        for size in (task.size, *(replace(task, **{part: getattr(task, part) + 1}).size for part in ("edges", "nodes")))
    )
    rows: list[tuple[str, ...]] = [
        (what, *(f"{getattr(more, part) - getattr(base, part):,}" for more in (edge, node)), "", "")
        for part, what in PARTS.items()
        if part not in ("peak", "preparing")  # which are no sums of a number for each edge and each node
    ]
    per_edge = sum(gather.fetched for gather in gathers_of_epoch(task.size, task.widths)) / task.edges
    per_node = dense_flops(1, task.alpha, task.widths)
    nanoseconds = 1e9 * per_edge / model.rates.memory, 1e9 * model.rates.slowdown * per_node / model.gemm
    rows.append((f"sparse products, {per_edge:,.0f} bytes fetched an edge", "", "", f"{nanoseconds[0]:,.0f}", ""))
    rows.append((f"dense products, {per_node:,} operations a node", "", "", "", f"{nanoseconds[1]:,.0f}"))
    return rows


def _sizes(model: FittedModel, network: LargeTask, measured: LargeTask) -> ReportTable:
    tasks = _growing(network)
    needs = [training_bytes(task.size, task.widths) for task in tasks]
    rows = [
        ("nodes", *(f"{task.nodes:,}" for task in tasks)),
        *((f"{what}, GiB", *(_short(getattr(need, part) / GIB) for need in needs)) for part, what in PARTS.items()),
        ("an epoch, seconds", *(model.epoch(task).text for task in tasks)),
        ("", *("peak measured, see below" if task == measured else "extrapolated" for task in tasks)),
    ]
    title = f"What full-batch training needs, {_network(network)}"
    return ReportTable(title, ("", *(f"{task.edges:,} edges" for task in tasks)), rows)


def _sizes_in_parts(network: LargeTask) -> ReportTable:
    tasks = _growing(network)
    needs = [parts_bytes(task.size, task.widths) for task in tasks]
    rows = [(what, *(_short(getattr(need, stage) / GIB) for need in needs)) for stage, what in STAGES_IN_PARTS.items()]
    title = f"What training in parts needs beside a batch, GiB, {_network(network)}"
    return ReportTable(title, ("", *(f"{task.edges:,} edges" for task in tasks)), rows)


def _growing(network: LargeTask) -> list[LargeTask]:
    return [replace(network, edges=edges, nodes=edges // EDGES_PER_NODE) for edges in SIZES]


def _byte_table(checks: list[ByteCheck]) -> ReportTable:
    rows = []
    for check in checks:
        ratios = sorted(measured / formula for formula, measured in check.pairs)
        several = len(ratios) > 1
        sizes = ("", "") if several else (f"{size / GIB:.2f}" for size in check.pairs[0])
        rows.append((check.what, *sizes, f"{ratios[0]:.3f} to {ratios[-1]:.3f}" if several else f"{ratios[0]:.2f}"))
    header = ("bytes", "by formula (GiB)", "measured (GiB)", "measured ÷ formula")
    return ReportTable("How right the bytes are", header, rows)


def _second_table(rates: Rates, results: Path) -> ReportTable:
    rows = [
        (
            f"{what}: {one.name}",
            f"{one.directions // 2:,}",
            _short(1e3 * one.seconds / rates.ratio(one)),
            _short(1e3 * one.seconds),
            f"{rates.ratio(one):.2f}",
        )
        for what, found in (
            ("epoch", measured_epochs(results)),
            ("propagation", measured_propagations(results)),
            ("epoch, not fitted", held_to(results)),
        )
        for one in found
    ]
    title = (
        f"How right the seconds are: dense products take {rates.slowdown:.2f} times as long as one large product, "
        f"sparse ones fetch {rates.cached / 1e9:.0f} GB/s from signals up to {CACHED_SIGNAL // 2**20} MiB and "
        f"{rates.memory / 1e9:.0f} GB/s from larger ones"
    )
    return ReportTable(title, ("", "edges", "by the model (ms)", "measured (ms)", "measured ÷ model"), rows)


def _title(task: LargeTask) -> str:
    return f"Full-batch training on {task.edges:,} edges and {task.nodes:,} nodes, {_network(task)}"


def _network(task: LargeTask) -> str:
    return f"{' → '.join(map(str, task.widths))}, α = {task.alpha}"


def _short(value: float) -> str:
    """About two digits."""
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"
