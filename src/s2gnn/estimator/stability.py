"""How robust a fitted estimator is: the effect of edge noise on its answers, as numbers, a table and a figure."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from s2gnn.analysis import EdgeNoise, NoiseStability, edge_noise_stability, edge_noises
from s2gnn.analysis.noise_picture import TITLES, Curve, draw_noise_row
from s2gnn.errors import InputError
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.new_rows import freeze
from s2gnn.estimator.regressor import S2GNNRegressor
from s2gnn.graphs import Graph
from s2gnn.render import Block, Cell, Table

# Noise that a graph of real data may well have; the verdict is about the worst of these.
MODERATE = (EdgeNoise("weights", 10.0), EdgeNoise("dropped", 0.1), EdgeNoise("added", 0.1))
# The largest percentage of changed classes, or change of quantities relative to their spread, at which a model is
# called robust and fairly robust.
CLASS_LIMITS = (1.0, 5.0)
QUANTITY_LIMITS = (5.0, 20.0)

Robustness = Literal["robust", "fairly robust", "sensitive"]
Estimator = TypeVar("Estimator", S2GNNClassifier, S2GNNRegressor)


def on_graph(estimator: Estimator, graph: Graph) -> Estimator:
    """A copy of `estimator` with the same networks on another graph of the same rows; they are not trained again."""
    if graph.n_nodes != estimator.graph_.n_nodes:
        raise InputError(
            f"the graph has {graph.n_nodes} nodes, but the estimator was trained on {estimator.graph_.n_nodes} rows"
        )
    other = copy.copy(estimator)
    other.graph_ = graph
    other.frozen_networks_, other.logits_ = freeze(other.networks_, other.features_, graph)
    other.answers_ = other._answers(other.logits_)
    return other


def estimator_stability(
    estimator: Any,
    X: Any = None,
    truth: NDArray[Any] | None = None,
    known: NDArray[np.bool_] | None = None,
    *,
    noises: Sequence[EdgeNoise] | None = None,
    seeds: Sequence[int] = range(10),
    on_draw: Callable[[int], None] | None = None,
) -> NoiseStability:
    """Measure a fitted `S2GNNClassifier` or `S2GNNRegressor` with noise on the edges of its training graph.

    The outputs are the probabilities of the classes, or the quantities minus their mean. The edges from new rows to
    training rows are without noise; the hidden states of the training rows are not.

    Args:
        estimator: fitted, with one network or several.
        X: the rows (Q, M) to predict; the training rows by default.
        truth: their labels or values (Q,), for the score: the accuracy, or the mean absolute error.
        known: the rows that `truth` holds for, (Q,); all by default.
        noises: see `edge_noise_stability`; by default those of `edge_noises()` that the graph has room for.
        seeds: see `edge_noise_stability`.
        on_draw: see `edge_noise_stability`.
    """
    classifies = isinstance(estimator, S2GNNClassifier)
    if noises is None and estimator.graph_.n_edges:
        noises = [noise for noise in edge_noises() if noise.fits(estimator.graph_)]

    def answers(graph: Graph) -> NDArray[np.float64]:
        other = on_graph(estimator, graph)
        if classifies:
            return np.asarray(other.label_distributions_ if X is None else other.predict_proba(X))
        return np.asarray(other.transduction_ if X is None else other.predict(X))[:, None]

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
        on_draw=on_draw,
    )


def effects(found: NoiseStability) -> dict[EdgeNoise, float]:
    """The mean effect of each noise over its draws, in percent with one decimal, as it is shown and judged.

    It is the share of classes that change, or the change of quantities relative to their spread.
    """
    values = found.changes if found.flips is None else found.flips
    return {noise: round(100 * float(row.mean()), 1) for noise, row in zip(found.noises, values, strict=True)}


def limits(found: NoiseStability) -> tuple[float, float]:
    """The largest effects at which a model is called robust and fairly robust."""
    return QUANTITY_LIMITS if found.flips is None else CLASS_LIMITS


def robustness(found: NoiseStability) -> tuple[Robustness, float]:
    """How robust a model is, by the effect of the worst of `MODERATE` noise, and that effect."""
    moderate = [effect for noise, effect in effects(found).items() if noise in MODERATE]
    if not moderate:
        raise InputError(f"a model is judged by {_names(MODERATE)}, but only {_names(found.noises)} were measured")
    worst, (few, more) = max(moderate), limits(found)
    return "robust" if worst <= few else "fairly robust" if worst <= more else "sensitive", worst


def verdict(found: NoiseStability) -> str:
    """One sentence on how robust a model is."""
    name, worst = robustness(found)
    rows = [row for row, noise in enumerate(found.noises) if noise in MODERATE]
    noises = _names([found.noises[row] for row in rows])
    effect = f"changes at most {worst:.1f} % of the predicted classes"
    if found.flips is None:
        effect = f"moves the predictions by at most {worst:.1f} % of their spread"
    called = "sensitive to its graph" if name == "sensitive" else name
    return f"The model is {called}: noise on its edges ({noises}) {effect}{_score(found, rows)}."


def _names(noises: Sequence[EdgeNoise]) -> str:
    return ", ".join(noise.label for noise in noises)


def _score(found: NoiseStability, rows: list[int]) -> str:
    """The worst mean score of the noises in `rows`, next to that without noise."""
    if found.scores is None or found.clean_score is None:
        return ""
    means = found.scores[rows].mean(axis=1)
    if found.flips is None:
        return f"; the mean absolute error is {found.clean_score:.4g} without it and at worst {means.max():.4g} with it"
    clean, worst = 100 * found.clean_score, 100 * means.min()
    return f"; the accuracy is {clean:.1f} % without it and at worst {worst:.1f} % with it"


def stability_content(found: NoiseStability, model: str, looked_at: str) -> dict[str, Any]:
    """The numbers as JSON has them.

    Args:
        found: measured.
        model: its name.
        looked_at: the rows that were predicted, in a few words.
    """
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


def stability_layout(content: Mapping[str, Any]) -> Table:
    """One block for each kind of noise, one row for each strength; the verdict is the first note."""
    scored, classifies = content["score"] is not None, content["task"] == "classify"
    header = ["noise"]
    header += ["classes changed (%)", "change of probabilities (%)"] if classifies else ["change (% of the spread)"]
    header += [_score_name(content)] if scored else []
    blocks = [
        Block(title, tuple(_row(row, content) for row in content["rows"] if row["kind"] == kind))
        for kind, title in _titles(content).items()
    ]
    note = (
        f"Mean ± standard deviation over {len(content['seeds'])} draws of the noise, on {content['looked_at']}. "
        + (f"Without noise: {_score_text(content['score'], content)}. " if scored else "")
        + "At a ratio of s dB the noise on the weights has 10^(−s/20) times their size. The networks are not "
        "retrained."
    )
    return Table(f"Edge noise on {content['model']}", tuple(header), tuple(blocks), (content["verdict"], note))


def _titles(content: Mapping[str, Any]) -> dict[str, str]:
    """The kinds of noise that were measured; a complete graph has no room for more edges."""
    return {kind: TITLES[kind] for kind in dict.fromkeys(row["kind"] for row in content["rows"])}


def _row(row: Mapping[str, Any], content: Mapping[str, Any]) -> tuple[Cell, ...]:
    texts = [EdgeNoise(row["kind"], row["level"]).label]
    shown = [("flips", 100.0)] if content["task"] == "classify" else []
    shown.append(("changes", 100.0))
    texts += [f"{factor * np.mean(row[key]):.2f} ± {factor * np.std(row[key]):.2f}" for key, factor in shown]
    if row["scores"] is not None:
        factor, form, spread = (100.0, ".1f", ".1f") if content["task"] == "classify" else (1.0, ".4g", ".2g")
        mean, deviation = factor * np.mean(row["scores"]), factor * np.std(row["scores"])
        texts.append(f"{mean:{form}} ± {deviation:{spread}}")
    return tuple(map(Cell, texts))


def _score_name(content: Mapping[str, Any]) -> str:
    return "accuracy (%)" if content["task"] == "classify" else "mean absolute error"


def _score_text(value: float, content: Mapping[str, Any]) -> str:
    return f"accuracy {100 * value:.1f} %" if content["task"] == "classify" else f"mean absolute error {value:.4g}"


def draw_stability(content: Mapping[str, Any]) -> Figure:
    """A row of panels for the predictions that change, and one for the score if there is any."""
    noises = [EdgeNoise(row["kind"], row["level"]) for row in content["rows"]]
    classifies, scored = content["task"] == "classify", content["score"] is not None
    figure = Figure(figsize=(7.2, 4.4 if scored else 2.5), layout="constrained")
    titles = _titles(content).values()
    grid = figure.subplots(1 + scored, len(titles), sharey="row", squeeze=False)
    key, what = ("flips", "classes changed (%)") if classifies else ("changes", "change (% of the spread)")
    changes = [[100 * value for value in row[key]] for row in content["rows"]]
    draw_noise_row(grid[0], noises, [Curve("with noise", changes)], what)
    for axes, title in zip(grid[0], titles, strict=True):
        axes.set_title(title, fontsize=9)
    if scored:
        factor = 100 if classifies else 1
        scores = [[factor * value for value in row["scores"]] for row in content["rows"]]
        draw_noise_row(grid[1], noises, [Curve("with noise", scores)], _score_name(content), low=None)
        for axes in grid[1]:
            axes.axhline(factor * content["score"], color="0.4", linestyle="--", linewidth=1, label="without noise")
        grid[1][0].legend(frameon=False, fontsize=7)
    figure.suptitle(f"Edge noise on {content['model']}", fontsize=10)
    return figure
