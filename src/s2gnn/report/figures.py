"""The figures of the report, drawn by matplotlib; only the points of the graph carry texts of the table."""

from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from s2gnn.analysis import NoiseStability
from s2gnn.learning import History
from s2gnn.pictures import bare
from s2gnn.report.baselines import Comparison
from s2gnn.report.elements import Html
from s2gnn.report.graph_layout import GraphLayout
from s2gnn.report.svg import INK, LIGHT, LINE, QUIET, Element, inline_svg

Values = NDArray[np.float64]

SIZE = (4.7, 3.1)  # inches
GRAPH_WIDTH = 9.0
MAX_POINTS = 600
NOISES = {"dropped": "edges removed", "added": "edges added", "weights": "weights changed"}
MARKERS = {  # by matplotlib's name, as an SVG path of 12 × 12
    "o": "M2 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "s": "M2.5 2.5h7v7h-7z",
    "^": "M6 2L10 10H2z",
    "D": "M6 1.5L10.5 6L6 10.5L1.5 6z",
    "v": "M6 10L2 2H10z",
}
INSTRUCTIONS = "graph-help"  # id of the text that explains how to use the graph


def _chart(x: str, y: str, height: float = SIZE[1]) -> tuple[Figure, Axes]:
    """Return an empty chart with the labels of its axes."""
    figure = Figure(figsize=(SIZE[0], height), layout="constrained", facecolor="none")
    axes = figure.subplots()
    axes.set_facecolor("none")
    bare(axes)
    axes.set_xlabel(x, color=QUIET)
    axes.set_ylabel(y, color=QUIET)
    axes.tick_params(color=LINE, labelcolor=QUIET)
    axes.spines[["left", "bottom"]].set_color(LINE)
    return figure, axes


def _with_legend(figure: Figure) -> Figure:
    figure.axes[0].legend(frameon=False, labelcolor=INK, fontsize=9, handlelength=1.6)
    return figure


def loss_figure(histories: Sequence[History], kept_epochs: Sequence[int]) -> Figure:
    """Draw training loss of every network and, if there is one, validation loss."""
    figure, axes = _chart("epoch", "loss (lower is better)")
    validated = any(history.val_loss for history in histories)
    lines = [("train_loss", LIGHT[0], "training")] + validated * [("val_loss", LIGHT[2], "validation")]
    for name, colour, label in lines:
        losses = [getattr(history, name) for history in histories]
        for line in losses:
            axes.plot(np.arange(1, len(line) + 1), line, color=colour, linewidth=0.8, alpha=0.4)
        shortest = min(map(len, losses))
        mean = np.mean([line[:shortest] for line in losses], axis=0)
        axes.plot(np.arange(1, shortest + 1), mean, color=colour, linewidth=1.8, label=label)
    if validated:
        chosen = [history.val_loss[epoch] for history, epoch in zip(histories, kept_epochs, strict=True)]
        axes.plot(np.add(kept_epochs, 1), chosen, "o", color=LIGHT[2], markersize=5, label="kept", linestyle="none")
    axes.set_ylim(bottom=0)
    return _with_legend(figure) if validated else figure


def calibration_figure(
    confidence: Values, accuracy: Values, low: Values, high: Values, *, before: Values | None = None
) -> Figure:
    """Draw accuracy over confidence in B bins, with the intervals of the accuracy, all (B,); the diagonal is perfect.

    `before` has confidence and accuracy before calibration, (2, bins).
    """
    figure, axes = _chart("probability (%)", "accuracy (%)", 3.7)
    axes.plot([0, 100], [0, 100], color=QUIET, linewidth=1, linestyle="--", label="perfectly calibrated")
    reach = np.maximum([accuracy - low, high - accuracy], 0.0)
    axes.errorbar(
        100 * confidence, 100 * accuracy, yerr=100 * reach, fmt="o", color=LIGHT[0], markersize=5, elinewidth=1.2,
        label="this model, with 95 % interval",
    )  # fmt: skip
    lowest = min(confidence.min(), low.min())
    if before is not None:
        lowest = min(lowest, before.min())
        axes.plot(
            *(100 * before), "o", color=LIGHT[2], markerfacecolor="none", markersize=6, linestyle="none",
            label="before calibration",
        )  # fmt: skip
    start = max(0.0, 10 * np.floor(10 * lowest) - 2)
    axes.set(xlim=(start, 102), ylim=(start, 102))
    axes.legend(  # above the chart, because points may lie anywhere in it
        frameon=False, labelcolor=INK, fontsize=9, handlelength=1.6, loc="lower left", bbox_to_anchor=(0, 1)
    )
    return figure


