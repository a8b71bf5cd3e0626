"""Evaluate simpler methods on the same hidden labels, for comparison with the model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, wilcoxon
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from s2gnn.estimator.evaluation import wilson_interval
from s2gnn.learning.classical import LabelSpreading
from s2gnn.learning.metrics import bootstrap_interval
from s2gnn.report.model import ReportedModel

OURS, SPREADING, CONSTANT = "S2-GNN", "label spreading", "constant prediction"
LINEAR, RIDGE, FOREST, NEIGHBOURS = "logistic regression", "ridge regression", "random forest", "k-NN"


@dataclass(frozen=True)
class Method:
    """The result of one method on the hidden labels."""

    name: str
    score: float  # accuracy, or mean absolute error
    low: float  # lower end of its 95 % interval
    high: float  # upper end
    p: float | None  # p-value of the difference to S2-GNN; `None` for S2-GNN itself


@dataclass(frozen=True)
class Comparison:
    """All methods on the same `n` hidden labels, S2-GNN first; scores are accuracies if `classifies`, else errors."""

    methods: tuple[Method, ...]
    n: int
    classifies: bool


def compare(model: ReportedModel, on_progress: Callable[[float], None] = lambda _: None) -> Comparison | None:
    """Predict the labels that were hidden from S2-GNN by simpler methods, from the labels that it was given.

    Linear model, random forest and k-NN see only the features. Label spreading sees only the graph; for values it gives
    the mean of the known ones, weighted by how strongly each reaches a row. The constant is the most frequent class, or
    the median, of all labels, because hiding a label makes its class rarer among the others. The result is `None` if no
    labels were hidden.
    """
    hidden, labelled, all_targets = model.estimator.evaluation_, model.estimator.labelled_, model.estimator.targets_
    if hidden is None or labelled is None or all_targets is None:
        return None
    truth, classifies = hidden.targets, model.classes is not None
    constant = np.full(len(truth), _constant(all_targets, classifies))
    names = (*simple_models(1, classifies=classifies), SPREADING)
    predicted = {OURS: hidden.predicted} | {name: constant.copy() for name in names}
    features, folds = model.estimator.features_, np.unique(hidden.folds)
    for number, fold in enumerate(folds):
        members = hidden.folds == fold
        rows = hidden.rows[members]
        given = ~np.isin(labelled, rows)
        known, targets = labelled[given], all_targets[given]
        for name, simple in simple_models(len(known), classifies=classifies).items():
            predicted[name][members] = simple.fit(features[known], targets).predict(features[rows])
        predicted[SPREADING][members] = _spread(model, known, targets)[rows]
        on_progress((number + 1) / len(folds))
    score = _accuracy if classifies else _mean_error
    methods = [
        Method(name, *score(truth, values, predicted[OURS]))
        for name, values in (predicted | {CONSTANT: constant}).items()
    ]
    return Comparison(tuple(methods), len(truth), classifies)


def _constant(targets: NDArray[Any], classifies: bool) -> float | int:
    """Return the index of the most frequent class, or the median of values."""
    return int(np.bincount(targets).argmax()) if classifies else float(np.median(targets))


def simple_models(n_known: int, *, classifies: bool) -> dict[str, Any]:
    """Return the methods of scikit-learn that see the columns only, with their default parameters, by name."""
    neighbours = min(5, n_known)
    if classifies:
        return {
            LINEAR: LogisticRegression(max_iter=1_000),
            FOREST: RandomForestClassifier(random_state=0),
            NEIGHBOURS: KNeighborsClassifier(neighbours),
        }
    return {
        RIDGE: Ridge(),
        FOREST: RandomForestRegressor(random_state=0),
        NEIGHBOURS: KNeighborsRegressor(neighbours),
    }


def _spread(model: ReportedModel, known: NDArray[np.int64], targets: NDArray[Any]) -> NDArray[Any]:
    """Return predictions of label spreading for all rows (N,); the constant where no label arrives."""
    graph, constant = model.estimator.graph_, _constant(targets, model.classes is not None)
    if model.classes is not None:
        seeds = np.zeros((graph.n_nodes, len(model.classes)))
        seeds[known, targets] = 1.0
        spread = LabelSpreading().spread(graph, seeds)
        return np.where(spread.any(axis=1), spread.argmax(axis=1), constant)
    seeds = np.zeros((graph.n_nodes, 2))
    seeds[known] = np.stack([targets - constant, np.ones(len(known))], axis=1)
    sums, weights = LabelSpreading().spread(graph, seeds).T
    return np.asarray(constant + np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0))


Score = tuple[float, float, float, float | None]  # with its interval and the p-value of the difference to S2-GNN


def _accuracy(truth: NDArray[Any], predicted: NDArray[Any], ours: NDArray[Any]) -> Score:
    """Return accuracy with its Wilson interval, and McNemar's exact test."""
    correct, reference = predicted == truth, ours == truth
    low, high = wilson_interval(int(correct.sum()), len(truth))
    better, worse = int(np.sum(reference & ~correct)), int(np.sum(~reference & correct))
    p = 1.0 if better + worse == 0 else float(binomtest(better, better + worse).pvalue)
    return float(correct.mean()), low, high, None if predicted is ours else p


def _mean_error(truth: NDArray[Any], predicted: NDArray[Any], ours: NDArray[Any]) -> Score:
    """Return mean absolute error with its bootstrapped interval, and Wilcoxon's signed-rank test."""
    errors, reference = np.abs(predicted - truth), np.abs(ours - truth)
    p = 1.0 if np.array_equal(errors, reference) else float(wilcoxon(reference, errors).pvalue)
    return float(errors.mean()), *bootstrap_interval(errors), None if predicted is ours else p
