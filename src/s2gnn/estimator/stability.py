"""How robust a fitted estimator is: the effect of noise on the edges of its graph on its answers."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from s2gnn.analysis import EdgeNoise, NoiseStability, edge_noise_stability, edge_noises
from s2gnn.errors import InputError
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.new_rows import freeze
from s2gnn.estimator.regressor import S2GNNRegressor
from s2gnn.graphs import Graph

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
