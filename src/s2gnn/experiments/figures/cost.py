"""The paper's Figure 5: inference time and memory of every network on Erdős–Rényi graphs of growing size."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from s2gnn.errors import InputError
from s2gnn.experiments.appearance import display_name, line_style
from s2gnn.experiments.figures.inference import CLASSES, FEATURES, PATIENCE, REPETITIONS, measure_model
from s2gnn.experiments.measured import Content, MeasuredStudy, Measurement, Row, block
from s2gnn.experiments.protocols import Budget
from s2gnn.graphs import erdos_renyi, save_graph
from s2gnn.nn import MODELS, hyperparameters
from s2gnn.operators import kernel
from s2gnn.pictures import label_ends, panel_grid
from s2gnn.render import Table
from s2gnn.resources import LimitError, Limits, available_bytes, forget_peak, in_own_process

NODES = {"er-500": 500, "er-1000": 1_000, "er-5000": 5_000, "er-10000": 10_000}
PROBABILITIES = (0.03, 0.04, 0.05, 0.06)
PAPER_SEEDS = 30
# The paper prints no sizes of its networks here: these are the middle of its search space, with the fewest layers.
SIZES: Mapping[str, Any] = {
    "hidden_channels": 32,
    "num_layers": 2,
    "alpha": 4,
    "epsilon": 1.5,
    "fusion": "mlp",
    "K": 2,
    "powers": 2,
    "heads": 3,
}
LIMITS = Limits(seconds=60.0, resident=4 * 2**30)  # of a process
PRELOADED = (measure_model.__module__, "torch._dynamo")  # the latter is imported by the first product of an operator
SLOW = 10.0  # seconds: a network that takes longer on one graph is not measured with further seeds
OURS, FIRST_ORDER, NO_GRAPH = "s2gnn", "gcn", "mlp"


class Quantity(NamedTuple):
    """A measured number: its name in the records, its title, its unit, and the value of one unit in the records."""

    name: str
    title: str
    unit: str
    scale: float


QUANTITIES = (
    Quantity("new_graph_seconds", "Time on a new graph", "ms", 1e-3),
    Quantity("prepared_seconds", "Time on a prepared graph", "ms", 1e-3),
    Quantity("new_graph_bytes", "Peak memory on a new graph", "MiB", 2**20),
    Quantity("prepared_bytes", "Peak memory on a prepared graph", "MiB", 2**20),
)


def model_sizes(model: str) -> Row:
    """Return the `SIZES` that are arguments of a model."""
    return {name: value for name, value in SIZES.items() if name in hyperparameters(model)}


def _settings(budget: Budget) -> Row:
    forget_peak()  # raises on a system where peaks cannot be measured
    return {
        "seeds": min(budget.seeds, PAPER_SEEDS),
        "features": FEATURES,
        "classes": CLASSES,
        "models": {model: model_sizes(model) for model in MODELS if model != "s2gnn+"},
        "threads": torch.get_num_threads(),
        "kernel": kernel.chosen(),
        "limits": {**asdict(LIMITS), "resident": min(LIMITS.resident or 0, available_bytes())},
        "enough_seconds": SLOW,
        "patience_seconds": PATIENCE,
        "repetitions": REPETITIONS,
    }


def _measure(at: Measurement) -> Iterator[Row]:
    """Yield a row for each p and network, all on the same graphs."""
    nodes, seeds = NODES[at.data], at.settings["seeds"]
    for p in PROBABILITIES:
        rows: list[Row] = [{"nodes": nodes, "p": p, "model": name, "measured": [], "stopped": None} for name in MODELS]
        for seed in range(seeds):
            with TemporaryDirectory() as folder:
                graph = Path(folder) / "graph.npz"
                save_graph(erdos_renyi(nodes, p, seed), graph)
                for row in rows:
                    at.report(f"N = {nodes:,}, p = {p:g}, seed {seed + 1} of {seeds}: {row['model']}")
                    _add_seed(row, graph, seed, at.settings)
        yield from rows


def _add_seed(row: Row, graph: Path, seed: int, settings: Content) -> None:
    """Measure a network on one more graph, unless it is too slow or was stopped before."""
    if row["stopped"] is not None or any(one["new_graph_seconds"] > SLOW for one in row["measured"]):
        return
    model, limits = row["model"], Limits(**settings["limits"])
    arguments = (model, settings["models"][model], graph, seed, settings["threads"], settings["kernel"])
    try:
        row["measured"].append(
            {"seed": seed, **in_own_process(measure_model, *arguments, limits=limits, preloaded=PRELOADED)}
        )
    except (LimitError, InputError) as error:  # over a limit, or the network rejects the graph
        row["stopped"] = str(error)


def _frame(content: Content) -> pd.DataFrame:
    """Return means over seeds by network, N and p, in the units of the quantities; NaN where nothing was measured."""
    columns = ["edges", *(quantity.name for quantity in QUANTITIES)]
    scales = [1.0, *(quantity.scale for quantity in QUANTITIES)]
    means = {
        (row["model"], row["nodes"], row["p"]): pd.DataFrame(row["measured"], columns=columns).mean() / scales
        for row in content["rows"]
    }
    return pd.DataFrame(means).T.rename_axis(["model", "nodes", "p"]).astype(float).sort_index()


def _tabulate(content: Content) -> Table:
    """Return a block for each quantity, a row for each network and a column for each N, from lowest to highest p."""
    frame = _frame(content)
    columns = frame.index.unique("nodes")
    blocks = tuple(
        block(
            f"{quantity.title} ({quantity.unit})",
            (
                (display_name(model), *(_range(frame[quantity.name], model, n) for n in columns))
                for model in content["models"]
            ),
        )
        for quantity in QUANTITIES
    )
    notes = (*_comparison(frame), _method(content), *_gaps(content))
    return Table("", ("network", *(f"N = {nodes:,}" for nodes in columns)), blocks, notes)


def _range(values: "pd.Series[float]", model: str, nodes: int) -> str:
    """Return the value at the lowest p and at the highest; followed by the highest p measured if some were not."""
    by_p = values.xs((model, nodes))
    measured = by_p.dropna()
    if measured.empty:
        return "–"
    text = " – ".join(dict.fromkeys(map(_figures, measured.iloc[[0, -1]])))
    return text if len(measured) == len(by_p) else f"{text} (to p = {measured.index[-1]:g})"


def _comparison(frame: pd.DataFrame) -> tuple[str, ...]:
    """Compare S2-GNN with the other networks on the largest graph, in one sentence for each quantity."""
    ours = frame.loc[OURS].dropna() if OURS in frame.index else frame[:0]
    if ours.empty:
        return ()
    nodes, p = ours.index[-1]
    there = frame.xs((nodes, p), level=("nodes", "p")).drop(NO_GRAPH, errors="ignore")
    sentences = [
        f"{display_name(OURS)} at N = {nodes:,}, p = {p:g} ({there['edges'][OURS]:,.0f} edges), compared with the "
        "other networks on graphs.",
        *(f"{quantity.title}: {_compare(quantity, there[quantity.name].dropna())}." for quantity in QUANTITIES),
        "The paper reports that S2-GNN is among the most efficient networks in both as graphs get larger and denser.",
    ]
    return (" ".join(sentences),)


def _compare(quantity: Quantity, values: "pd.Series[float]") -> str:
    """Return our value, its ratios to GCN's, to the lowest and to the highest, and its rank, of values by network."""
    order = [str(model) for model in values.sort_values(kind="stable").index]
    others = [model for model in order if model != OURS]
    names = {model: display_name(model) for model in others if model == FIRST_ORDER}
    ends = ((others[0], "lowest"), (others[-1], "highest")) if others else ()
    names |= {model: f"{display_name(model)} ({end})" for model, end in ends}
    ratios = ", ".join(_ratio(values[OURS] / values[model], text) for model, text in names.items())
    return f"{_figures(values[OURS])} {quantity.unit}, {ratios}; rank {order.index(OURS) + 1} of {len(order)}"


