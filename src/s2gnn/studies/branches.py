"""What the fusion learned: the weight of every order, layer by layer, in S2-GNN trained on the five k-NN graphs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from s2gnn.analysis.branches import branch_weights, shares
from s2gnn.data.splits import dataset_split
from s2gnn.learning.hyperparameters import PUBLISHED
from s2gnn.learning.many import fit_many
from s2gnn.learning.metrics import accuracy
from s2gnn.pictures import PALETTE, bare
from s2gnn.render import Block, Cell, Table
from s2gnn.studies.cell import make_cell
from s2gnn.studies.measured import MeasuredStudy, Report
from s2gnn.studies.run import dataset_of, materials

SEEDS = 3
EPOCHS = 500
_PANELS_A_ROW = 3
_MARKERS = ("o", "s", "^", "D", "v")


@dataclass(frozen=True)
class BranchesRow:
    """The networks of one data set.

    Attributes:
        data: name of the data set.
        fusion: name of the fusion.
        seeds: of the networks.
        accuracies: on the test nodes, one for each seed.
        weights: as `branch_weights` gives them, by seed, layer and order.
    """

    data: str
    fusion: str
    seeds: list[int]
    accuracies: list[float]
    weights: list[list[list[float]]]

    @property
    def shares(self) -> NDArray[np.float64]:
        """The weights as shares of their layer, (seeds, layers, α + 1)."""
        return shares(np.array(self.weights, dtype=np.float64))


def measure(data: str) -> BranchesRow:
    """Train S2-GNN with its published hyperparameters on the k-NN graph of `data`, and weigh its branches."""
    cell = make_cell(data, "s2gnn", graph="knn", seeds=SEEDS)
    cell = replace(cell, protocol=replace(cell.protocol, epochs=EPOCHS))
    dataset, graph = dataset_of(cell)
    config, run_data = materials(cell, dataset, graph)
    found: dict[int, tuple[float, list[list[float]]]] = {}
    for run in fit_many(config, run_data, cell.seeds):
        model = config.model()
        model.load_state_dict(run.state)
        test = dataset_split(dataset, run.seed).test
        score = accuracy(dataset.y[test], run.logits[test].argmax(dim=1).numpy())
        found[run.seed] = score, branch_weights(model).tolist()
    scores, weights = zip(*found.values(), strict=True)
    return BranchesRow(data, str(cell.hyperparameters.model["fusion"]), list(found), list(scores), list(weights))


def _measure(data: Sequence[str] | None, report: Report) -> dict[str, Any]:
    rows = []
    for name in data or tuple(PUBLISHED):
        report(name)
        rows.append(asdict(measure(name)))
    return {"epochs": EPOCHS, "rows": rows}


def _layout(content: Mapping[str, Any]) -> Table:
    """The shares, then the weights that they are of; one row for each layer."""
    rows = [BranchesRow(**row) for row in content["rows"]]
    orders = max(row.shares.shape[-1] for row in rows)
    header = ("data set, fusion", "layer", "identity", *(f"ρ = {rho}" for rho in range(1, orders)))
    blocks = (
        Block(
            "Share of a layer's weight (%), mean over seeds (lowest to highest); the largest is marked",
            tuple(line for row in rows for line in _lines(row, 100 * row.shares, orders, digits=1)),
        ),
        Block(
            "Weight of a branch, mean over seeds (lowest to highest)",
            tuple(line for row in rows for line in _lines(row, np.array(row.weights), orders, digits=3)),
        ),
    )
    trained = ", ".join(f"{row.data} {100 * np.mean(row.accuracies):.1f} %" for row in rows)
    note = (
        "The weight of branch ρ in the fusion: |μ_ρ|, or of an MLP fusion the Frobenius norm of the block that reads "
        "the branch, divided by the root of its width. It is not what the branch contributes, which depends on the "
        f"size of its output too. k-NN graphs, published hyperparameters, {content['epochs']} epochs, "
        f"{len(rows[0].seeds)} seeds; test accuracy {trained}."
    )
    return Table("", header, blocks, (in_words(rows), note))


def _lines(row: BranchesRow, values: NDArray[np.float64], orders: int, digits: int) -> list[tuple[Cell, ...]]:
    """One line of a table for each layer of `values` (seeds, layers, α + 1)."""
    lines = []
    for layer in range(values.shape[1]):
        found = values[:, layer]  # (seeds, alpha + 1)
        largest = int(found.mean(axis=0).argmax())
        entries = [
            Cell(
                f"{column.mean():.{digits}f} ({column.min():.{digits}f} to {column.max():.{digits}f})",
                1 if rho == largest else None,
            )
            for rho, column in enumerate(found.T)
        ]
        missing = [Cell("–")] * (orders - len(entries))
        lines.append((Cell(f"{row.data}, {row.fusion}"), Cell(str(layer + 1)), *entries, *missing))
    return lines


def in_words(rows: Sequence[BranchesRow]) -> str:
    """How heavy the identity is, and which orders are the heaviest."""
    layers = [layer for row in rows for layer in row.shares.mean(axis=0)]  # each (alpha + 1,)
    identity = [100 * layer[0] for layer in layers]
    times = [layer[0] * len(layer) for layer in layers]
    heaviest = [int(layer.argmax()) for layer in layers]
    first, highest = heaviest.count(0), sum(rho == len(layer) - 1 for rho, layer in zip(heaviest, layers, strict=True))
    powers = [1 + int(layer[1:].argmax()) for layer in layers]
    counts = ", ".join(f"ρ = {rho} in {powers.count(rho)}" for rho in sorted(set(powers)))
    return (
        f"In {len(layers)} layers the identity branch, which sees no graph, has {min(identity):.0f} to "
        f"{max(identity):.0f} % of the weight, in the mean {np.mean(times):.2f} times an equal share; it is the "
        f"heaviest branch in {first} of them, and the highest order in {highest}. The heaviest of the Hadamard powers "
        f"is {counts}."
    )


def _draw(content: Mapping[str, Any]) -> Figure:
    """One panel for each data set: the shares of the orders by layer, with their range over seeds."""
    rows = [BranchesRow(**row) for row in content["rows"]]
    height = -(-(len(rows) + 1) // _PANELS_A_ROW)
    figure = Figure(figsize=(7.2, 2.3 * height), layout="constrained")
    *panels, last = figure.subplots(height, _PANELS_A_ROW, squeeze=False).flat[: len(rows) + 1]
    for axes in figure.axes[len(rows) + 1 :]:
        axes.set_axis_off()
    for axes, row in zip(panels, rows, strict=True):
        _draw_panel(axes, row)
    deepest = max(panels, key=lambda axes: len(axes.get_lines()))
    last.legend(
        *deepest.get_legend_handles_labels(), title="mean and range over seeds", frameon=False, loc="center", fontsize=9
    )
    last.set_axis_off()
    return figure


def _draw_panel(axes: Axes, row: BranchesRow) -> None:
    found = 100 * row.shares  # (seeds, layers, alpha + 1)
    _, layers, orders = found.shape
    axes.axhline(100 / orders, color="0.5", linestyle=":", linewidth=1, label="equal shares")
    for layer in range(layers):
        places = np.arange(orders) + 0.22 * (layer - (layers - 1) / 2)
        colour, values = PALETTE[(0, 4, 2, 3, 5)[layer % 5]], found[:, layer]
        axes.vlines(places, values.min(axis=0), values.max(axis=0), color=colour, linewidth=1.5)
        axes.plot(
            places,
            values.mean(axis=0),
            linestyle="none",
            marker=_MARKERS[layer % len(_MARKERS)],
            markersize=4.5,
            color=colour,
            label=f"layer {layer + 1}",
        )
    axes.set_xticks(range(orders), ["id.", *map(str, range(1, orders))])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("order ρ")
    axes.set_ylabel("share of weight (%)")
    axes.set_title(f"{row.data} ({row.fusion} fusion)", fontsize=10)
    bare(axes)


STUDY = MeasuredStudy(
    "branches", "Weights of the branches in trained networks", "not in the paper", tuple(PUBLISHED), _measure, _layout,
    _draw,
)  # fmt: skip
