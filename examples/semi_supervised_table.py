"""Tables with ten labels per class: S2GNNClassifier compared with methods of scikit-learn.

The tables come with scikit-learn: wine, on which S2GNNClassifier is among the best, breast cancer, on which simpler
methods are better, and digits, on which it is ahead if columns are standardised, but behind label spreading on the
pixels as they are. S2GNNClassifier, self-training and label spreading see the unlabelled rows too.

    python examples/semi_supervised_table.py [--quick]
"""

import sys
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from s2gnn import S2GNNClassifier

LABELS_PER_CLASS = 10
UNLABELLED = -1
SEMI_SUPERVISED = (S2GNNClassifier, SelfTrainingClassifier, LabelSpreading)


def load_tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return columns and classes by name; columns are standardised, except for the pixels of the last table."""
    loaders = {"wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
    loaded = {name: load(return_X_y=True) for name, load in loaders.items()}
    pixels, digits = loaded["digits"]
    return {name: (scale(X), y) for name, (X, y) in loaded.items()} | {"digits, pixels": (pixels / 16, digits)}


def few_labels(y: np.ndarray, draw: int) -> np.ndarray:
    """Return the labels `y` with ten of each class kept and the others hidden."""
    rng = np.random.default_rng(draw)
    partial = np.full_like(y, UNLABELLED)
    for label in np.unique(y):
        kept = rng.choice(np.flatnonzero(y == label), LABELS_PER_CLASS, replace=False)
        partial[kept] = label
    return partial


def methods(seed: int) -> dict[str, Any]:
    """Return classifiers by name, with their defaults."""
    return {
        "S2GNNClassifier": S2GNNClassifier(scale=False, random_state=seed),
        "logistic regression": LogisticRegression(max_iter=1000),
        "random forest": RandomForestClassifier(random_state=seed),
        "SVC": SVC(),
        "self-training": SelfTrainingClassifier(LogisticRegression(max_iter=1000)),
        "label spreading": LabelSpreading(),
    }


def accuracy(method: Any, X: np.ndarray, y: np.ndarray, partial: np.ndarray) -> float:
    """Return the share of the unlabelled rows that a method predicts correctly."""
    hidden = partial == UNLABELLED
    seen = np.full(len(y), True) if isinstance(method, SEMI_SUPERVISED) else ~hidden
    with np.errstate(invalid="ignore"):  # label spreading divides by zero for rows that no label reaches
        predicted = method.fit(X[seen], partial[seen]).predict(X[hidden])
    return float(np.mean(predicted == y[hidden]))


def main(quick: bool) -> None:
    """Draw the labels a few times, and print the mean accuracy on the rows whose label was hidden."""
    tables, draws = load_tables(), range(20)
    if quick:
        tables, draws = {"wine": tables["wine"]}, range(1)
    scores: dict[str, list[float]] = {name: [] for name in methods(0)}
    for X, y in tables.values():
        found = [[accuracy(method, X, y, few_labels(y, draw)) for method in methods(draw).values()] for draw in draws]
        for name, mean in zip(scores, np.mean(found, axis=0), strict=True):
            scores[name].append(100 * mean)
    print(f"accuracy (%) from {LABELS_PER_CLASS} labels per class, mean over {len(draws)} draws")
    print(f"{'':20s}{''.join(f'{table:>16s}' for table in tables)}")
    for name, means in scores.items():
        print(f"{name:20s}{''.join(f'{mean:16.1f}' for mean in means)}")


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
