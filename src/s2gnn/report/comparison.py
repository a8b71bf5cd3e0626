"""Simpler methods on the same hidden labels: what the network on the graph is worth beside them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import binomtest, wilcoxon
from sklearn.utils import check_random_state

from s2gnn.estimator.training import Objective, train_ensemble, weight_decay_for
from s2gnn.learning import FitConfig
from s2gnn.learning.metrics import bootstrap_confidence
from s2gnn.learning.yardsticks import LabelSpreading
from s2gnn.nn import MLP
from s2gnn.report.subject import Subject

OURS, NETWORK, SPREADING, CONSTANT = "S2-GNN", "MLP", "label spreading", "same answer for all"


@dataclass(frozen=True)
class Method:
    """One method on the hidden labels.

    Attributes:
        name: of the method.
        score: the share that it predicted right; of quantities, its mean absolute error.
        low: lower end of the 95 % interval of the score.
        high: upper end.
        p: that S2-GNN and this method differ as much by chance, if they are equally good; `None` for S2-GNN itself.
    """

    name: str
    score: float
    low: float
    high: float
    p: float | None


@dataclass(frozen=True)
class Comparison:
    """All methods on the same `n` hidden labels, S2-GNN first; `classifies` tells shares from errors."""

    methods: tuple[Method, ...]
    n: int
    classifies: bool


def compare(subject: Subject, on_fold: Callable[[float], None] = lambda _: None) -> Comparison | None:
    """Let the other methods predict the labels that were hidden from S2-GNN, from the labels that it was given.

    The MLP has the width, depth (two layers at least) and training of the model's networks, and as many of them, and
    sees the features only. Label spreading sees the graph only; of quantities it gives the mean of the known ones,
    weighted by what reaches a row from each. The last method says the commonest class, or the median, of all labels,
    because in the given ones the class of a hidden label is rarer than it is.

    Args:
        subject: the model.
        on_fold: called with the share of the folds that is done.

    Returns:
        `None` where no labels were hidden.
    """
    evidence = subject.evidence
    if evidence is None or evidence.hidden is None:
        return None
    hidden, truth = evidence.hidden, evidence.hidden_targets()
    predicted: dict[str, NDArray[Any]] = {name: np.empty(len(truth)) for name in (OURS, NETWORK, SPREADING, CONSTANT)}
    predicted[OURS] = hidden.answers.argmax(axis=1) if subject.classes is not None else hidden.answers[:, 0]
    predicted[CONSTANT][:] = _constant(evidence.targets, subject)
    folds = np.unique(hidden.folds)
    for number, fold in enumerate(folds):
        members = hidden.folds == fold
        given = ~np.isin(evidence.labelled, hidden.rows[members])
        answers = _answers(subject, given, hidden.rows[members])
        for name, values in answers.items():
            predicted[name][members] = values
        on_fold((number + 1) / len(folds))
    measure = _accuracies if subject.classes is not None else _errors
    return Comparison(measure(truth, predicted), len(truth), subject.classes is not None)


def _answers(subject: Subject, given: NDArray[np.bool_], rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """What the other methods say of `rows` (n,), each class by its place, from the labels that are `given`."""
    evidence = subject.evidence
    assert evidence is not None
    known, targets = evidence.labelled[given], evidence.targets[given]
    otherwise = _constant(targets, subject)
    spread = (_spread_values if subject.classes is None else _spread_classes)(subject, known, targets, otherwise)
    return {NETWORK: _mlp(subject, given, rows), SPREADING: spread[rows]}


def _constant(targets: NDArray[Any], subject: Subject) -> float:
    """The median of quantities, or the place of the commonest class."""
    return float(np.median(targets)) if subject.classes is None else int(np.bincount(targets).argmax())


def _mlp(subject: Subject, given: NDArray[np.bool_], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """An MLP in the place of S2-GNN; it need not see other rows than those it learns from and is asked for."""
    evidence, estimator = subject.evidence, subject.estimator
    assert evidence is not None
    known, targets = evidence.labelled[given], evidence.targets[given]
    classifies = subject.classes is not None
    centre, width = (0.0, 1.0) if classifies else (float(targets.mean()), float(targets.std()) or 1.0)
    y = np.concatenate([(targets - centre) / width if not classifies else targets, np.zeros(len(rows), targets.dtype)])
    config = estimator.networks_[0].config
    training = FitConfig(
        lr=estimator.lr,
        weight_decay=weight_decay_for(estimator.weight_decay, len(known)),
        epochs=estimator.max_epochs,
        patience=estimator.patience,
        monitor="loss",
    )
    outputs, n_layers = len(subject.classes or (1,)), max(2, config.num_layers)  # a single layer would be linear
    seeds = check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max, size=len(estimator.networks_))
    trained = train_ensemble(
        lambda: MLP(config.in_channels, config.hidden_channels, outputs, n_layers, dropout=config.dropout),
        subject.features[np.concatenate([known, rows])],
        None,
        Objective(y, np.arange(len(known)), outputs, "cross-entropy" if classifies else "squared-error"),
        training,
        seeds=seeds.tolist(),
        validation_fraction=estimator.validation_fraction,
    )
    logits = trained.logits[:, len(known) :]
    if classifies:
        return np.asarray(softmax(logits, axis=2).mean(axis=0).argmax(axis=1))
    return np.asarray(centre + width * logits.mean(axis=0)[:, 0])


def _spread_classes(
    subject: Subject, known: NDArray[np.int64], targets: NDArray[np.int64], otherwise: float
) -> NDArray[Any]:
    """The class that label spreading gives to each row, (N,); `otherwise` where no label reaches it."""
    told = np.zeros((subject.n_rows, len(subject.classes or ())))
    told[known, targets] = 1.0
    spread = LabelSpreading().spread(subject.estimator.graph_, told)
    return np.where(spread.sum(axis=1) > 0, spread.argmax(axis=1), otherwise)


def _spread_values(
    subject: Subject, known: NDArray[np.int64], targets: NDArray[np.float64], otherwise: float
) -> NDArray[Any]:
    """The mean of known quantities that spreading gives to each row, (N,); `otherwise` where none reaches it."""
    told = np.zeros((subject.n_rows, 2))
    told[known] = np.stack([targets - otherwise, np.ones(len(known))], axis=1)
    sums, weights = LabelSpreading().spread(subject.estimator.graph_, told).T
    means: NDArray[np.float64] = np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0)
    return otherwise + means


def _accuracies(truth: NDArray[np.int64], predicted: dict[str, NDArray[Any]]) -> tuple[Method, ...]:
    """The accuracies, their Wilson intervals, and McNemar's exact test against S2-GNN."""
    ours = predicted[OURS] == truth
    methods = []
    for name, values in predicted.items():
        right = values == truth
        interval = binomtest(int(right.sum()), len(truth)).proportion_ci(method="wilson")
        better, worse = int(np.sum(ours & ~right)), int(np.sum(~ours & right))
        p = 1.0 if better + worse == 0 else float(binomtest(better, better + worse).pvalue)
        score = float(right.mean())
        methods.append(Method(name, score, float(interval.low), float(interval.high), None if name == OURS else p))
    return tuple(methods)


def _errors(truth: NDArray[np.float64], predicted: dict[str, NDArray[Any]]) -> tuple[Method, ...]:
    """The mean absolute errors, their bootstrapped intervals, and Wilcoxon's signed-rank test against S2-GNN."""
    ours = np.abs(predicted[OURS] - truth)
    methods = []
    for name, values in predicted.items():
        sizes = np.abs(values - truth)
        confidence = bootstrap_confidence(sizes)
        low, high = confidence.mean - confidence.half_width, confidence.mean + confidence.half_width
        p = 1.0 if not np.any(sizes != ours) else float(wilcoxon(ours, sizes).pvalue)
        methods.append(Method(name, confidence.mean, max(low, 0.0), high, None if name == OURS else p))
    return tuple(methods)
