"""Why an estimator predicts what it does for one row: members, labelled rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit

from s2gnn.errors import InputError
from s2gnn.estimator.blending import SMALLEST_PROBABILITY
from s2gnn.estimator.features import in_form_of
from s2gnn.estimator.forest import Forest
from s2gnn.estimator.members import Members
from s2gnn.estimator.new_rows import FrozenDegrees
from s2gnn.estimator.outputs import ClassOutputs
from s2gnn.estimator.smoothing import new_row_weights, smoothing_weights

if TYPE_CHECKING:
    from s2gnn.estimator.transductive import TransductiveEstimator

MEMBERS = ("base predictor", "smoothing", "networks")
SMALLEST_WEIGHT = 1e-6  # of a row relative to the largest, to be followed through the forests


@dataclass(frozen=True)
class Explanation:
    """Why one row is predicted as it is.

    Attributes:
        row: the number of the training row; `None` for a new row.
        prediction: the class or the value.
        probability: of the class; `None` for a value.
        members: the part of the probability, or of the value, that is due to each member. They add up to it.
        labelled: the labelled training rows, (n,).
        influence: how much each label moves the probability before calibration, or the value, towards the prediction
            (positive) or away from it, (n,). It estimates the change from leaving the label out; networks are not
            counted, and the base predictor is counted by its forests.
        columns: for each column, the log-odds of the class minus those with the column replaced by its mean; for a
            value, the difference of values. The row is predicted as a new row with and without. None if new rows cannot
            be joined to the graph.
    """

    row: int | None
    prediction: Any
    probability: float | None
    members: Mapping[str, float]
    labelled: NDArray[np.int64]
    influence: NDArray[np.float64]
    columns: Mapping[str, float]

    def frame(self, most: int = 10, names: Sequence[Any] | None = None) -> pd.DataFrame:
        """A line for each member and the `most` influential labelled rows and columns: kind, name, value.

        `names` are those of the training rows, (N,), by default their numbers.
        """
        rows = np.argsort(-np.abs(self.influence), kind="stable")[:most]
        labels = self.labelled if names is None else np.asarray(names, dtype=object)[self.labelled]
        columns = sorted(self.columns.items(), key=lambda item: -abs(item[1]))[:most]
        lines = [("member", name, value) for name, value in self.members.items()]
        lines += [("labelled row", str(labels[place]), float(self.influence[place])) for place in rows]
        lines += [("column", name, value) for name, value in columns]
        return pd.DataFrame(lines, columns=["kind", "name", "value"])


def explain(
    estimator: TransductiveEstimator, row: int | None, features: Any, columns: Mapping[str, Sequence[int]]
) -> Explanation:
    """Explain the prediction for a training `row`, or for a new row.

    Args:
        estimator: fitted.
        row: number of a training row; `None` for a new one.
        features: the scaled columns of the row, (1, M).
        columns: the features of each column to explain, by name.
    """
    members, blend = estimator.members_, estimator.blend_
    base = members.base
    if base is None or blend is None:
        raise InputError('the networks alone (network="s2gnn") cannot be explained: fit with network="blended"')
    predicted = members.predict_new(features) if row is None else members.predictions[:, [row]]
    answers = blend.apply(predicted)[0]
    classifies = isinstance(members.outputs, ClassOutputs)
    place = int(answers.argmax())
    shares = blend.shares(predicted)[:, 0, place]
    targets = base.known[:, place] if classifies else estimator.targets_
    if targets is None:
        raise InputError("this model was saved by a release that did not store the labels: fit it again to explain it")
    weights = _label_weights(members, blend.weights, row, features)
    blended = float(np.dot(blend.weights, predicted[:, 0, place]))
    return Explanation(
        row,
        estimator._named_answer(answers),
        float(answers[place]) if classifies else None,
        dict(zip(MEMBERS, shares.tolist(), strict=True)),
        base.labelled,
        weights * (targets - blended),
        {} if members.attachment is None else _column_effects(estimator, features, columns, place),
    )


def _label_weights(members: Members, weights: Sequence[float], row: int | None, features: Any) -> NDArray[np.float64]:
    r"""How much each label counts in the blended prediction of a row, (n,).

    Smoothing is linear in labels Y and base predictions Z, and forests are linear in Y for given trees. A base
    prediction Z = W Y is followed through the forests, so that label j counts
    :math:`w_{base} W_{ij} + w_{smooth} (k_j + \sum_u z_u W_{uj})`.
    """
    base, signal = members.base, members.smoothed
    assert base is not None
    assert signal is not None
    alpha, epsilon = members.trained.networks[0].config.alpha, members.smoothing_epsilon
    own = 0.0  # weight of the new row's base prediction in its smoothed signal
    if row is None:
        rows, of_own = new_row_weights(members.edges(features), FrozenDegrees.of(members.graph, alpha, epsilon))
        start, own = rows.toarray()[0], float(of_own[0])
    else:
        start = np.zeros(members.graph.n_nodes)
        start[row] = 1.0
    of_known, of_rows = smoothing_weights(start, members.graph, base.labelled, alpha=alpha, epsilon=epsilon)
    if isinstance(members.outputs, ClassOutputs):
        total = of_known.sum() + of_rows.sum() + own  # predictions are divided by it
        scale = 1 / total if total > 0 else 1.0
        of_known, of_rows, own = scale * of_known, scale * of_rows, scale * own
    else:  # errors of the base predictor at labelled rows are smoothed, and added to the row's base prediction
        of_rows = np.zeros_like(of_rows)
        of_rows[base.labelled] = -of_known
        own = 1.0
    of_rows = weights[1] * of_rows
    own = weights[0] + weights[1] * own
    if row is not None:
        of_rows[row] += own
    forests = [learner for learner in base.predictor.learners.values() if isinstance(learner, Forest)]
    result = weights[1] * of_known
    followed = np.flatnonzero(np.abs(of_rows) > SMALLEST_WEIGHT * np.abs(of_rows).max(initial=0.0))
    labelled = members.features[base.labelled]
    for forest in forests:
        through = forest.label_weights(members.features[followed], of_rows[followed], labelled)
        if row is None:
            through = through + forest.label_weights(features, np.array([own]), labelled)
        result = result + through / len(forests)
    return np.asarray(result)


def _column_effects(
    estimator: TransductiveEstimator, features: Any, columns: Mapping[str, Sequence[int]], place: int
) -> dict[str, float]:
    """The answer in log-odds, or the value, minus that with each column replaced by its mean."""
    members = estimator.members_
    dense = features.toarray() if hasattr(features, "toarray") else np.asarray(features)
    means = np.asarray(members.features.mean(axis=0)).reshape(-1)
    changed = np.repeat(dense, len(columns) + 1, axis=0)
    for line, own in enumerate(columns.values(), start=1):
        changed[line, list(own)] = means[list(own)]
    answers = np.concatenate(
        [
            estimator._answers(members.predict_new(in_form_of(changed[start : start + at_once], members.features)))
            for at_once in [members.rows_at_once]
            for start in range(0, len(changed), at_once)
        ]
    )[:, place]
    if isinstance(members.outputs, ClassOutputs):
        answers = logit(np.clip(answers, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY))
    return dict(zip(columns, (answers[0] - answers[1:]).tolist(), strict=True))
