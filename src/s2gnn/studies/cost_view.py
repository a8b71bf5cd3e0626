"""Inference time and memory as a table, as sentences about S2-GNN, and as a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from s2gnn.pictures import PALETTE, bare
from s2gnn.render import Block, Cell, Table

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Quantity:
    """One of the measured numbers: its name in the records, what it is called, and its unit.

    Attributes:
        name: of `Inference`.
        title: above its table and its panel.
        unit: that it is shown in.
        scale: units of the record in that unit.
    """

    name: str
    title: str
    unit: str
    scale: float

    def value(self, row: Row) -> float | None:
        """The mean over the seeds of a row; `None` where nothing was measured."""
        return mean(one[self.name] for one in row["measured"]) / self.scale if row["measured"] else None


QUANTITIES = (
    Quantity("new_graph_seconds", "Time on a new graph", "ms", 1e-3),
    Quantity("prepared_seconds", "Time on a prepared graph", "ms", 1e-3),
    Quantity("new_graph_bytes", "Peak memory on a new graph", "MiB", 2**20),
    Quantity("prepared_bytes", "Peak memory on a prepared graph", "MiB", 2**20),
)
OURS, FIRST_ORDER, NO_GRAPH = "s2gnn", "gcn", "mlp"


def lay_out_cost(content: Mapping[str, Any]) -> Table:
    """A block for each quantity, a row for each network, a column for each N: from the least p to the greatest."""
    rows = content["rows"]
    columns = list(dict.fromkeys(row["nodes"] for row in rows))
    blocks = tuple(
        Block(
            f"{quantity.title} ({quantity.unit})",
            tuple(
                (Cell(model), *(Cell(_range(quantity, _curve(rows, model, nodes))) for nodes in columns))
                for model in content["models"]
            ),
        )
        for quantity in QUANTITIES
    )
    notes = (*_comparison(rows), _method(content), *_gaps(rows, content["seeds"], content["enough_seconds"]))
    return Table("", ("network", *(f"N = {nodes:,}" for nodes in columns)), blocks, notes)


def _curve(rows: Sequence[Row], model: str, nodes: int | None = None) -> list[Row]:
    """The rows of a network, by the number of nodes and p."""
    found = [row for row in rows if row["model"] == model and nodes in (None, row["nodes"])]
    return sorted(found, key=lambda row: (row["nodes"], row["p"]))


def _range(quantity: Quantity, rows: Sequence[Row]) -> str:
    """The value at the least p and at the greatest; followed by the greatest p that was measured if some were not."""
    values = [(row["p"], value) for row in rows if (value := quantity.value(row)) is not None]
    if not values:
        return "–"
    text = " – ".join(dict.fromkeys((_figures(values[0][1]), _figures(values[-1][1]))))
    return text if len(values) == len(rows) else f"{text} (to p = {values[-1][0]:g})"


def _comparison(rows: Sequence[Row]) -> tuple[str, ...]:
    """S2-GNN on the largest graph beside the other networks on graphs, in one sentence for each quantity."""
    ours = [row for row in _curve(rows, OURS) if row["measured"]]
    if not ours:
        return ()
    nodes, p = ours[-1]["nodes"], ours[-1]["p"]
    there = [row for row in rows if (row["nodes"], row["p"]) == (nodes, p) and row["model"] != NO_GRAPH]
    edges = mean(one["edges"] for one in ours[-1]["measured"])
    sentences = [f"{OURS} at N = {nodes:,}, p = {p:g} ({edges:,.0f} edges), beside the other networks on graphs."]
    for quantity in QUANTITIES:
        values = {row["model"]: value for row in there if (value := quantity.value(row)) is not None}
        sentences.append(f"{quantity.title}: {_beside(quantity, values)}.")
    sentences.append(
        "The paper finds S2-GNN among the most efficient networks in both as the nodes become more and the graphs "
        "less sparse."
    )
    return (" ".join(sentences),)


def _beside(quantity: Quantity, values: Mapping[str, float]) -> str:
    """Our value, its ratios to GCN's, to the least and to the greatest, and its place, of values by network."""
    value = values[OURS]
    order = sorted(values, key=lambda model: values[model])
    others = [model for model in order if model != OURS]
    ratios = {FIRST_ORDER: FIRST_ORDER} if FIRST_ORDER in values else {}
    ratios |= {others[0]: f"{others[0]}, the least", others[-1]: f"{others[-1]}, the most"} if others else {}
    compared = ", ".join(f"{_figures(value / values[model], 2)} times {text}" for model, text in ratios.items())
    return f"{_figures(value)} {quantity.unit}, {compared}; place {order.index(OURS) + 1} of {len(order)}"


