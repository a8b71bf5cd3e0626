"""How well an estimator predicts labels that are hidden from it, on the graph that it already has."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from s2gnn.estimator.training_graph import TrainingGraph


def hidden_predictions(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    *,
    folds: int = 5,
    seed: int = 0,
    evaluated: int | None = None,
    on_fold: Callable[[int], None] | None = None,
) -> tuple[NDArray[np.int64], NDArray[Any]] | None:
    """Predict labels from those of the other folds; each class is spread evenly over the folds.

    All rows stay in the graph, as they do when labels are really missing.

    Args:
        estimator: fitted on `X` and `y`; its parameters and its graph are used.
        X: features (N, M).
        y: labels (N,) as text with `None`, or numbers with NaN, for unlabelled rows.
        folds: number of folds, at least 2; no more than there are labels.
        seed: of the folds.
        evaluated: so many folds are predicted; all if left out.
        on_fold: called with the number of the fold just predicted, for a progress bar.

    Returns:
        The rows whose label was hidden (n,) and what is predicted for them (n,); `None` if hiding a fold may leave too
        few labels.
    """
    is_classifier = y.dtype.kind == "O"
    labelled = np.flatnonzero([value is not None for value in y] if is_classifier else ~np.isnan(y))
    if is_classifier:
        counts = np.unique(y[labelled].astype(str), return_counts=True)[1]
        if np.sum(counts >= 2) < 2:
            return None
    elif len(labelled) < 4:
        return None
    order = np.random.default_rng(seed).permutation(labelled)
    if is_classifier:
        order = order[np.argsort(y[order].astype(str), kind="stable")]
    folds = min(folds, len(order))
    predicted = np.empty(len(y), dtype=y.dtype)
    graph = TrainingGraph(estimator.graph_, None)  # no row is new, so none needs to be joined
    hidden: list[NDArray[np.int64]] = []
    for fold in range(min(folds, evaluated or folds)):
        hidden.append(order[fold::folds])
        rest = y.copy()
        rest[hidden[-1]] = None if is_classifier else np.nan
        again = clone(estimator).set_params(graph="precomputed").fit(X, rest, adjacency=graph)
        predicted[hidden[-1]] = again.transduction_[hidden[-1]]
        if on_fold is not None:
            on_fold(fold)
    rows = np.sort(np.concatenate(hidden))
    return rows, predicted[rows]
