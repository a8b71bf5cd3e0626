"""How well an estimator predicts labels that are hidden from it, on the graph that it already has."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from s2gnn.estimator.training_graph import TrainingGraph


@dataclass(frozen=True)
class HiddenAnswers:
    """What was predicted for labels while they were hidden.

    Attributes:
        rows: whose label was hidden, ascending, (n,).
        folds: the number of the fold that each was hidden with, (n,).
        answers: the probabilities of the estimator's classes (n, C), zero for one that had no label left; or the
            quantities (n, 1).
    """

    rows: NDArray[np.int64]
    folds: NDArray[np.int64]
    answers: NDArray[np.float64]

    def values(self, classes: NDArray[Any] | None) -> NDArray[Any]:
        """The likeliest of `classes`, or the quantities where there are none, (n,)."""
        if classes is None:
            return self.answers[:, 0]
        likeliest: NDArray[Any] = classes[self.answers.argmax(axis=1)]
        return likeliest


def hidden_answers(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    *,
    folds: int = 5,
    seed: int = 0,
    evaluated: int | None = None,
    on_fold: Callable[[int], None] | None = None,
) -> HiddenAnswers | None:
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
        What is predicted for the hidden labels; `None` if hiding a fold may leave too few labels.
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
    graph = TrainingGraph(estimator.graph_, None)  # no row is new, so none needs to be joined
    fold_of = np.full(len(y), -1)
    answers = np.zeros((len(y), len(estimator.classes_) if is_classifier else 1))
    evaluated = min(folds, evaluated or folds)
    for fold in range(evaluated):
        hidden = order[fold::folds]
        rest = y.copy()
        rest[hidden] = None if is_classifier else np.nan
        again = clone(estimator).set_params(graph="precomputed").fit(X, rest, adjacency=graph)
        fold_of[hidden] = fold
        if is_classifier:
            known = np.searchsorted(estimator.classes_, again.classes_)
            answers[hidden[:, None], known] = again.label_distributions_[hidden]
        else:
            answers[hidden, 0] = again.transduction_[hidden]
        if on_fold is not None:
            on_fold(fold)
    rows = np.flatnonzero(fold_of >= 0)
    return HiddenAnswers(rows, fold_of[rows], answers[rows])
