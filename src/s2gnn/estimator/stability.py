"""Measure the effect of edge noise on a fitted estimator's predictions, as numbers, a table and a figure."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from s2gnn.analysis import EdgeNoise, NoiseStability, edge_noise_stability, edge_noises
from s2gnn.analysis.noise_picture import TITLES, Curve, draw_noise_row
from s2gnn.errors import InputError
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.regressor import S2GNNRegressor
from s2gnn.graphs import Graph
from s2gnn.render import Block, Cell, Table
from s2gnn.tables.numbers import number_text

# Noise that a graph of real data may well have, in words; the verdict is about the worst of these.
MODERATE = {
    EdgeNoise("weights", 10.0): "the weights of its edges change by 32 %",
    EdgeNoise("dropped", 0.1): "10 % of its edges are removed",
    EdgeNoise("added", 0.1): "10 % more edges are added at random",
}
# The largest percentage of changed classes, or change of quantities relative to their spread, at which a model is
# called robust and fairly robust.
CLASS_LIMITS = (1.0, 5.0)
# 10 % of fewer edges are one edge or none.
FEWEST_EDGES = 20
QUANTITY_LIMITS = (5.0, 20.0)

Robustness = Literal["robust", "fairly robust", "sensitive"]
Estimator = TypeVar("Estimator", S2GNNClassifier, S2GNNRegressor)


def on_graph(estimator: Estimator, graph: Graph) -> Estimator:
    """Copy `estimator` to another graph of the same rows, with the same networks; nothing is retrained."""
    if graph.n_nodes != estimator.graph_.n_nodes:
        raise InputError(
            f"the graph has {graph.n_nodes} nodes, but the estimator was trained on {estimator.graph_.n_nodes} rows"
        )
    other = copy.copy(estimator)
    other.members_ = estimator.members_.on_graph(graph)
    other.answers_ = other._answers(other.predictions_)
    return other


def estimator_stability(
    estimator: Any,
    X: Any = None,
    truth: NDArray[Any] | None = None,
    known: NDArray[np.bool_] | None = None,
    *,
    noises: Sequence[EdgeNoise] | None = None,
    seeds: Sequence[int] = range(10),
    on_progress: Callable[[float], None] = lambda _: None,
) -> NoiseStability:
    """Measure how edge noise in the training graph affects a fitted `S2GNNClassifier` or `S2GNNRegressor`.

    The outputs are the probabilities of the classes, or the quantities minus their mean. The edges from new rows to
    training rows have no noise; the hidden states of the training rows are affected by it.

    Args:
        estimator: a fitted estimator.
        X: the rows (Q, M) to predict; the training rows by default.
        truth: their labels or values (Q,), for the score: the accuracy, or the mean absolute error.
        known: the rows that `truth` holds for, (Q,); all by default.
        noises: by default those of `edge_noises()` that the graph has room for, which needs at least 20 edges.
        seeds: one for each draw of every noise.
        on_progress: called with the fraction of the draws that is finished.
    """
    classifies = isinstance(estimator, S2GNNClassifier)
    if noises is None:
        if estimator.graph_.n_edges < FEWEST_EDGES:
            raise InputError(
                f"the graph has {estimator.graph_.n_edges} edges, too few to remove or add a share of them: the effect "
                f"of edge noise can be measured from {FEWEST_EDGES} edges on"
            )
        noises = [noise for noise in edge_noises() if noise.fits(estimator.graph_)] or edge_noises()

    def answers(graph: Graph) -> NDArray[np.float64]:
        other = on_graph(estimator, graph)
        return np.asarray(other.answers_ if X is None else other._predicted(X))

    clean = answers(estimator.graph_)
    rows = np.ones(len(clean), dtype=np.bool_) if known is None else known
    if truth is not None and (len(truth) != len(clean) or not rows.any()):
        raise InputError(f"there are {len(truth)} labels for {len(clean)} rows, {rows.sum()} of them known")
    centre = 0.0 if classifies else float(clean.mean())

    def score(outputs: NDArray[np.float64]) -> float:
        assert truth is not None
        if classifies:
            return float(np.mean(estimator.classes_[outputs[rows].argmax(axis=1)] == truth[rows]))
        return float(np.mean(np.abs(outputs[rows, 0] + centre - truth[rows])))

    return edge_noise_stability(
        lambda graph: answers(graph) - centre,
        estimator.graph_,
        None if truth is None else score,
        noises=noises,
        seeds=seeds,
        on_draw=lambda draw: on_progress(draw / (len(seeds) * len(noises))),
    )


def effects(found: NoiseStability) -> dict[EdgeNoise, float]:
    """Return the mean effect of each noise over its draws, in percent with one decimal, as displayed.

    It is the share of classes that change, or the change of quantities relative to their spread.
    """
    values = found.changes if found.flips is None else found.flips
    return {noise: round(100 * float(row.mean()), 1) for noise, row in zip(found.noises, values, strict=True)}


def robustness(found: NoiseStability) -> tuple[Robustness, float]:
    """Rate the robustness of a model by the worst effect of `MODERATE` noise; return both."""
    worst = max(effect for noise, effect in effects(found).items() if noise in MODERATE)
    few, more = QUANTITY_LIMITS if found.flips is None else CLASS_LIMITS
    return "robust" if worst <= few else "fairly robust" if worst <= more else "sensitive", worst


def verdict(found: NoiseStability) -> str:
    """Describe the robustness of a model in one sentence."""
    name, worst = robustness(found)
    rows = [row for row, noise in enumerate(found.noises) if noise in MODERATE]
    *cases, last = (MODERATE[found.noises[row]] for row in rows)
    effect = f"at most {worst:.1f} % of the predicted classes change" if worst else "no predicted class changes"
    if found.flips is None:
        effect = f"the predictions move by at most {worst:.1f} % of their spread"
    if found.scores is not None and found.clean_score is not None:
        scores = found.scores[rows].mean(axis=1)
        worst_score = _score_text(found, scores.max() if found.flips is None else scores.min())
        clean = _score_text(found, found.clean_score)
        effect += f"; the {_score_name(found)} is {clean} without noise and {worst_score} in the worst case"
    called = "sensitive to its graph" if name == "sensitive" else name
    return f"The model is {called}: if {', '.join(cases)} or {last}, {effect}."


def _score_name(found: NoiseStability) -> str:
    return "mean absolute error" if found.flips is None else "accuracy"


def _score_text(found: NoiseStability, score: float) -> str:
    return number_text(score) if found.flips is None else f"{100 * score:.1f} %"


def stability_content(found: NoiseStability, model: str, looked_at: str) -> dict[str, Any]:
    """Return the numbers for JSON; `looked_at` describes the rows that were predicted."""
    return {
        "model": model,
        "looked_at": looked_at,
        "task": "regress" if found.flips is None else "classify",
        "seeds": list(found.seeds),
        "score": found.clean_score,
        "rows": [
            {
                "kind": noise.kind,
                "level": noise.level,
                "changes": found.changes[row].tolist(),
                "flips": None if found.flips is None else found.flips[row].tolist(),
                "scores": None if found.scores is None else found.scores[row].tolist(),
            }
            for row, noise in enumerate(found.noises)
        ],
        "verdict": verdict(found),
    }


class _Shown(NamedTuple):
    """A measure as it is shown."""

    title: str
    values: NDArray[np.float64]  # (noises, draws)
    mean: str  # format
    deviation: str  # format


def _shown(found: NoiseStability) -> list[_Shown]:
    """Return the effect on the predictions, first as it is judged; the score, if there is one, last."""
    changes, flips, scores = found.changes, found.flips, found.scores
    if flips is None:
        shown = [_Shown("change (% of the spread)", 100 * changes, ".2f", ".2f")]
        return shown if scores is None else [*shown, _Shown("mean absolute error", scores, ".4g", ".2g")]
    shown = [
        _Shown("classes changed (%)", 100 * flips, ".2f", ".2f"),
        _Shown("change of probabilities (%)", 100 * changes, ".2f", ".2f"),
    ]
    return shown if scores is None else [*shown, _Shown("accuracy (%)", 100 * scores, ".1f", ".1f")]


def stability_layout(found: NoiseStability, model: str, looked_at: str) -> Table:
    """Return one block for each kind of noise, one row for each strength; the verdict is the first note."""
    shown, blocks = _shown(found), []
    for kind in dict.fromkeys(noise.kind for noise in found.noises):  # a complete graph has no room for more edges
        rows = [
            (noise.label, *(f"{m.values[row].mean():{m.mean}} ± {m.values[row].std():{m.deviation}}" for m in shown))
            for row, noise in enumerate(found.noises)
            if noise.kind == kind
        ]
        blocks.append(Block(TITLES[kind], tuple(tuple(map(Cell, row)) for row in rows)))
    clean = ""
    if found.clean_score is not None:
        clean = f"Without noise: {_score_name(found)} {_score_text(found, found.clean_score)}. "
    note = (
        f"Mean ± standard deviation over {len(found.seeds)} draws of the noise, on {looked_at}. {clean}At a ratio of s "
        "dB the noise on the weights has 10^(−s/20) times their size. The networks are not retrained."
    )
    header = ("noise", *(measure.title for measure in shown))
    return Table(f"Edge noise on {model}", header, tuple(blocks), (verdict(found), note))


def draw_stability(found: NoiseStability, model: str) -> Figure:
    """Draw a row of panels for the predictions that change, and one for the score if there is any."""
    shown, scored = _shown(found), found.clean_score is not None
    kinds = dict.fromkeys(noise.kind for noise in found.noises)
    figure = Figure(figsize=(7.2, 4.4 if scored else 2.5), layout="constrained")
    grid = figure.subplots(1 + scored, len(kinds), sharey="row", squeeze=False)
    draw_noise_row(grid[0], found.noises, [Curve("with noise", shown[0].values)], shown[0].title)
    for axes, kind in zip(grid[0], kinds, strict=True):
        axes.set_title(TITLES[kind], fontsize=9)
    if found.clean_score is not None:
        clean = found.clean_score * (1 if found.flips is None else 100)
        draw_noise_row(grid[1], found.noises, [Curve("with noise", shown[-1].values)], shown[-1].title, low=None)
        for axes in grid[1]:
            axes.axhline(clean, color="0.4", linestyle="--", linewidth=1, label="without noise")
        grid[1][0].legend(frameon=False, fontsize=7)
    figure.suptitle(f"Edge noise on {model}", fontsize=10)
    return figure
