"""Explain an estimator's predictions by members, labelled rows and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logit

from s2gnn.errors import InputError
from s2gnn.estimator.blending import SMALLEST_PROBABILITY
from s2gnn.estimator.features import in_form_of
from s2gnn.estimator.forest import Forest
from s2gnn.estimator.outputs import ClassOutputs
from s2gnn.estimator.smoothing import new_row_weights, smoothing_operator, smoothing_weights
from s2gnn.estimator.table_columns import MISSING, named_values
from s2gnn.operators import SobolevOperator

if TYPE_CHECKING:
    from s2gnn.estimator.row_answers import RowAnswers

MEMBERS = ("columns alone", "similar rows", "networks")  # base predictor, smoothing, networks
UNITS = ("probability", "probability before calibration", "log-odds")  # of members, labelled rows and columns
SMALLEST_WEIGHT = 1e-6  # of a row relative to the largest, to be followed through the forests
VALUES_AT_ONCE = 2**24  # of intermediate results


@dataclass(frozen=True)
class Explanation:
    """The explanation of the prediction for one row.

    Attributes:
        row: the number of the training row; `None` for a new row.
        prediction: the class or the value.
        probability: of the class; `None` for a value.
        members: the part of the probability, or of the value, that is due to each member. The parts add up to it.
        labelled: the labelled training rows, (n,).
        labels: their classes or values, (n,).
        influence: how much each label moves the probability before calibration, or the value, towards the prediction
            (positive) or away from it, (n,). It estimates the effect of leaving the label out, through smoothing and
            the forests of the base predictor; networks are not included.
        columns: for each column, the log-odds of the class minus those with the column replaced by its mean; for a
            value, the difference of values. The row is predicted as a new row with and without. None if new rows cannot
            be joined to the graph.
        values: the values of these columns in the row; `None` for missing numbers.
    """

    row: int | None
    prediction: Any
    probability: float | None
    members: Mapping[str, float]
    labelled: NDArray[np.int64]
    labels: NDArray[Any]
    influence: NDArray[np.float64]
    columns: Mapping[str, float]
    values: Mapping[str, Any] = field(default_factory=dict)

    def frame(
        self, most: int = 10, names: Sequence[Any] | None = None, values: Mapping[str, Any] | None = None
    ) -> pd.DataFrame:
        """List what the prediction is due to: each member, and the `most` influential labelled rows and columns.

        A line has the kind and the name, the label of a labelled row or the value of a column, the effect, and the
        unit of the effect.

        Args:
            most: number of labelled rows and of columns.
            names: of the training rows, (N,), by default their numbers.
            values: of the columns in the explained row, by default those of the explanation.
        """
        rows = np.argsort(-np.abs(self.influence), kind="stable")[:most]
        labels = self.labelled if names is None else np.asarray(names, dtype=object)[self.labelled]
        columns = sorted(self.columns.items(), key=lambda item: -abs(item[1]))[:most]
        probable = self.probability is not None
        unit, before, odds = UNITS if probable else ("predicted value",) * 3
        lines = [("member", name, None, effect, unit) for name, effect in self.members.items()]
        lines += [
            ("labelled row", str(labels[place]), self.labels[place], float(self.influence[place]), before)
            for place in rows
        ]
        values = {name: MISSING if value is None else value for name, value in (values or self.values).items()}
        lines += [("column", name, values.get(name), effect, odds) for name, effect in columns]
        return pd.DataFrame(lines, columns=["kind", "name", "value", "effect", "unit"])


def explain(
    estimator: RowAnswers,
    rows: NDArray[np.int64],
    features: Any,
    missing: NDArray[np.bool_],
    columns: Mapping[str, Sequence[int]],
) -> Iterator[Explanation]:
    """Explain the predictions for training rows and new rows, many in one pass.

    Args:
        estimator: a fitted estimator.
        rows: numbers of training rows, −1 for a new row, (Q,).
        features: the scaled columns of the rows, (Q, M).
        missing: which features are missing numbers, (Q, M).
        columns: the features of each column to explain, by name.
    """
    if estimator.members_.base is None or estimator.blend_ is None:
        raise InputError('the networks alone (network="s2gnn") cannot be explained: fit with network="blended"')
    if estimator.targets_ is None:
        raise InputError("this model was saved by a release that did not store the labels: fit it again to explain it")
    return _in_parts(estimator, rows, features, missing, columns)


def _in_parts(
    estimator: RowAnswers,
    rows: NDArray[np.int64],
    features: Any,
    missing: NDArray[np.bool_],
    columns: Mapping[str, Sequence[int]],
) -> Iterator[Explanation]:
    """Explain rows in blocks that fit into memory."""
    alpha = estimator.networks_[0].config.alpha
    operator = smoothing_operator(estimator.graph_, alpha, estimator.members_.smoothing_epsilon)
    values = max(estimator.graph_.n_nodes * alpha, (len(columns) + 1) * estimator.answers_.shape[1])  # of a row
    at_once = max(1, VALUES_AT_ONCE // values)
    for start in range(0, len(rows), at_once):
        part = slice(start, start + at_once)
        values_of = named_values(estimator, features[part], missing[part], columns)
        yield from _explained(estimator, operator, rows[part], features[part], values_of, columns)


def _explained(
    estimator: RowAnswers,
    operator: SobolevOperator,
    rows: NDArray[np.int64],
    features: Any,
    values: Sequence[Mapping[str, Any]],
    columns: Mapping[str, Sequence[int]],
) -> Iterator[Explanation]:
    members, blend, targets = estimator.members_, estimator.blend_, estimator.targets_
    base = members.base
    assert base is not None
    assert blend is not None
    assert targets is not None
    new, each = rows < 0, np.arange(len(rows))
    predicted = members.predictions[:, rows]  # (members, Q, answers)
    if new.any():
        unseen = features[new]
        blocks = members.predict_new(unseen.shape[0], lambda block: unseen[block])
        predicted[:, new] = np.concatenate([found for _, found in blocks], axis=1)
    answers = blend.apply(predicted)
    classifies = isinstance(members.outputs, ClassOutputs)
    places = answers.argmax(axis=1)
    shares = blend.shares(predicted)[:, each, places]
    blended = np.tensordot(blend.weights, predicted[:, each, places], 1)  # (Q,)
    known = base.known[:, places].T if classifies else targets
    weights = _label_weights(estimator, operator, blend.weights, rows, features)
    influence = weights * (known - blended[:, None])  # (Q, n)
    effects: list[dict[str, float]] = [{} for _ in rows]
    if members.attachment is not None:
        effects = _column_effects(estimator, features, columns, places)
    for line, row in enumerate(rows.tolist()):
        yield Explanation(
            None if row < 0 else row,
            estimator._named_answer(answers[line]),
            float(answers[line, places[line]]) if classifies else None,
            dict(zip(MEMBERS, shares[:, line].tolist(), strict=True)),
            base.labelled,
            estimator._named_targets,
            influence[line],
            effects[line],
            values[line],
        )


def _label_weights(
    estimator: RowAnswers,
    operator: SobolevOperator,
    weights: Sequence[float],
    rows: NDArray[np.int64],
    features: Any,
) -> NDArray[np.float64]:
    r"""Compute the weight of each label in the blended prediction of each row, (Q, n).

    Smoothing is linear in labels Y and base predictions Z, and forests are linear in Y for given trees. A base
    prediction Z = W Y is traced through the forests, so that label j counts
    :math:`w_{base} W_{ij} + w_{smooth} (k_j + \sum_u z_u W_{uj})`.
    """
    members = estimator.members_
    base, new = members.base, np.flatnonzero(rows < 0)
    assert base is not None
    start, own = np.zeros((len(rows), members.graph.n_nodes)), np.zeros(len(rows))
    trained = np.flatnonzero(rows >= 0)
    start[trained, rows[trained]] = 1.0
    if len(new):  # own: the weight of a new row's base prediction in its smoothed signal
        received, own[new] = new_row_weights(members.edges(features[new]), members.smoothing_degrees)
        start[new] = received.toarray()
    of_known, of_rows = smoothing_weights(start, operator, base.labelled, strength=base.strength)
    if isinstance(members.outputs, ClassOutputs):
        total = of_known.sum(axis=1) + of_rows.sum(axis=1) + own  # predictions are divided by it
        scale = np.divide(1.0, total, out=np.ones_like(total), where=total > 0)
        of_known, of_rows, own = scale[:, None] * of_known, scale[:, None] * of_rows, scale * own
    else:  # errors of the base predictor at labelled rows are smoothed, and added to the row's base prediction
        of_rows = np.zeros_like(of_rows)
        of_rows[:, base.labelled] = -of_known
        own = np.ones_like(own)
    of_rows = weights[1] * of_rows
    own = weights[0] + weights[1] * own
    of_rows[trained, rows[trained]] += own[trained]
    of_rows[np.abs(of_rows) <= SMALLEST_WEIGHT * np.abs(of_rows).max(axis=1, keepdims=True)] = 0.0
    followed = np.flatnonzero(of_rows.any(axis=0))
    through = sp.csr_array(of_rows[:, followed])
    of_new = sp.csr_array((own[new], (new, np.arange(len(new)))), shape=(len(rows), len(new)))
    forests = [learner for learner in base.predictor.learners.values() if isinstance(learner, Forest)]
    labelled = members.features[base.labelled]
    result = weights[1] * of_known
    for forest in forests:
        for leaves_of, counts in ((members.features[followed], through), (features[new], of_new)):
            part = forest.label_weights(leaves_of, counts, labelled, estimator.label_weights_)
            result = result + part / len(forests)
    return np.asarray(result)


def _column_effects(
    estimator: RowAnswers, features: Any, columns: Mapping[str, Sequence[int]], places: NDArray[np.int64]
) -> list[dict[str, float]]:
    """Compute each row's log-odds, or value, minus the result with each column replaced by its mean."""
    members = estimator.members_
    means = np.asarray(members.features.mean(axis=0)).reshape(-1)
    replaced = [[], *map(list, columns.values())]  # the features of each line of a row, the first as it is

    def changed(block: slice) -> Any:
        rows, lines = np.divmod(np.arange(block.start, block.stop), len(replaced))
        found = features[rows]
        found = found.toarray() if sp.issparse(found) else found
        for place, line in enumerate(lines):
            found[place, replaced[line]] = means[replaced[line]]
        return in_form_of(found, members.features)

    blocks = members.predict_new(len(places) * len(replaced), changed)
    answers = np.concatenate([estimator._answers(found) for _, found in blocks])
    answers = answers.reshape(len(places), len(replaced), -1)
    answers = np.take_along_axis(answers, places[:, None, None], axis=2)[:, :, 0]
    if isinstance(members.outputs, ClassOutputs):
        answers = logit(np.clip(answers, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY))
    return [dict(zip(columns, effects, strict=True)) for effects in (answers[:, :1] - answers[:, 1:]).tolist()]
