"""How good a model is, on labels that were hidden from it: confusion matrix, calibration, residuals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

MOST_BINS = 10
ROWS_FOR_A_BIN = 20


def confusion_matrix(truth: NDArray[np.int64], predicted: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    """How many rows of each class (n,) are predicted to be of each, (C, C): a row of it for each true class."""
    counts = np.bincount(truth * n_classes + predicted, minlength=n_classes**2)
    return counts.reshape(n_classes, n_classes)


def commonest_mistakes(confusion: NDArray[np.int64], limit: int) -> list[tuple[int, int, int]]:
    """The true class, the predicted one and the number of rows of the commonest mistakes, most common first."""
    wrong = confusion - np.diag(np.diag(confusion))
    order = np.argsort(-wrong, axis=None, kind="stable")[:limit]
    pairs = np.stack(np.unravel_index(order, wrong.shape), axis=1).tolist()
    return [(true, taken, int(wrong[true, taken])) for true, taken in pairs if wrong[true, taken] > 0]


@dataclass(frozen=True)
class Calibration:
    """What a model says of its own chances, and what came of it, in B bins of about as many rows each.

    Attributes:
        said: mean probability of the predicted class, (B,).
        right: share of the rows that were predicted right, (B,).
        low: lower end of its 95 % interval, Wilson's, (B,).
        high: upper end, (B,).
        counts: number of rows, (B,).
    """

    said: NDArray[np.float64]
    right: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def stated(self) -> float:
        """How sure the model says it is, in the mean over all rows."""
        return float(np.average(self.said, weights=self.counts))

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of `said` and `right` over the rows."""
        return float(np.average(np.abs(self.said - self.right), weights=self.counts))

    @property
    def excess(self) -> float:
        """How much more the model says than comes true, over all rows; negative if it says less."""
        return float(np.average(self.said - self.right, weights=self.counts))


def calibration(probabilities: NDArray[np.float64], correct: NDArray[np.bool_]) -> Calibration:
    """Calibration of the probabilities (n,) of predicted classes, in bins between quantiles of them.

    There are ten bins, or as many as have twenty rows each, at least one.
    """
    n_bins = int(np.clip(len(correct) // ROWS_FOR_A_BIN, 1, MOST_BINS))
    edges = np.percentile(probabilities, 100 * np.linspace(0, 1, n_bins + 1))
    places = np.searchsorted(edges[1:-1], probabilities)
    counts = np.bincount(places, minlength=n_bins)
    filled = np.flatnonzero(counts)
    hits = np.bincount(places, weights=correct, minlength=n_bins)[filled].astype(np.int64)
    counts = counts[filled]
    intervals = [
        binomtest(hit, count).proportion_ci(method="wilson")
        for hit, count in zip(hits.tolist(), counts.tolist(), strict=True)
    ]
    return Calibration(
        said=np.bincount(places, weights=probabilities, minlength=n_bins)[filled] / counts,
        right=hits / counts,
        low=np.array([interval.low for interval in intervals]),
        high=np.array([interval.high for interval in intervals]),
        counts=counts,
    )


@dataclass(frozen=True)
class Residuals:
    """Quantities that were hidden (n,) and what was predicted for them (n,)."""

    truth: NDArray[np.float64]
    predicted: NDArray[np.float64]

    @property
    def errors(self) -> NDArray[np.float64]:
        """Predicted less true, (n,)."""
        return self.predicted - self.truth

    @property
    def typical(self) -> float:
        """The median of the errors' sizes."""
        return float(np.median(np.abs(self.errors)))

    @property
    def usual(self) -> float:
        """What nine of ten errors stay below in size."""
        return float(np.quantile(np.abs(self.errors), 0.9))
