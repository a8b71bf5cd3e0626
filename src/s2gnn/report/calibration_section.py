"""The section on the reliability of predicted probabilities, before and after calibration."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from s2gnn.estimator.blending import ClassBlend
from s2gnn.estimator.evaluation import wilson_interval
from s2gnn.report.accuracy_sections import FEW_LABELS
from s2gnn.report.elements import Section, counted, percent, points
from s2gnn.report.figures import calibration_figure
from s2gnn.report.model import ReportedModel
from s2gnn.report.svg import chart

SIGNIFICANT = 0.05
SMALL_GAP = 0.05  # between confidence and accuracy
MAX_BINS = 10
LABELS_PER_BIN = 20


class Bin(NamedTuple):
    """Mean confidence and accuracy, with its 95 % interval, of n hidden labels."""

    confidence: float
    accuracy: float
    low: float
    high: float
    n: int


def calibration_bins(confidence: NDArray[np.float64], correct: NDArray[np.bool_]) -> list[Bin]:
    """Return up to ten quantile bins of the confidence (n,), of at least 20 labels each."""
    n_bins = int(np.clip(len(correct) // LABELS_PER_BIN, 1, MAX_BINS))
    edges = np.percentile(confidence, 100 * np.linspace(0, 1, n_bins + 1))
    index = np.searchsorted(edges[1:-1], confidence)
    bins = []
    for members in (index == number for number in np.unique(index)):
        n, hits = int(members.sum()), int(correct[members].sum())
        bins.append(Bin(float(confidence[members].mean()), hits / n, *wilson_interval(hits, n), n))
    return bins


def uncalibrated_bins(model: ReportedModel) -> list[Bin] | None:
    """Return the bins of the same blend of the members' predictions without temperatures and class shares.

    `None` if the networks are alone, or the folder does not hold the members' predictions for hidden labels.
    """
    hidden, blend = model.estimator.hidden_, model.estimator.blend_
    if hidden is None or not isinstance(blend, ClassBlend):
        return None
    plain = replace(blend, temperatures=(1.0,) * len(blend.weights), temperature=1.0, odds=(1.0,) * len(blend.odds))
    answers = plain.apply(hidden.members)
    return calibration_bins(answers.max(axis=1), answers.argmax(axis=1) == hidden.targets)


def expected_error(bins: Sequence[Bin]) -> float:
    """Return the mean over all labels of the distance between confidence and accuracy of their bin."""
    return float(np.average([abs(bin.confidence - bin.accuracy) for bin in bins], weights=[bin.n for bin in bins]))


def calibration_section(bins: Sequence[Bin], before: Sequence[Bin] | None = None) -> Section:
    """Return whether the predicted probabilities can be trusted; `before` are the bins before calibration, if known."""
    confidence, accuracy, n = _total(bins)
    by_chance = binomtest(round(accuracy * n), n, confidence).pvalue >= SIGNIFICANT
    small, worst, gap = abs(confidence - accuracy) <= SMALL_GAP, _worst_confidence(bins), points(confidence, accuracy)
    if by_chance and (not small or n < FEW_LABELS):
        differs = round(100 * confidence) != round(100 * accuracy)
        what = f"a difference of {gap}" if differs else "such an agreement"
        key, verdict = "too few labels to tell", f"With {n:,} labels, {what} may be due to chance."
    elif by_chance and worst:
        key, verdict = "on average, yes", "Its probabilities are well calibrated on average."
    elif by_chance:
        low, high = wilson_interval(round(accuracy * n), n)
        key = "no miscalibration detected"
        shown = counted(round(50 * (high - low)), "point")
        verdict = f"No miscalibration is found, but {n:,} labels do not show one of less than about {shown}."
    else:
        key = ("slightly " if small else "") + ("overconfident" if confidence > accuracy else "underconfident")
        verdict = f"The model is {key}, by {gap}."
    finding = (
        f"On the {counted(n, 'hidden label')}, the mean probability of the predictions is {percent(confidence)} and "
        f"their accuracy {percent(accuracy)}. {verdict}{worst}"
    )
    if before:
        then, now = (f"{100 * expected_error(each):.1f}" for each in (before, bins))
        finding += f" Probability and accuracy differ by {now} points on average; before calibration, by {then}."
    reading = (
        "Each point is a group of hidden labels with similar probability; the vertical line is the 95 % interval of "
        "their accuracy. On the dashed line probability equals accuracy; below it the model is overconfident, above it "
        "underconfident."
    )
    if before:
        reading += " Hollow points are the same predictions before they were calibrated."
    header = ("calibrated", "probability", "accuracy", "95 % interval", "hidden labels")
    rows = [
        (
            when,
            percent(min(bin.confidence, 1.0)),
            percent(bin.accuracy),
            f"{percent(bin.low)} to {percent(bin.high)}",
            f"{bin.n:,}",
        )
        for when, each in (("after", bins), ("before", before or ()))
        for bin in each
    ]
    drawing = calibration_figure(*np.array(bins).T[:4], before=None if not before else np.array(before).T[:2])
    figure = chart(drawing, "calibration", "Chart of accuracy over probability", header, rows)
    return Section("calibration", "Are its probabilities reliable?", key, finding, reading, figure)


def _total(bins: Sequence[Bin]) -> tuple[float, float, int]:
    """Return mean confidence, accuracy and number of the labels in all bins."""
    counts = [bin.n for bin in bins]
    confidence, accuracy = (float(mean) for mean in np.average(np.array(bins)[:, :2], axis=0, weights=counts))
    return min(confidence, 1.0), accuracy, sum(counts)


def _worst_confidence(bins: Sequence[Bin]) -> str:
    """Find the most significant miscalibration, if any is significant (with Bonferroni's correction).

    Bins with the same displayed confidence are merged, because the sentence is about all predictions with it.
    """
    alike: dict[str, list[Bin]] = {}
    for bin in bins:
        alike.setdefault(percent(min(bin.confidence, 1.0)), []).append(bin)
    merged = {text: _total(members) for text, members in alike.items()}
    p_values = {text: binomtest(round(hit * n), n, confidence).pvalue for text, (confidence, hit, n) in merged.items()}
    worst = min(p_values, key=lambda text: p_values[text])
    if len(merged) < 2 or p_values[worst] >= SIGNIFICANT / len(merged):
        return ""
    return (
        f" Where the probability is {worst}, the accuracy is {percent(merged[worst][1])}; chance does not explain this."
    )
