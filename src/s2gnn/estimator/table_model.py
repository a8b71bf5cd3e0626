"""A model of a table: a fitted estimator together with the way from the table's columns to features and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from s2gnn.data.tables import Table
from s2gnn.errors import InputError
from s2gnn.estimator.card import CardScore, ModelCard
from s2gnn.estimator.evidence import Evidence
from s2gnn.estimator.folder import EVIDENCE, load_estimator, save_estimator
from s2gnn.estimator.scoring import classification_scores, regression_scores
from s2gnn.preprocessing import TableEncoder, Task
from s2gnn.preprocessing.labels import class_names

EXTRA = "table"


@dataclass(frozen=True)
class Prediction:
    """What a model says of rows.

    Attributes:
        values: the classes as text, or the quantities, (n,).
        probabilities: of these classes (n,); `None` for quantities.
    """

    values: NDArray[Any]
    probabilities: NDArray[np.float64] | None


@dataclass(frozen=True)
class TableModel:
    """A fitted model of tables with the same columns.

    Attributes:
        estimator: fitted `S2GNNClassifier` or `S2GNNRegressor`.
        encoder: from columns to features.
        label: the column that is predicted.
        task: "classify" or "regress".
    """

    estimator: Any
    encoder: TableEncoder
    label: str
    task: Task

    def predict(self, table: Table) -> Prediction:
        """What the model says of every row of a table."""
        X = self.encoder.transform(table)
        if self.task == "regress":
            return Prediction(self.estimator.predict(X), None)
        return self._most_likely(self.estimator.predict_proba(X))

    def transduction(self) -> Prediction:
        """What the model says of the rows that it was fitted on, labelled or not."""
        if self.task == "regress":
            return Prediction(self.estimator.transduction_, None)
        return self._most_likely(self.estimator.label_distributions_)

    def _most_likely(self, probabilities: NDArray[np.float64]) -> Prediction:
        return Prediction(self.estimator.classes_[probabilities.argmax(axis=1)], probabilities.max(axis=1))

    def truth(self, table: Table) -> tuple[NDArray[Any], NDArray[np.bool_]] | None:
        """The labels of a table, (n,), and the rows that have one, (n,); `None` if no row has one."""
        if self.label not in table.columns or table.missing(self.label).all():
            return None
        rows = ~table.missing(self.label)
        if self.task == "classify":
            return class_names(table, self.label), rows
        return table.numbers(self.label, "a quantity", "mend the value or empty it"), rows

    def learned(self, table: Table, labelled: NDArray[np.int64] | None) -> NDArray[np.bool_]:
        """Which rows of a table, (n,), are equal to a training row whose label the model has learned.

        Args:
            table: to look at.
            labelled: the training rows that have a label; where that is not known, `None` takes all for such.
        """
        seen = self.estimator._trained_.seen
        groups = seen.find(self.estimator._checked(self.encoder.transform(table), reset=False))
        taught = np.zeros(len(seen.digests), dtype=np.bool_)
        taught[seen.groups if labelled is None else seen.groups[labelled]] = True
        return np.asarray((groups >= 0) & taught[groups])

    def scores(
        self, table: Table, prediction: Prediction, how: str, among: NDArray[np.bool_] | None = None
    ) -> tuple[CardScore, ...]:
        """The scores of a prediction on the rows of a table that have a label; none if no row has one.

        Args:
            table: with the labels.
            prediction: of its rows.
            how: on which rows and how, for people.
            among: the rows that count, (n,); all if left out.
        """
        found = self.truth(table)
        if found is None:
            return ()
        truth, rows = found
        rows = rows if among is None else rows & among
        if not rows.any():
            return ()
        measure = classification_scores if self.task == "classify" else regression_scores
        return measure(truth[rows], prediction.values[rows], how)

    def save(self, folder: Path, card: ModelCard, evidence: Evidence | None = None) -> None:
        """Write the model into a folder, which appears whole or not at all; `evidence` is for its report."""
        described = {"label": self.label, "task": self.task, "columns": self.encoder.state()}
        files = {} if evidence is None else {EVIDENCE: evidence.stored()}
        save_estimator(self.estimator, folder, {EXTRA: described}, files, card=card)

    @classmethod
    def load(cls, folder: Path) -> TableModel:
        """The model that `save` wrote into a folder.

        Raises:
            InputError: if the folder holds no such model, or its files are damaged.
        """
        estimator, extra = load_estimator(folder)
        model = table_model(estimator, extra, folder)
        if model is None:
            raise InputError(
                f"{folder} holds an estimator without the columns of a table: use s2gnn.estimator.load_estimator"
            )
        return model


def table_model(estimator: Any, extra: Mapping[str, Any], folder: Path) -> TableModel | None:
    """The model that `TableModel.save` wrote into a folder, of what `load_estimator` gave back of it.

    `None` if the folder holds an estimator that was saved without the columns of a table.

    Raises:
        InputError: if what is said of the columns is damaged.
    """
    described = extra.get(EXTRA)
    if described is None:
        return None
    try:
        label, task, columns = described["label"], described["task"], described["columns"]
        encoder = TableEncoder.from_state(columns)
        known = isinstance(label, str) and task in get_args(Task)
        if (
            not known
            or encoder.n_features != estimator.n_features_in_
            or hasattr(estimator, "classes_") != (task == "classify")
        ):
            raise InputError("label, task or columns do not belong to the estimator")
    except (KeyError, TypeError, InputError) as error:
        raise InputError(f"{folder} is damaged: {error}") from error
    return TableModel(estimator, encoder, label, task)
