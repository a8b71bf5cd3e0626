"""Learned fusion weights of every order and layer, in S2-GNN trained on the five k-NN graphs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from s2gnn.analysis.branches import branch_weights, shares
from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.experiment import make_experiment
from s2gnn.experiments.hyperparameters import PUBLISHED
from s2gnn.experiments.measured import Content, MeasuredStudy, Measurement, Row, block
from s2gnn.experiments.protocols import RELEASED
from s2gnn.experiments.tasks import Classification
from s2gnn.pictures import PALETTE, QUIET, add_legend, panel_grid
from s2gnn.render import Cell, Table

SEEDS = 3
EPOCHS = 500
_PANELS_PER_ROW = 3
_MARKERS = ("o", "s", "^", "D", "v")


def _measure(at: Measurement) -> Iterator[Row]:
    """Train S2-GNN with its published hyperparameters on the k-NN graph."""
    experiment = make_experiment(at.data, "s2gnn", replace(RELEASED, epochs=EPOCHS), graph="knn", seeds=SEEDS)
    task = Classification(experiment)
    trained = [task.fit(seed) for seed in experiment.seeds]
    yield {
        "fusion": str(experiment.hyperparameters.model["fusion"]),
        "seeds": list(experiment.seeds),
        "accuracies": [task.score(one)["test_accuracy"] for one in trained],
        "weights": [branch_weights(one.network).tolist() for one in trained if one.network is not None],
    }


def _shares(row: Row) -> NDArray[np.float64]:
    """Return the weights as shares of their layer, (seeds, layers, α + 1)."""
    return shares(np.array(row["weights"], dtype=np.float64))


def _tabulate(content: Content) -> Table:
    """Return the shares, then the weights; one row for each layer."""
    rows = content["rows"]
    orders = max(_shares(row).shape[-1] for row in rows)
    header = ("data set, fusion", "layer", "identity", *(f"ρ = {rho}" for rho in range(1, orders)))
    blocks = (
        block(
            "Share of a layer's weight (%), mean over seeds (lowest to highest); the largest is marked",
            (line for row in rows for line in _lines(row, 100 * _shares(row), orders, digits=1)),
        ),
        block(
            "Weight of a branch, mean over seeds (lowest to highest)",
            (line for row in rows for line in _lines(row, np.array(row["weights"]), orders, digits=3)),
        ),
    )
    trained = ", ".join(f"{display_name(row['data'])} {100 * np.mean(row['accuracies']):.1f} %" for row in rows)
    note = (
        "The weight of branch ρ in the fusion is |μ_ρ|; in an MLP fusion it is the Frobenius norm of the block that "
        "multiplies the branch, divided by the square root of its width. What a branch contributes also depends on the "
        f"size of its output. k-NN graphs, published hyperparameters, {content['epochs']} epochs, "
        f"{len(rows[0]['seeds'])} seeds; test accuracy {trained}."
    )
    return Table("", header, blocks, (summarize(rows), note))


def _lines(row: Row, values: NDArray[np.float64], orders: int, digits: int) -> Iterator[list[str | Cell]]:
    """Yield one line of a table for each layer of `values` (seeds, layers, α + 1)."""
    for layer, found in enumerate(values.swapaxes(0, 1), 1):  # (seeds, alpha + 1)
        largest = int(found.mean(axis=0).argmax())
        cells = [
            Cell(
                f"{column.mean():.{digits}f} ({column.min():.{digits}f} to {column.max():.{digits}f})",
                1 if rho == largest else None,
            )
            for rho, column in enumerate(found.T)
        ]
        yield [f"{display_name(row['data'])}, {row['fusion']}", str(layer), *cells, *["–"] * (orders - len(cells))]


def summarize(rows: Sequence[Row]) -> str:
    """Summarise the weight of the identity branch and the orders with the largest weights."""
    layers = [layer for row in rows for layer in _shares(row).mean(axis=0)]  # each (alpha + 1,)
    identity = [100 * layer[0] for layer in layers]
    relative = [layer[0] * len(layer) for layer in layers]
    heaviest = [int(layer.argmax()) for layer in layers]
    first, highest = heaviest.count(0), sum(rho == len(layer) - 1 for rho, layer in zip(heaviest, layers, strict=True))
    powers = [1 + int(layer[1:].argmax()) for layer in layers]
    counts = ", ".join(f"ρ = {rho} in {powers.count(rho)}" for rho in sorted(set(powers)))
    return (
        f"In {len(layers)} layers the identity branch, which ignores the graph, has {min(identity):.0f} to "
        f"{max(identity):.0f} % of the weight, on average {np.mean(relative):.2f} times an equal share; it is the "
        f"heaviest branch in {first} of them, and the highest order in {highest}. The heaviest Hadamard power is "
        f"{counts}."
    )


def _draw(content: Content) -> Figure:
    """Draw one panel for each data set: the weights of the branches by layer, relative to an equal share."""
    rows = content["rows"]
    figure, panels, spare = panel_grid(len(rows), _PANELS_PER_ROW, 1.8, sharey=True)
    for axes, row in zip(panels, rows, strict=True):
        _draw_panel(axes, row)
    panels[0].set_ylim(bottom=0)
    figure.supxlabel("branch: identity (I), then power ρ", fontsize="medium")
    figure.supylabel("weight / equal share", fontsize="medium")
    deepest = max(panels, key=lambda axes: len(axes.get_lines()))
    add_legend(figure, spare, deepest.get_legend_handles_labels()[0], title="mean and range over seeds")
    return figure


def _draw_panel(axes: Axes, row: Row) -> None:
    found = _shares(row) * np.shape(row["weights"])[-1]  # (seeds, layers, alpha + 1)
    _, layers, orders = found.shape
    for layer in range(layers):
        positions = np.arange(orders) + 0.24 * (layer - (layers - 1) / 2)
        colour, values = PALETTE[(0, 4, 2, 3, 5)[layer % 5]], found[:, layer]
        axes.vlines(positions, values.min(axis=0), values.max(axis=0), color=colour, linewidth=1.3)
        axes.plot(
            positions, values.mean(axis=0), _MARKERS[layer % len(_MARKERS)], color=colour, label=f"layer {layer + 1}"
        )
    axes.axhline(1, color=QUIET, linestyle=":", linewidth=0.9, label="equal shares")
    axes.set_xticks(range(orders), ["I", *map(str, range(1, orders))])
    axes.set_title(f"{display_name(row['data'])}, {display_name(row['fusion'])} fusion")


STUDY = MeasuredStudy(
    "branches",
    "Weights of the branches in trained networks",
    "not in the paper",
    tuple(PUBLISHED),
    _measure,
    _tabulate,
    _draw,
    settings=lambda _: {"epochs": EPOCHS},
)
