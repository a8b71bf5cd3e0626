"""Evaluation of an estimator on labels that are hidden from it: folds, predictions and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import r2_score

from s2gnn.learning.metrics import bootstrap_interval
from s2gnn.tables.numbers import number_text

# With more rows, only one fold is hidden, because each takes as long as training itself.
ROWS_FOR_EVERY_FOLD = 20_000
SHARES = ("accuracy", "balanced accuracy", "most frequent class")  # names of scores in percent
HIDDEN = "cross-validated on hidden labels"


@dataclass(frozen=True)
class CardScore:
    """One measured score.

    Attributes:
        name: name of the score, such as "accuracy".
        value: the score, 0.93 for an accuracy of 93 %.
        low: lower end of its 95 % interval; `None` if there is none.
        high: upper end of the interval.
        rows: number of rows it was measured on.
        how: how and on which rows it was measured, such as "5-fold cross-validation on the labelled rows".
    """

    name: str
    value: float
    low: float | None
    high: float | None
    rows: int
    how: str

    def to_json(self) -> dict[str, Any]:
        """Return the attributes by name, with the distance to the farther end of the interval as `half_width`."""
        ends = [abs(end - self.value) for end in (self.low, self.high) if end is not None]
        return {**asdict(self), "half_width": max(ends, default=None)}


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Predictions for labels that were hidden from the estimator.

    Attributes:
        rows: the rows whose label was hidden, ascending, (n,).
        folds: the fold in which each was hidden, (n,).
        answers: the probabilities of the estimator's classes (n, C), zero for a class without remaining labels; or
            the quantities (n, 1).
        targets: the labels, as indices of the estimator's classes or as quantities, (n,).
        n_groups: the number of groups that were each hidden as a whole; `None` if every row was on its own.
    """

    rows: NDArray[np.int64]
    folds: NDArray[np.int64]
    answers: NDArray[np.float64]
    targets: NDArray[Any]
    n_groups: int | None = None

    def __repr__(self) -> str:
        score = self.scores[0]
        return f"Evaluation({score.name.replace(' ', '_')}={number_text(score.value, 3)}, n={score.rows})"

    @property
    def predicted(self) -> NDArray[Any]:
        """Return the index of the likeliest class, or the quantity, (n,)."""
        return self.answers.argmax(axis=1) if self.answers.shape[1] > 1 else self.answers[:, 0]

    @property
    def scores(self) -> tuple[CardScore, ...]:
        """Return the accuracy and what to compare it with, or the mean absolute error and R²."""
        measure = classification_scores if self.answers.shape[1] > 1 else regression_scores
        how = HIDDEN if self.n_groups is None else f"{HIDDEN}, {self.n_groups:,} groups kept together"
        return measure(self.targets, self.predicted, how)


@dataclass(frozen=True)
class HiddenPredictions:
    """Predictions by each member of an estimator for hidden labels; see `Evaluation`."""

    rows: NDArray[np.int64]  # (n,)
    folds: NDArray[np.int64]  # (n,)
    members: NDArray[np.float64]  # (members, n, answers)
    targets: NDArray[Any]  # (n,)

    @classmethod
    def of_folds(
        cls,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        parts: Sequence[NDArray[np.int64]],
        predicted: Sequence[NDArray[np.float64]],
    ) -> HiddenPredictions:
        """Collect what was `predicted`, (members, n, answers), for `parts`, positions in the labelled `rows`."""
        places = np.concatenate(parts)
        order = np.argsort(places)
        folds = np.repeat(np.arange(len(parts)), [len(part) for part in parts])[order]
        places = places[order]
        return cls(rows[places], folds, np.concatenate(predicted, axis=1)[:, order], targets[places])


def number_of_folds(n_folds: int, n_rows: int) -> int:
    """Return the number of folds to predict for a table: all, or one for more than 20,000 rows."""
    return n_folds if n_rows <= ROWS_FOR_EVERY_FOLD else 1


