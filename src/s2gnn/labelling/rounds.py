"""Rounds of training while labels come in: suggestions after one fit, estimates of the accuracy afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.estimator import S2GNNClassifier
from s2gnn.estimator.evaluation import HiddenPredictions, hidden_folds, number_of_folds
from s2gnn.estimator.transductive import FOLDS

STABLE_SHARE = 0.01


class RoundClassifier(S2GNNClassifier):
    """`S2GNNClassifier` in two steps, so that suggestions need not wait for the second.

    `S2GNNClassifier.fit` learns six times: from all labels, and with each fifth of them hidden, which calibrates and
    weights the members and estimates the accuracy. Here `fit_after` learns once, and blends by the hidden labels
    of an earlier round, which had a few labels fewer. The other five follow in the background, and `calibrate`
    leaves exactly what `S2GNNClassifier.fit` would have found.
    """

    _earlier: RoundClassifier | None = None

    def fit_after(self, earlier: RoundClassifier | None, X: Any, y: NDArray[Any]) -> RoundClassifier:
        """Learn from the labelled rows, blending as in an `earlier` round; the first has the weights of the prior."""
        self._earlier = earlier
        self.fit(X, y)
        self._earlier = None  # or each round would hold all those before it
        return self

    def _predict_hidden(self, *_: Any, **__: Any) -> HiddenPredictions | None:
        earlier = self._earlier
        return earlier.hidden_ if earlier is not None and self.has_classes_of(earlier) else None

    def has_classes_of(self, other: RoundClassifier) -> bool:
        """Return whether both have the same classes."""
        return np.array_equal(self.classes_, other.classes_)

    def parts_to_hide(self) -> list[NDArray[np.int64]]:
        """Return the places in the labels that each fold hides; none if they are too few, or for networks alone."""
        labels = self._labels
        parts = hidden_folds(labels.rows, labels.targets, FOLDS, 0, labels.groups) if self.network == "blended" else []
        return parts[: number_of_folds(len(parts), self.graph_.n_nodes)]

    def predict_hidden(self, part: NDArray[np.int64]) -> NDArray[np.float64]:
        """Predict labels that are hidden from the members, (members, n, C)."""
        joined = None if self._graph_depends_on_labels else (self.graph_, self.attachment_)
        return self._learn(self._labels.without(part), joined).predictions[:, self._labels.rows[part]]

    def calibrate(self, hidden: HiddenPredictions) -> None:
        """Blend and evaluate by hidden labels, of this round or of an earlier one with the same classes."""
        self.hidden_ = hidden
        self.blend_ = self._blend_for(hidden)
        self.answers_ = self._answers(self.predictions_)
        self.evaluation_, self.graph_gain_ = self._evaluated(hidden)


class Trainer:
    """Trains on the labels of a table as they come in, in steps of less than a second for 2,000 rows.

    Args:
        features: of all rows, (N, M).
        parameters: of `S2GNNClassifier`.
    """

    def __init__(self, features: NDArray[np.float64], parameters: Mapping[str, Any]) -> None:
        self.features, self.parameters = features, parameters
        self.estimator: RoundClassifier | None = None  # of the latest labels; `None` before there are two classes
        self._hiding: RoundClassifier | None = None  # whose labels are predicted while they are hidden
        self._parts: list[NDArray[np.int64]] = []  # all folds of them
        self._predicted: list[NDArray[np.float64]] = []  # the first folds

    def fit(self, labels: NDArray[Any]) -> None:
        """Learn from the labels (N,), "" where there is none."""
        if len(set(labels) - {""}) < 2:
            self.estimator = None
            return
        y = np.array([name or None for name in labels], dtype=object)
        self.estimator = RoundClassifier(scale=False, **self.parameters).fit_after(self.estimator, self.features, y)

    @property
    def is_done(self) -> bool:
        """Whether the estimator is calibrated by all of its labels."""
        return self.estimator is self._hiding and len(self._predicted) == len(self._parts)

    def hide_fold(self) -> bool:
        """Predict one more fold of hidden labels; after the last, calibrate the estimator and return `True`.

        The folds of one estimator are finished before those of the next, or fast answers would keep putting them off;
        they calibrate whichever is the latest.
        """
        if self.estimator is None:
            self._hiding, self._parts, self._predicted = None, [], []
            return False
        if self._hiding is None or len(self._predicted) == len(self._parts):
            self._hiding, self._parts, self._predicted = self.estimator, self.estimator.parts_to_hide(), []
            if not self._parts:
                return False
        self._predicted.append(self._hiding.predict_hidden(self._parts[len(self._predicted)]))
        if len(self._predicted) < len(self._parts) or not self.estimator.has_classes_of(self._hiding):
            return False
        labels = self._hiding._labels
        self.estimator.calibrate(HiddenPredictions.of_folds(labels.rows, labels.targets, self._parts, self._predicted))
        return True


@dataclass(frozen=True)
class Round:
    """A model of the labels at one time, and what it suggests.

    Attributes:
        estimator: `None` before there are labels of two classes.
        queue: rows to label, most useful first.
        positions: the rows as the model compares them, so that their distances are those of its graph, (N, M).
        stable: number of rounds in a row in which hardly any prediction has changed.
        seconds: from the answer that asked for the round to its suggestions.
    """

    estimator: S2GNNClassifier | None
    queue: NDArray[np.int64]
    positions: NDArray[np.float64]
    stable: int = 0
    seconds: float = 0.0


def hardly_changed(before: S2GNNClassifier | None, after: S2GNNClassifier) -> bool:
    """Return whether at most 1 % of the predictions differ."""
    return before is not None and bool(np.mean(before.transduction_ != after.transduction_) <= STABLE_SHARE)