def _ratio(ratio: float, name: str) -> str:
    """Return "1.2 times GCN", "the same as GCN" or "8.5 % of GCN"."""
    if _figures(ratio, 2) == "1":
        return f"the same as {name}"
    return f"{_figures(ratio, 2)} times {name}" if ratio > 1 else f"{_figures(100 * ratio, 2)} % of {name}"


def _figures(value: float, count: int = 3) -> str:
    """Return `value` with `count` significant figures, without a power of ten."""
    return f"{float(f'{value:.{count}g}'):,.12g}"


def _method(content: Content) -> str:
    sizes = {name: value for of_model in content["models"].values() for name, value in of_model.items()}
    limits = content["limits"]
    return (
        f"From the lowest p to the highest; means over {content['seeds']} seeds (the paper: {PAPER_SEEDS}). New graph: "
        "operator, propagated features where the network has them, forward pass; prepared graph: forward pass only. "
        f"Time: the fastest of up to {content['repetitions']} repetitions within {content['patience_seconds']:g} s; "
        f"threads: {content['threads']}, kernel: {content['kernel']}. Memory: the peak of the resident memory above "
        "that of the process with graph, features and parameters. Every run has a separate process, "
        f"limited to {limits['seconds']:g} s and {limits['resident'] / 2**30:.3g} GiB. Edge weights are uniform in "
        f"(0, 1]; {content['features']} features, {content['classes']} classes; "
        f"{', '.join(f'{name} = {value}' for name, value in sizes.items())}, where a network has them: the middle of "
        "the paper's search space, as the paper does not print the sizes in its figure."
    )


