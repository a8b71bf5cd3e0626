"""Calibrate and blend predictions by how well each predicts labels that were hidden from it.

All rules are shrunk towards "no change", so that few labels change little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from s2gnn.learning.metrics import bootstrap_interval
from s2gnn.tables.numbers import number_text

Measure = Literal["accuracy", "mean absolute error"]

SMALLEST_PROBABILITY = 1e-6
# A label that a member calls impossible must not decide on its weight alone.
SMALLEST_LIKELIHOOD = 1e-3
TEMPERATURE_SPREAD = 0.25  # standard deviation of the logarithm of temperatures, before any label is seen
LARGEST_LOG_TEMPERATURE = 2.5
PSEUDO_LABELS = 2.0  # that each member of a blend explains, before any label is seen
DOUBT = 1.5  # the evidence, labels per class · skill, at which estimated shares count half
ITERATIONS = 200
PARTS = 5  # of the hidden labels, each of which is predicted by a blend of the others


def log_probabilities(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of probabilities (..., C), bounded below."""
    logs: NDArray[np.float64] = np.log(np.maximum(probabilities, SMALLEST_PROBABILITY))
    return logs


def tempered(probabilities: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    r"""Return :math:`p_c^{1/T} / \sum_d p_d^{1/T}` for probabilities (..., C): less certain for T > 1."""
    result: NDArray[np.float64] = softmax(log_probabilities(probabilities) / temperature, axis=-1)
    return result


def fit_temperature(
    probabilities: NDArray[np.float64], targets: NDArray[np.int64], spread: float = TEMPERATURE_SPREAD
) -> float:
    r"""Fit the temperature T under which hidden labels are likeliest, shrunk towards 1.

    .. math:: \min_T -\sum_i \log p_{T}(y_i) + \frac{(\log T)^2}{2 \sigma^2}

    Args:
        probabilities: class probabilities of rows whose label was hidden, (n, C).
        targets: their classes, (n,).
        spread: σ.
    """
    logs = log_probabilities(probabilities)
    rows = np.arange(len(targets))

    def loss(log_temperature: float) -> float:
        fit = log_softmax(logs * np.exp(-log_temperature), axis=1)[rows, targets].sum()
        return float(-fit + log_temperature**2 / (2 * spread**2))

    bounds = (-LARGEST_LOG_TEMPERATURE, LARGEST_LOG_TEMPERATURE)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6}).x))


def blend_weights(likelihoods: NDArray[np.float64], prior: Sequence[float]) -> NDArray[np.float64]:
    r"""Fit the weights w of a mixture that make hidden labels likeliest, shrunk towards the prior, (K,).

    .. math:: \max_w \sum_i \log \sum_k w_k\, \ell_{ki} + \sum_k m_k \log w_k

    by expectation maximisation: member k counts as if it alone explained m_k labels already.

    Args:
        likelihoods: of each hidden label under each member, (K, n).
        prior: m, (K,).
    """
    pseudo = np.array(prior)
    weights: NDArray[np.float64] = pseudo / pseudo.sum()
    bounded = np.maximum(likelihoods, SMALLEST_LIKELIHOOD)
    for _ in range(ITERATIONS):
        shares = weights[:, None] * bounded
        shares /= shares.sum(axis=0)
        weights = (shares.sum(axis=1) + pseudo) / (likelihoods.shape[1] + pseudo.sum())
    return weights