def residuals_figure(truth: Values, predicted: Values) -> Figure:
    """Draw predicted over true values (n,); the diagonal is perfect."""
    figure, axes = _chart("true value", "predicted value")
    shown = np.random.default_rng(0).permutation(len(truth))[:MAX_POINTS]
    ends = [min(truth.min(), predicted.min()), max(truth.max(), predicted.max())]
    axes.plot(ends, ends, color=QUIET, linewidth=1, linestyle="--", label="perfect prediction")
    axes.plot(
        truth[shown], predicted[shown], "o", color=LIGHT[0], markersize=4, alpha=0.6, linestyle="none",
        label="a hidden value",
    )  # fmt: skip
    return _with_legend(figure)


def values_figure(known: Values | None, predicted: Values) -> Figure:
    """Draw histograms of the known values, if there are any, and of all predicted ones."""
    figure, axes = _chart("value", "share of the rows (%)", 2.6)
    shown = [(predicted, LIGHT[0], "predicted, all rows")]
    if known is not None:
        shown.insert(0, (known, LIGHT[2], "known"))
    edges = np.histogram_bin_edges(np.concatenate([values for values, _, _ in shown]), 24).tolist()
    for values, colour, label in shown:
        shares = np.full(len(values), 100 / len(values))
        axes.hist(values, edges, weights=shares, histtype="step", color=colour, linewidth=1.6, label=label)
    return _with_legend(figure)