def _gaps(content: Content) -> tuple[str, ...]:
    """Explain missing numbers, and means over fewer seeds."""
    reasons: dict[str, list[str]] = {}
    for row in content["rows"]:
        count = len(row["measured"])
        if count < content["seeds"]:
            why = row["stopped"] or f"a run takes more than {content['enough_seconds']:g} s"
            where = f"{display_name(row['model'])} at N = {row['nodes']:,}, p = {row['p']:g}"
            reasons.setdefault(f"Seeds: {count}; {why}" if count else f"Not measured: {why}", []).append(where)
    return tuple(f"{reason} ({'; '.join(where)})." for reason, where in reasons.items())


def _draw(content: Content) -> Figure:
    """Draw one panel for each quantity over the number of edges, both axes logarithmic, with a label at every line.

    Lines join graphs of the same number of nodes only.
    """
    frame = _frame(content).dropna()
    figure, panels, _ = panel_grid(len(QUANTITIES), 2, 2.75)
    for axes, quantity in zip(panels, QUANTITIES, strict=True):
        axes.set_title(f"{quantity.title} ({quantity.unit})")
        axes.set_xlabel("edges")
        if frame.empty:
            continue
        axes.set(xscale="log", yscale="log")
        ends = []
        for model in [model for model in content["models"] if model in frame.index.unique("model")]:
            style = line_style(model)
            curve = pd.concat([part.reindex([*part.index, None]) for _, part in frame.loc[model].groupby("nodes")])
            axes.plot(curve["edges"], curve[quantity.name], label=display_name(model), **style)
            last = frame.loc[model].iloc[-1]
            ends.append((last["edges"], last[quantity.name], display_name(model), style["color"]))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.margins(y=0.16)  # for the numbers of nodes above the curves
        _mark_nodes(axes, content["rows"])
        label_ends(axes, ends)
    return figure


def _mark_nodes(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw a band, with N above it, behind the graphs of each number of nodes."""
    for nodes in {row["nodes"]: None for row in rows if row["measured"]}:
        edges = [one["edges"] for row in rows if row["nodes"] == nodes for one in row["measured"]]
        low, high = min(edges), max(edges)
        axes.axvspan(low / 1.15, high * 1.15, color="0.95", zorder=0)
        middle, above = (low * high) ** 0.5, axes.get_xaxis_transform()
        axes.text(middle, 0.99, f"N =\n{nodes:,}", transform=above, fontsize=6.5, ha="center", va="top")


STUDY = MeasuredStudy(
    "cost",
    "Inference time and memory on random graphs",
    "Figure 5",
    tuple(NODES),
    _measure,
    _tabulate,
    _draw,
    _settings,
    budgeted=True,
)
