"""The charts of the report, drawn by matplotlib; no text of the table's owner stands in them."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from s2gnn.analysis import NoiseStability
from s2gnn.learning import History
from s2gnn.pictures import bare
from s2gnn.report.colours import INK, LIGHT, LINE, QUIET
from s2gnn.report.comparison import Comparison
from s2gnn.report.held_out import Calibration, Residuals

SIZE = (4.7, 3.1)
MOST_POINTS = 600
NOISES = {"dropped": "edges removed", "added": "edges added", "weights": "weights changed"}


def _chart(height: float = SIZE[1]) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(SIZE[0], height), layout="constrained", facecolor="none")
    axes = figure.subplots()
    axes.set_facecolor("none")
    bare(axes)
    return figure, axes


def _finished(figure: Figure, axes: Axes, x: str, y: str, *, legend: bool = False) -> Figure:
    axes.set_xlabel(x, color=QUIET)
    axes.set_ylabel(y, color=QUIET)
    axes.tick_params(color=LINE, labelcolor=QUIET)
    axes.spines[["left", "bottom"]].set_color(LINE)
    if legend:
        axes.legend(frameon=False, labelcolor=INK, fontsize=9, handlelength=1.6)
    return figure


def curves_figure(histories: Sequence[History], kept: Sequence[int]) -> Figure:
    """The loss of every network on the rows it learns from and, where there are any, on rows held out."""
    figure, axes = _chart()
    held_out = any(history.val_loss for history in histories)
    lines = [("train_loss", LIGHT[0], "labels it learns from")] + held_out * [("val_loss", LIGHT[2], "labels held out")]
    for name, colour, label in lines:
        losses = [getattr(history, name) for history in histories]
        for line in losses:
            axes.plot(np.arange(1, len(line) + 1), line, color=colour, linewidth=0.8, alpha=0.4)
        shortest = min(map(len, losses))
        mean = np.mean([line[:shortest] for line in losses], axis=0)
        axes.plot(np.arange(1, shortest + 1), mean, color=colour, linewidth=1.8, label=label)
    if held_out:
        chosen = [history.val_loss[epoch] for history, epoch in zip(histories, kept, strict=True)]
        axes.plot(np.add(kept, 1), chosen, "o", color=LIGHT[2], markersize=5, label="kept", linestyle="none")
    axes.set_ylim(bottom=0)
    return _finished(figure, axes, "step of training", "loss (lower is better)", legend=held_out)


def calibration_figure(found: Calibration) -> Figure:
    """What came true over what the model said; the diagonal is perfect."""
    figure, axes = _chart()
    axes.plot([0, 100], [0, 100], color=QUIET, linewidth=1, linestyle="--", label="as it should be")
    low, high = 100 * (found.right - found.low), 100 * (found.high - found.right)
    axes.errorbar(
        100 * found.said, 100 * found.right, yerr=np.maximum([low, high], 0.0), fmt="o", color=LIGHT[0], markersize=5,
        elinewidth=1.2, label="this model, with 95 % interval",
    )  # fmt: skip
    start = max(0.0, 10 * np.floor(10 * min(found.said.min(), found.low.min())) - 2)
    axes.set(xlim=(start, 102), ylim=(start, 102))
    return _finished(figure, axes, "how sure it says it is (%)", "how often it is right (%)", legend=True)


def residuals_figure(found: Residuals) -> Figure:
    """Predicted over true quantities; the diagonal is perfect."""
    figure, axes = _chart()
    shown = np.random.default_rng(0).permutation(len(found.truth))[:MOST_POINTS]
    ends = [min(found.truth.min(), found.predicted.min()), max(found.truth.max(), found.predicted.max())]
    axes.plot(ends, ends, color=QUIET, linewidth=1, linestyle="--", label="right")
    axes.plot(
        found.truth[shown], found.predicted[shown], "o", color=LIGHT[0], markersize=4, alpha=0.6, linestyle="none",
        label="a hidden row",
    )  # fmt: skip
    return _finished(figure, axes, "true value", "predicted value", legend=True)


def quantities_figure(known: NDArray[np.float64], predicted: NDArray[np.float64]) -> Figure:
    """How the known quantities and all predicted ones are spread."""
    figure, axes = _chart(2.6)
    edges = np.histogram_bin_edges(np.concatenate([known, predicted]), 24).tolist()
    for values, colour, label in ((known, LIGHT[2], "known"), (predicted, LIGHT[0], "predicted, all rows")):
        shares = np.full(len(values), 100 / len(values))
        axes.hist(values, edges, weights=shares, histtype="step", color=colour, linewidth=1.6, label=label)
    return _finished(figure, axes, "value", "share of the rows (%)", legend=True)


def comparison_figure(found: Comparison) -> Figure:
    """The score of every method, with its interval."""
    figure, axes = _chart(2.3)
    factor = 100 if found.classifies else 1
    places = np.arange(len(found.methods))[::-1]
    for place, method, colour in zip(places, found.methods, (LIGHT[0], *[QUIET] * 9), strict=False):
        axes.plot([factor * method.low, factor * method.high], [place, place], color=colour, linewidth=1.6)
        axes.plot(factor * method.score, place, "o", color=colour, markersize=7)
    axes.set_yticks(places, [method.name for method in found.methods])
    axes.set_ylim(-0.6, len(places) - 0.4)
    axes.grid(axis="x", color=LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    score = "hidden labels predicted right (%)" if found.classifies else "mean error on hidden rows (lower is better)"
    finished = _finished(figure, axes, score, "")
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.spines["left"].set_visible(False)
    return finished


def orders_figure(shares: NDArray[np.float64]) -> Figure:
    """The share of each order in each layer, (layers, α + 1), as bars."""
    figure, axes = _chart()
    n_layers, n_orders = shares.shape
    width = 0.8 / n_layers
    for layer, share in enumerate(shares):
        offsets = np.arange(n_orders) + (layer - (n_layers - 1) / 2) * width
        colour = LIGHT[layer % len(LIGHT)]
        axes.bar(offsets, 100 * share, width * 0.9, color=colour, label=f"layer {layer + 1}")
    axes.axhline(100 / n_orders, color=QUIET, linewidth=1, linestyle="--", label="equal shares")
    others = [f"{order}\n" for order in range(2, n_orders)]  # two lines, so that all numbers are level
    axes.set_xticks(range(n_orders), ["0\nrow itself", "1\nneighbours", *others])
    axes.margins(y=0.25)
    return _finished(
        figure, axes, "order (the higher, the more strong edges count)", "share of the weight (%)", legend=True
    )


def noise_figure(found: NoiseStability) -> Figure:
    """How many answers change over the strength of the noise, one line for each kind."""
    figure, axes = _chart()
    values = 100 * (found.changes if found.flips is None else found.flips)
    for (kind, label), colour, marker in zip(NOISES.items(), (LIGHT[0], LIGHT[2], LIGHT[1]), "osD", strict=True):
        rows = [row for row, noise in enumerate(found.noises) if noise.kind == kind]
        if not rows:
            continue
        strengths = [noise_strength(kind, found.noises[row].level) for row in rows]
        axes.plot(strengths, values[rows].mean(axis=1), marker=marker, markersize=4.5, color=colour, label=label)
        if values.shape[1] > 1:
            ends = values[rows].min(axis=1), values[rows].max(axis=1)
            axes.fill_between(strengths, *ends, color=colour, alpha=0.15, linewidth=0)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(6))
    changed = "answers that change (%)" if found.flips is not None else "change (% of the spread)"
    return _finished(figure, axes, "strength of the noise (%)", changed, legend=True)


def noise_strength(kind: str, level: float) -> float:
    """The strength of noise in per cent: of the number of edges, or of the size of the weights (level in dB)."""
    return 100 * (10 ** (-level / 20) if kind == "weights" else level)
