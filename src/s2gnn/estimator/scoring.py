"""Scores of predictions on labelled rows, with what may be said of their confidence."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import r2_score

from s2gnn.estimator.card import CardScore
from s2gnn.learning.metrics import bootstrap_confidence


def classification_scores(truth: NDArray[Any], predicted: NDArray[Any], how: str) -> tuple[CardScore, ...]:
    """The accuracy on rows with labels (n,); the interval is Wilson's, which holds for few rows and for scores of 1."""
    correct = int(np.sum(truth == predicted))
    accuracy = correct / len(truth)
    interval = binomtest(correct, len(truth)).proportion_ci(method="wilson")
    half_width = max(accuracy - interval.low, interval.high - accuracy)
    return (CardScore("accuracy", accuracy, float(half_width), len(truth), how),)


def regression_scores(truth: NDArray[np.float64], predicted: NDArray[np.float64], how: str) -> tuple[CardScore, ...]:
    """The mean absolute error on rows with known values (n,), and R² where there are two rows or more."""
    error = bootstrap_confidence(np.abs(truth - predicted))
    scores = (CardScore("mean absolute error", error.mean, error.half_width, len(truth), how),)
    if len(truth) < 2:
        return scores
    return (*scores, CardScore("R²", float(r2_score(truth, predicted)), None, len(truth), how))