def _figures(value: float, count: int = 3) -> str:
    """`value` with so many figures, without a power of ten."""
    return f"{float(f'{value:.{count}g}'):,.12g}"


def _method(content: Mapping[str, Any]) -> str:
    sizes: dict[str, Any] = {}
    for chosen in content["models"].values():
        sizes |= chosen
    limits = content["limits"]
    return (
        f"From the least p to the greatest; means over seeds, {content['seeds']} (the paper: 30). On a new graph: its "
        "operator, the propagated features where the network has them, and the forward pass; on a prepared graph: the "
        f"forward pass alone. Time: the least of at most {content['repetitions']} repetitions within "
        f"{content['patience_seconds']:g} s; threads: {content['threads']}, kernel: {content['kernel']}. Memory: the "
        "peak of the resident memory above that of the process with graph, features and parameters in it. Every "
        f"network, graph and seed has a process of its own, which may take {limits['seconds']:g} s and "
        f"{limits['resident'] / 2**30:.3g} GiB. Weights of edges are uniform in (0, 1]; {content['features']} "
        f"features, {content['classes']} classes; "
        f"{', '.join(f'{name} = {value}' for name, value in sizes.items())}, where a network has them: the middle of "
        "the paper's search space, which does not print the sizes of its figure."
    )


def _gaps(rows: Sequence[Row], seeds: int, enough: float) -> tuple[str, ...]:
    """Why there are numbers missing, and which are of fewer seeds."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        place = f"{row['model']} at N = {row['nodes']:,}, p = {row['p']:g}"
        why = row["stopped"] or f"one takes more than {enough:g} s"
        if not row["measured"]:
            reasons.setdefault(f"Not measured: {why}", []).append(place)
        elif len(row["measured"]) < seeds:
            reasons.setdefault(f"Seeds: {len(row['measured'])}; {why}", []).append(place)
    return tuple(f"{reason} ({'; '.join(places)})." for reason, places in reasons.items())


_MARKERS = ("o", "s", "^", "v", "D", "P", "X", "<", ">")
_GREY = "#888888"


def draw_cost(content: Mapping[str, Any]) -> Figure:
    """One panel for each quantity over the number of edges, both axes logarithmic."""
    figure = Figure(figsize=(7.2, 6.6), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey="row")
    for axes, quantity in zip(panels.flat, QUANTITIES, strict=True):
        for model, style in _styles(content["models"]).items():
            curve = [row for row in _curve(content["rows"], model) if row["measured"]]
            edges = [mean(one["edges"] for one in row["measured"]) for row in curve]
            axes.plot(edges, [quantity.value(row) for row in curve], label=model, **style)
        axes.set(xscale="log", yscale="log")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.margins(y=0.12)  # for the numbers of nodes above the curves
        axes.set_title(quantity.title, fontsize=10)
        bare(axes)
        _mark_nodes(axes, content["rows"])
    for axes, quantity in zip(panels[:, 0], QUANTITIES[::2], strict=True):
        axes.set_ylabel(quantity.unit)
    for axes in panels[-1]:
        axes.set_xlabel("edges")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=8)
    return figure


def _styles(models: Sequence[str] | Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """S2-GNN thick and black, the ablations and what has no graph grey, a colour and a marker for every other one."""
    others = iter(zip(PALETTE, _MARKERS, strict=True))
    aside = iter(((":", "."), ("--", "1"), ("-.", "2")))
    styles = {}
    for model in models:
        if model == OURS:
            styles[model] = {"color": "black", "linewidth": 2.2, "marker": "*", "markersize": 7, "zorder": 3}
        elif model in (NO_GRAPH, "no-hadamard", "regular-sobolev"):
            line, marker = next(aside)
            styles[model] = {"color": _GREY, "linestyle": line, "marker": marker, "markersize": 5, "linewidth": 1}
        else:
            colour, marker = next(others)
            styles[model] = {"color": colour, "marker": marker, "markersize": 3.5, "linewidth": 1}
    return styles


def _mark_nodes(axes: Axes, rows: Sequence[Row]) -> None:
    """A band, with N above it, behind the graphs of each number of nodes."""
    for nodes in dict.fromkeys(row["nodes"] for row in rows):
        edges = [one["edges"] for row in rows if row["nodes"] == nodes for one in row["measured"]]
        if edges:
            axes.axvspan(min(edges) / 1.1, max(edges) * 1.1, color="#f2f2f2", zorder=0)
            middle = (min(edges) * max(edges)) ** 0.5
            axes.text(
                middle, 0.99, f"N = {nodes:,}", transform=axes.get_xaxis_transform(), fontsize=7, ha="center", va="top"
            )
