"""Scores of predictions, and statistics of scores over seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score

from s2gnn.errors import InputError

RESAMPLES = 1000
LEVEL = 0.95
_POWER = 0.8
_EQUAL = 1e-12  # scores are shares of a few hundred nodes: differences that agree to twelve digits are equal


def accuracy(y: ArrayLike, predicted: ArrayLike) -> float:
    """Return the share of predicted classes (n,) that equal the labels (n,)."""
    return float(accuracy_score(*_same_shape(y, predicted)))


def macro_f1(y: ArrayLike, predicted: ArrayLike) -> float:
    """Return the mean F1 score over the classes that occur among labels (n,) or predictions (n,)."""
    return float(f1_score(*_same_shape(y, predicted), average="macro", zero_division=0.0))


def mean_roc_auc(y: ArrayLike, scores: ArrayLike) -> float:
    """Return the mean area under the ROC curve over labels, as in the Open Graph Benchmark.

    Labels that all nodes have, or none, are ignored.

    Args:
        y: (n, L) of 0 and 1.
        scores: (n, L), larger for a likelier 1; equal scores count half.
    """
    truth, given = _same_shape(y, scores)
    if truth.ndim != 2 or not np.isin(truth, (0, 1)).all():
        raise InputError(
            f"y has shape {truth.shape} and values {np.unique(truth)[:5]}, expected 0 and 1 of shape (n, L)"
        )
    if np.isnan(given).any():
        raise InputError("scores has NaN, which is neither larger nor smaller than others")
    positives = truth.sum(axis=0)
    negatives = len(truth) - positives
    has_curve = (positives > 0) & (negatives > 0)
    if not has_curve.any():
        raise InputError("no label has both a node with it and a node without it: no ROC curve can be drawn")
    # The area is the Mann-Whitney statistic; all labels at once are much faster than scikit-learn label by label, and
    # validation asks for it in every epoch.
    ranks = stats.rankdata(given[:, has_curve], axis=0)
    positives, negatives = positives[has_curve].astype(float), negatives[has_curve]
    rank_sums = (ranks * truth[:, has_curve]).sum(axis=0)
    return float(np.mean((rank_sums - positives * (positives + 1) / 2) / (positives * negatives)))


@dataclass(frozen=True)
class Confidence:
    """A mean over seeds, `mean` ± `half_width` at 95 %, of `n` scores."""

    mean: float
    half_width: float
    n: int


def bootstrap_interval(scores: ArrayLike, seed: int = 0) -> tuple[float, float]:
    """Return the 95 % bootstrap interval (percentiles of 1,000 draws) of the mean of `scores` (n,), in any order."""
    values = np.sort(np.asarray(scores, dtype=np.float64))
    if values.ndim != 1 or len(values) == 0 or not np.isfinite(values).all():
        raise InputError(f"the scores have shape {values.shape}, expected at least one finite number")
    draws = np.random.default_rng(seed).integers(len(values), size=(RESAMPLES, len(values)))
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(values[draws].mean(axis=1), [tail, 100 - tail])
    return float(low), float(high)


def bootstrap_confidence(scores: ArrayLike, seed: int = 0) -> Confidence:
    """Return the mean of `scores` (n,) and the distance to the farther end of a 95 % bootstrap interval (1,000 times).

    The order of the scores has no effect.
    """
    interval = bootstrap_interval(scores, seed)
    values = np.sort(np.asarray(scores, dtype=np.float64))
    mean = values.mean()
    return Confidence(float(mean), float(np.abs(np.subtract(interval, mean)).max()), len(values))


@dataclass(frozen=True)
class PairedComparison:
    """The comparison of two models on the same seeds.

    Attributes:
        n: number of seeds.
        mean_difference: mean score of the first model minus the second.
        low: lower end of its 95 % interval by Student's t; `None` for a single seed.
        high: upper end of the interval.
        p_t: p-value of the paired t-test; `None` if it is undefined: all differences are equal, or there is only one.
        differences: differences in the order of seeds.
    """

    n: int
    mean_difference: float
    low: float | None
    high: float | None
    p_t: float | None
    differences: tuple[float, ...] = field(repr=False)

    @cached_property
    def p_wilcoxon(self) -> float:
        """The p-value of Wilcoxon's signed-rank test; 1 if no seed differs."""
        none_differs = not np.any(np.abs(self.differences) > _EQUAL)
        return 1.0 if none_differs else float(stats.wilcoxon(self.differences).pvalue)

    @property
    def detectable(self) -> float | None:
        """The true difference that the paired t-test detects with probability 0.8; `None` for a single seed."""
        if self.n < 2:
            return None
        deviation, freedom = float(np.std(self.differences, ddof=1)), self.n - 1
        reach = stats.t.ppf((1 + LEVEL) / 2, freedom) + stats.t.ppf(_POWER, freedom)
        return float(reach) * deviation / math.sqrt(self.n)

    def p_equivalent(self, margin: float) -> float | None:
        """Return the p-value of two one-sided t-tests for a difference below `margin`; `None` for a single seed."""
        if self.n < 2:
            return None
        if self.p_t is None:
            return 0.0 if abs(self.mean_difference) < margin else 1.0
        above = stats.ttest_1samp(self.differences, -margin, alternative="greater")
        below = stats.ttest_1samp(self.differences, margin, alternative="less")
        return float(max(above.pvalue, below.pvalue))

    def describe(self) -> dict[str, float | None]:
        """Return all figures by name."""
        names = ("n", "mean_difference", "low", "high", "p_t", "p_wilcoxon", "detectable")
        return {name: getattr(self, name) for name in names}


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values of several tests, corrected by Holm's method for the number of tests."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(np.argsort(p_values, kind="stable")):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def compare_paired(first: Mapping[int, float], second: Mapping[int, float]) -> PairedComparison:
    """Compare the scores of two models, by seed; both must have the same seeds."""
    unpaired = sorted(first.keys() ^ second.keys())
    if unpaired or not first:
        what = f"seed {unpaired[0]} has a score of one model only" if unpaired else "there is no seed"
        raise InputError(f"{what}: a paired comparison needs the scores of both models for the same seeds")
    seeds = sorted(first)
    differences = np.array([first[seed] - second[seed] for seed in seeds])
    if not np.isfinite(differences).all():
        raise InputError(f"the score of seed {seeds[int(np.flatnonzero(~np.isfinite(differences))[0])]} is not finite")
    n, mean = len(differences), float(differences.mean())
    vary = bool(np.ptp(differences) > _EQUAL)
    low = high = p_t = None
    if n > 1:
        deviation = float(differences.std(ddof=1)) if vary else 0.0
        reach = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * deviation / math.sqrt(n)
        low, high = mean - reach, mean + reach
    if vary:
        p_t = float(stats.ttest_1samp(differences, 0.0).pvalue)
    return PairedComparison(n, mean, low, high, p_t, tuple(differences.tolist()))


def _same_shape(y: ArrayLike, given: ArrayLike) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    truth, other = np.asarray(y), np.asarray(given)
    if truth.shape != other.shape or truth.size == 0:
        raise InputError(f"labels have shape {truth.shape} and predictions {other.shape}: expected the same, not empty")
    return truth, other