def hidden_folds(
    rows: NDArray[np.int64],
    strata: NDArray[np.int64] | None,
    n_folds: int,
    seed: int,
    groups: NDArray[np.int64] | None = None,
) -> list[NDArray[np.int64]]:
    """Return the positions in the labelled `rows` (n,) that each fold hides; none if too few labels would remain.

    Each class of `strata` (n,), which is `None` for quantities, is spread evenly over the folds. Rows of one group of
    `groups` (n,) are in the same fold.
    """
    if groups is not None:
        return _group_folds(strata, n_folds, seed, np.unique(groups, return_inverse=True)[1])
    if len(rows) < 4 if strata is None else np.sum(np.bincount(strata) >= 2) < 2:
        return []
    order = np.searchsorted(rows, np.random.default_rng(seed).permutation(rows))
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    n_folds = min(n_folds, len(order))
    return [order[fold::n_folds] for fold in range(n_folds)]


def _group_folds(
    strata: NDArray[np.int64] | None, n_folds: int, seed: int, groups: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Deal whole groups 0..G−1 (n,) out to the folds, those with similar numbers of labels of each class in turn."""
    counts = np.zeros((groups.max() + 1, 1 if strata is None else strata.max() + 1), dtype=np.int64)  # (G, C)
    np.add.at(counts, (groups, np.zeros_like(groups) if strata is None else strata), 1)
    if len(counts) < 4 if strata is None else np.sum((counts > 0).sum(axis=0) >= 2) < 2:
        return []
    order = np.random.default_rng(seed).permutation(len(counts))
    order = order[np.lexsort(counts[order].T)]
    n_folds = min(n_folds, len(order))
    return [np.flatnonzero(np.isin(groups, order[fold::n_folds])) for fold in range(n_folds)]


def wilson_interval(correct: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of an accuracy; it is valid for few rows and for accuracies of 1."""
    interval = binomtest(correct, n).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def classification_scores(truth: NDArray[Any], predicted: NDArray[Any], how: str) -> tuple[CardScore, ...]:
    """Compute the accuracy on rows with labels (n,).

    The mean recall of the classes follows unless the classes are of equal size, then the accuracy of always predicting
    the most frequent class.
    """
    n, hits = len(truth), truth == predicted
    accuracy = CardScore("accuracy", float(hits.mean()), *wilson_interval(int(hits.sum()), n), n, how)
    _, codes, counts = np.unique(truth.astype(str), return_inverse=True, return_counts=True)
    if len(counts) == 1:
        return (accuracy,)
    recalls = np.bincount(codes, hits) / counts
    balanced = CardScore("balanced accuracy", float(recalls.mean()), None, None, n, "mean recall of the classes")
    share = float(counts.max()) / n
    constant = CardScore("most frequent class", share, None, None, n, "the accuracy of always predicting it")
    return (accuracy, constant) if counts.min() == counts.max() else (accuracy, balanced, constant)


def regression_scores(truth: NDArray[Any], predicted: NDArray[Any], how: str) -> tuple[CardScore, ...]:
    """Compute the mean absolute error on rows with known values (n,), and R² for two rows or more."""
    errors = np.abs(truth - predicted)
    scores = (CardScore("mean absolute error", float(errors.mean()), *bootstrap_interval(errors), len(truth), how),)
    if len(truth) < 2:
        return scores
    return (*scores, CardScore("R²", float(r2_score(truth, predicted)), None, None, len(truth), how))


def score_text(score: CardScore) -> str:
    """Format a score with its interval; a share of rows in percent, other scores with the digits of the interval."""
    ends = [end for end in (score.low, score.high) if end is not None]
    if score.name in SHARES:
        value, unit, interval = f"{100 * score.value:.1f}", " %", [f"{100 * end:.1f}" for end in ends]
    else:
        (value, *interval), unit = numbers_text(score.value, *ends), ""
    return f"{value}{unit}" + (f" (95 % interval {' to '.join(interval)})" if ends else "")


def numbers_text(value: float, *ends: float) -> list[str]:
    """Format a value and the ends of its interval with the decimals of two significant digits of the half-width."""
    width = max((abs(end - value) for end in ends), default=0.0)
    if not 1e-6 < width < 1e6:
        return [number_text(number) for number in (value, *ends)]
    decimals = max(0, 1 - int(np.floor(np.log10(width))))
    return [f"{number:.{decimals}f}" for number in (value, *ends)]
