"""A table of which one row in twenty is labelled: S2GNNClassifier compared with three methods of scikit-learn.

The rows are handwritten digits, 8×8 pixels each. S2GNNClassifier and LabelSpreading see the rows without a label too;
the others learn from the labelled ones alone.

    python examples/semi_supervised_table.py [--quick]
"""

import sys
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from s2gnn import S2GNNClassifier

LABELLED = 0.05
UNLABELLED = -1


def few_labels(y: np.ndarray, draw: int) -> np.ndarray:
    """The labels `y` with 5 % of each class kept and the others hidden."""
    rng = np.random.default_rng(draw)
    partial = np.full_like(y, UNLABELLED)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        kept = rng.choice(rows, round(LABELLED * len(rows)), replace=False)
        partial[kept] = label
    return partial


def transductive(model: Any, X: np.ndarray, partial: np.ndarray) -> np.ndarray:
    """The answers for all rows of a model that learns from all of them."""
    return np.asarray(model.fit(X, partial).transduction_)


def supervised(model: Any, X: np.ndarray, partial: np.ndarray) -> np.ndarray:
    """The answers for all rows of a model that learns from the labelled ones."""
    labelled = partial != UNLABELLED
    pipeline = make_pipeline(StandardScaler(), model)
    return np.asarray(pipeline.fit(X[labelled], partial[labelled]).predict(X))


def main(quick: bool) -> None:
    """Draw the labels a few times, and print the mean accuracy on the rows whose label was hidden."""
    X, y = load_digits(return_X_y=True)
    if quick:
        X, y = X[:400], y[:400]
    draws = range(1 if quick else 5)
    scores: dict[str, list[float]] = {}
    for draw in draws:
        partial = few_labels(y, draw)
        hidden = partial == UNLABELLED
        answers = {
            "S2GNNClassifier": transductive(S2GNNClassifier(random_state=draw), X, partial),
            "LabelSpreading": transductive(LabelSpreading(), StandardScaler().fit_transform(X), partial),
            "SVC": supervised(SVC(), X, partial),
            "LogisticRegression": supervised(LogisticRegression(), X, partial),
        }
        for name, predicted in answers.items():
            scores.setdefault(name, []).append(float(np.mean(predicted[hidden] == y[hidden])))
    print(f"{len(y)} digits, {(few_labels(y, 0) != UNLABELLED).sum()} of them labelled; mean over {len(draws)} draws")
    for name, values in scores.items():
        print(f"{name:20s}{100 * np.mean(values):5.1f} %")


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