def class_likelihoods(members: NDArray[np.float64], targets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the probabilities (K, n) that members (K, n, C) give to the labels (n,)."""
    return members[:, np.arange(len(targets)), targets]


def value_likelihoods(members: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute densities (K, n) of the values (n,) under Gaussians at the members' predictions (K, n).

    Each member has its own standard deviation; densities are relative to the highest density of the best member.
    """
    squares = (members - targets) ** 2
    deviations = np.sqrt(np.maximum(squares.mean(axis=1, keepdims=True), np.finfo(float).tiny))
    densities: NDArray[np.float64] = np.exp(-squares / (2 * deviations**2)) * (deviations.min() / deviations)
    return densities


def chosen_per_class(counts: NDArray[np.int64]) -> bool:
    """Return whether rows were labelled class by class, judging by the number of labels of each class, (C,).

    More than half of the classes then have the largest number; classes with too few rows have fewer. Labels of random
    rows are rarely that equal.
    """
    return bool(2 * np.sum(counts == counts.max()) > len(counts))


def class_shares(
    probabilities: NDArray[np.float64], labelled: NDArray[np.float64], hidden_accuracy: float, per_class: float
) -> NDArray[np.float64]:
    r"""Estimate the share of each class among unlabelled rows, which labels drawn class by class do not show, (C,).

    Saerens, Latinne and Decaestecker's expectation maximisation, shrunk towards the shares of the labels: in every step

    .. math:: \pi \leftarrow (1 - r) \frac{1}{U} \sum_i q_i(\pi) + r\, \pi^0, \qquad r = 1 / (1 + m \kappa / 1.5)

    where q is p reweighted by π/π⁰, m the number of labels per class and κ the hidden-label accuracy rescaled so that
    guessing is 0 and certainty 1. Few labels, or labels that the columns hardly predict, leave π close to π⁰.

    Args:
        probabilities: calibrated, of the unlabelled rows, (U, C).
        labelled: π⁰, the shares of the labels, positive, (C,).
        hidden_accuracy: mean over the classes of the accuracy on hidden labels.
        per_class: m.
    """
    n_rows, n_classes = probabilities.shape
    if n_rows == 0 or n_classes < 2:
        return labelled
    skill = max(0.0, (n_classes * hidden_accuracy - 1) / (n_classes - 1))
    evidence = per_class * skill / DOUBT
    shrinkage = 1 / (1 + evidence * n_rows / (n_rows + evidence * n_classes))  # few rows are weak evidence as well
    shares = labelled
    logs = log_probabilities(probabilities)
    for _ in range(ITERATIONS):
        responsibilities = softmax(logs + np.log(shares / labelled), axis=1)
        shares = (1 - shrinkage) * responsibilities.mean(axis=0) + shrinkage * labelled
    return shares


@dataclass(frozen=True)
class ClassBlend:
    """Combines class probabilities of several members: temper each, average, temper, adapt to class shares."""

    temperatures: tuple[float, ...]  # of the members, (K,)
    weights: tuple[float, ...]  # (K,)
    temperature: float  # of their mean
    odds: tuple[float, ...]  # factor of each class: its estimated share divided by its share of the labels, (C,)

    @classmethod
    def of_prior(cls, prior: Sequence[float], n_classes: int) -> ClassBlend:
        """Return the blend without evidence, for too few labels to hide any; `prior` as in `blend_weights`."""
        weights = tuple(one / sum(prior) for one in prior)
        return cls((1.0,) * len(prior), weights, 1.0, (1.0,) * n_classes)

    @classmethod
    def fit(cls, members: NDArray[np.float64], targets: NDArray[np.int64], prior: Sequence[float]) -> ClassBlend:
        """Fit to the probabilities (K, n, C) of rows whose label (n,) was hidden; `prior` as in `blend_weights`."""
        temperatures = tuple(fit_temperature(member, targets) for member in members)
        calm = np.stack([tempered(member, t) for member, t in zip(members, temperatures, strict=True)])
        weights = blend_weights(class_likelihoods(calm, targets), prior)
        temperature = fit_temperature(np.tensordot(weights, calm, 1), targets)
        return cls(temperatures, tuple(weights.tolist()), temperature, (1.0,) * members.shape[2])

    def shares(self, members: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the part of each probability of `apply` that is due to each member, (K, Q, C); the parts add up to it.

        The mean of the tempered members is a sum; each member has the same share in the result as in that mean.
        """
        calm = np.stack([tempered(member, t) for member, t in zip(members, self.temperatures, strict=True)])
        parts = np.array(self.weights)[:, None, None] * calm
        return np.asarray(self.apply(members) * parts / parts.sum(axis=0))

    def apply(self, members: NDArray[np.float64]) -> NDArray[np.float64]:
        """Combine the members' probabilities (K, Q, C) into (Q, C)."""
        calm = np.stack([tempered(member, t) for member, t in zip(members, self.temperatures, strict=True)])
        mean = np.tensordot(np.array(self.weights), calm, 1)
        result: NDArray[np.float64] = softmax(log_probabilities(mean) / self.temperature + np.log(self.odds), axis=-1)
        return result


@dataclass(frozen=True)
class ValueBlend:
    """Combines the members' values by a weighted mean."""

    weights: tuple[float, ...]  # (K,)

    @classmethod
    def of_prior(cls, prior: Sequence[float]) -> ValueBlend:
        """Return the blend without evidence; `prior` as in `blend_weights`."""
        return cls(tuple(one / sum(prior) for one in prior))

    @classmethod
    def fit(cls, members: NDArray[np.float64], targets: NDArray[np.float64], prior: Sequence[float]) -> ValueBlend:
        """Fit to the predictions (K, n, 1) of rows whose value (n,) was hidden; `prior` as in `blend_weights`."""
        return cls(tuple(blend_weights(value_likelihoods(members[:, :, 0], targets), prior).tolist()))

    def shares(self, members: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the part of each value of `apply` that is due to each member, (K, Q, 1); the parts add up to it."""
        return np.asarray(np.array(self.weights)[:, None, None] * members)

    def apply(self, members: NDArray[np.float64]) -> NDArray[np.float64]:
        """Combine the members' values (K, Q, 1) into (Q, 1)."""
        result: NDArray[np.float64] = np.tensordot(np.array(self.weights), members, 1)
        return result


Blend = ClassBlend | ValueBlend


def cross_blended(
    kind: type[ClassBlend] | type[ValueBlend],
    members: NDArray[np.float64],
    targets: NDArray[Any],
    prior: Sequence[float],
    seed: int,
) -> NDArray[np.float64]:
    """Blend predictions for hidden labels, each with a blend fitted to the other hidden labels, (n, C).

    Args:
        kind: of blend.
        members: the members' predictions of the hidden labels, (K, n, C).
        targets: the labels, (n,).
        prior: as in `blend_weights`.
        seed: random seed of the division into five parts.
    """
    order = np.random.default_rng(seed).permutation(len(targets))
    blended = np.empty(members.shape[1:])
    for part in range(min(PARTS, len(order))):
        hidden = order[part::PARTS]
        others = np.setdiff1d(order, hidden)
        blended[hidden] = kind.fit(members[:, others], targets[others], prior).apply(members[:, hidden])
    return blended


@dataclass(frozen=True)
class GraphGain:
    """How much the graph improves predictions of hidden labels, with a 95 % interval.

    Attributes:
        value: accuracy of the blend minus that of the base predictor alone; for numbers, the mean absolute error of the
            base predictor minus that of the blend. Positive if the graph helps.
        low, high: the interval.
        rows: number of hidden labels.
        measure: "accuracy", a share of rows, or "mean absolute error".
    """

    value: float
    low: float
    high: float
    rows: int
    measure: Measure

    @classmethod
    def of_hits(cls, blended: NDArray[np.bool_], base: NDArray[np.bool_]) -> GraphGain:
        """Compute the gain from the rows that each predicts correctly, (n,), with Agresti and Min's interval.

        The interval adds half a row to each of the four cells of the comparison, so it is never of zero width.
        """
        n = len(base)
        gained, lost = float((blended & ~base).sum()), float((base & ~blended).sum())
        centre, total = (gained - lost) / (n + 2), gained + lost + 1
        half = 1.96 * np.sqrt(max(total - (gained - lost) ** 2 / (n + 2), 0.0)) / (n + 2)
        return cls((gained - lost) / n, float(centre - half), float(centre + half), n, "accuracy")

    @classmethod
    def of_errors(cls, blended: NDArray[np.float64], base: NDArray[np.float64]) -> GraphGain:
        """Compute the gain from the absolute errors of both, (n,), with a bootstrap interval."""
        gains = base - blended
        return cls(float(gains.mean()), *bootstrap_interval(gains), len(base), "mean absolute error")

    @property
    def sentence(self) -> str:
        """Describe the gain in a sentence."""
        points = self.measure == "accuracy"
        verb, of = ("worsens", " of the improvement") if self.value < 0 else ("improves", "")
        unit = " points" if points else ""
        numbers = (abs(self.value), self.low, self.high)
        by, low, high = (f"{100 * one:.1f}" if points else number_text(one, 3) for one in numbers)
        change = f"{verb} the {self.measure} by {by}{unit}" if self.value else f"does not change the {self.measure}"
        doubt = "; the interval includes no effect" if self.low <= 0 <= self.high and self.value else ""
        return (
            f"On {self.rows:,} hidden labels, the graph {change} compared with predicting from the columns alone "
            f"(95 % interval{of} {low} to {high}{unit}{doubt})."
        )