def comparison_figure(found: Comparison) -> Figure:
    """Draw the score of every method with its interval."""
    score = "accuracy on hidden labels (%)" if found.classifies else "mean absolute error (lower is better)"
    figure, axes = _chart(score, "", 2.9)
    factor = 100 if found.classifies else 1
    heights = np.arange(len(found.methods))[::-1]
    for height, method in zip(heights, found.methods, strict=True):
        colour = LIGHT[0] if method.p is None else QUIET
        axes.plot([factor * method.low, factor * method.high], [height, height], color=colour, linewidth=1.6)
        axes.plot(factor * method.score, height, "o", color=colour, markersize=7)
    axes.set_yticks(heights, [method.name for method in found.methods])
    axes.set_ylim(-0.6, len(heights) - 0.4)
    axes.grid(axis="x", color=LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.spines["left"].set_visible(False)
    return figure


def branches_figure(shares: Values) -> Figure:
    """Draw the share of each branch in each layer, (layers, α + 1), as bars."""
    figure, axes = _chart("branch (higher: strong edges count more)", "share of the weight (%)")
    draw_branches(axes, shares, ("0\nrow itself", "1\nneighbours"))
    return _with_legend(figure)


def draw_branches(axes: Axes, shares: Values, first_labels: tuple[str, str]) -> None:
    """Draw the share of each branch in each layer, (layers, α + 1); `first_labels` are those of branches 0 and 1."""
    n_layers, n_branches = shares.shape
    width = 0.8 / n_layers
    for layer, share in enumerate(shares):
        offsets = np.arange(n_branches) + (layer - (n_layers - 1) / 2) * width
        axes.bar(offsets, 100 * share, width * 0.9, color=LIGHT[layer % len(LIGHT)], label=f"layer {layer + 1}")
    axes.axhline(100 / n_branches, color=QUIET, linewidth=1, linestyle="--", label="equal shares")
    higher = [f"{branch}\n" for branch in range(2, n_branches)]  # two lines, to align all numbers
    axes.set_xticks(range(n_branches), [*first_labels, *higher])
    axes.margins(y=0.25)


def noise_figure(found: NoiseStability) -> Figure:
    """Draw the predictions that change over the strength of each noise."""
    changed = "predictions that change (%)" if found.flips is not None else "change (% of the spread)"
    figure, axes = _chart("strength of the noise (%)", changed)
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
    return _with_legend(figure)


def noise_strength(kind: str, level: float) -> float:
    """Format the strength of noise as a percentage of the number of edges, or of the size of the weights (dB)."""
    return 100 * (10 ** (-level / 20) if kind == "weights" else level)


def point_style(group: int, *, ordered: bool) -> tuple[str, str]:
    """Return CSS class and marker of a class or, if `ordered`, of an interval of values; 50 classes look different."""
    if ordered:
        return f"q{group}", "o"
    return f"c{group % len(LIGHT)}", list(MARKERS)[(group + group // len(LIGHT)) % len(MARKERS)]


def marker_svg(group: int, *, ordered: bool = False) -> Html:
    """Return the point of a class or interval, for a legend."""
    colour, marker = point_style(group, ordered=ordered)
    path = f'<path d="{MARKERS[marker]}"/>'
    return Html(f'<svg class="marker points {colour}" viewBox="0 0 12 12" aria-hidden="true">{path}</svg>')


def graph_svg(
    layout: GraphLayout,
    groups: NDArray[np.int64],
    labelled: NDArray[np.bool_],
    texts: Sequence[str],
    *,
    ordered: bool,
) -> Html:
    """Return the graph, each of whose m points shows its row when it is pointed at.

    Args:
        layout: of the graph.
        groups: the class of each point or, if `ordered`, the interval of its value, (m,).
        labelled: the points whose row has a label, (m,).
        texts: about the rows, (m,).
        ordered: see `groups`.
    """
    top = max(float(layout.positions[:, 1].max()), 0.2)
    figure = Figure(figsize=(GRAPH_WIDTH, GRAPH_WIDTH * (top + 0.06) / 1.06), facecolor="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, top + 0.03))
    if len(layout.pairs):
        ends = layout.positions[layout.pairs].reshape(-1, 2)
        path = Path(ends, np.tile([Path.MOVETO, Path.LINETO], len(layout.pairs)))
        path.should_simplify = False  # keep every edge, however short
        axes.add_patch(PathPatch(path, fill=False, gid="edges"))
    members: dict[str, NDArray[np.int64]] = {}
    size = float(np.clip(220 / np.sqrt(len(layout.rows)), 6, 10))
    for has_label in (False, True):
        for group in np.unique(groups[labelled == has_label]).tolist():
            colour, marker = point_style(group, ordered=ordered)
            gid = f"{colour}{' known' if has_label else ''}|{group}"
            members[gid] = np.flatnonzero((groups == group) & (labelled == has_label))
            axes.plot(
                *layout.positions[members[gid]].T, marker, color="black", markeredgecolor="black", gid=gid,
                markersize=size * (1.35 if has_label else 1.0) * (0.85 if marker in "sD" else 1.0), linestyle="none",
            )  # fmt: skip

    def edit(root: Element) -> None:
        root.attrib |= {"role": "group", "aria-describedby": INSTRUCTIONS}
        for element in root.iter("g"):
            gid = element.get("id", "")
            if gid == "edges":
                _leave_style_to_page(element, "edges")
                element.set("stroke-opacity", f"{np.clip(9 / np.sqrt(len(layout.pairs)), 0.1, 0.3):.2f}")
            elif gid in members:
                _leave_style_to_page(element, f"points {gid.split('|')[0]}")
                for point, member in zip(list(element.iter("use")), members[gid].tolist(), strict=True):
                    point.attrib |= {"id": f"row-{layout.rows[member] + 1}", "role": "img"}
                    ElementTree.SubElement(point, "title").text = texts[member]

    return inline_svg(figure, "graph", f"The graph of {len(layout.rows):,} rows", edit)


def _leave_style_to_page(group: Element, css_class: str) -> None:
    group.set("class", css_class)
    for element in group.iter():
        element.attrib.pop("style", None)
        element.attrib.pop("clip-path", None)
