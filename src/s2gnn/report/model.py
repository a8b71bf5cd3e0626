"""The model of a report: its predictions, and the table data stored in its folder."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from s2gnn.estimator import ModelCard, S2GNNClassifier, TableModel
from s2gnn.estimator.card import Estimator
from s2gnn.estimator.folder import read_folder
from s2gnn.estimator.forest import Forest
from s2gnn.estimator.table_columns import Column, columns_of
from s2gnn.estimator.table_model import EXTRA
from s2gnn.labelling.strategies import Known, suggest_rows
from s2gnn.report.columns import quantile_groups, variance_explained
from s2gnn.report.elements import shortened
from s2gnn.tables import Identifiers, row_name
from s2gnn.tables.identifiers import row_value

QUANTILES = 5  # intervals of predicted values that stand in for classes
ROWS_TO_LABEL = 12


@dataclass(frozen=True)
class ReportedModel:
    """A model to report on."""

    name: str  # of its folder
    estimator: Estimator  # folders of early releases have neither its labels nor its evaluation
    label: str | None  # the predicted column; `None` if the model was not fitted on a table
    columns: tuple[Column, ...]  # that it is predicted from
    card: ModelCard | None  # the origin of the model; `None` for folders of early releases

    @property
    def identifiers(self) -> Identifiers | None:
        """The names of the rows; `None` if no column identifies them."""
        return None if self.card is None else self.card.identifiers

    def row_name(self, row: int) -> str:
        """Return the name of a row, counted from 0, such as "patient 1017" or "row 3"."""
        return row_name(self.identifiers, row, shortened)

    @property
    def row_header(self) -> str:
        """The heading of a column of `row_cell`."""
        return "row" if self.identifiers is None else self.identifiers.column

    def row_cell(self, row: int) -> str:
        """Return the identifier of a row, counted from 0, or else its number, for a table."""
        value = row_value(self.identifiers, row, shortened)
        return value or (f"{row + 1:,}" if self.identifiers is None else f"(row {row + 1:,})")

    @property
    def n_rows(self) -> int:
        """Number of rows of the table, N."""
        return self.estimator.graph_.n_nodes

    @cached_property
    def classes(self) -> tuple[str, ...] | None:
        """Names of the classes; `None` for a regressor."""
        found = getattr(self.estimator, "classes_", None)
        return None if found is None else tuple(map(str, found.tolist()))

    def texts(self, column: Column, rows: NDArray[np.int64]) -> list[str]:
        """Return the values of a column in `rows` (n,) as text."""
        return column.texts(self.estimator.features_[rows], self.estimator.missing_numbers(rows))

    @property
    def predictions(self) -> NDArray[np.float64]:
        """Class probabilities of the rows (N, C), or their values (N, 1)."""
        return self.estimator.answers_

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """The predicted class of each row, or the quantile interval of its predicted value, (N,)."""
        if self.classes is None:
            return quantile_groups(self.predictions[:, 0], QUANTILES)
        return np.asarray(self.predictions.argmax(axis=1))

    @cached_property
    def variance_explained(self) -> NDArray[np.float64]:
        """The share of each column's variance that lies between the `groups`."""
        return variance_explained(self.columns, self.estimator.features_, self.groups)

    @property
    def informative_columns(self) -> list[int]:
        """Indices of the columns, those with the most variance explained first."""
        return [int(index) for index in np.argsort(-self.variance_explained, kind="stable")]

    @property
    def unlabelled(self) -> NDArray[np.int64]:
        """The rows without a label; all rows if the labels are not known."""
        rows = np.arange(self.n_rows)
        return rows if self.estimator.labelled_ is None else np.setdiff1d(rows, self.estimator.labelled_)

    @cached_property
    def uncertainty(self) -> NDArray[np.float64] | None:
        """How uncertain each prediction is, (N,): one minus the probability of the predicted class.

        For values it is the standard deviation between the trees of the base predictor's random forest, which is
        loosely correlated with the error. For networks alone it is the deviation between the networks, or between the
        outputs of a single network; `None` if there is only one output.
        """
        if isinstance(self.estimator, S2GNNClassifier):
            return np.asarray(1 - self.predictions.max(axis=1))
        if self.estimator.base_ is not None:
            forest = self.estimator.base_.learners["random forest"]
            assert isinstance(forest, Forest)
            return forest.deviations(self.estimator.features_)[:, 0]
        logits = self.estimator.logits_  # (networks, N, outputs), each output an estimate
        estimates = logits.mean(axis=2) if len(logits) > 1 else logits[0].T
        return None if len(estimates) < 2 else np.asarray(self.estimator.target_scale_ * estimates.std(axis=0))

    @cached_property
    def rows_to_label(self) -> NDArray[np.int64]:
        """The unlabelled rows to label next, most useful first.

        For classes, those that `s2gnn label` suggests; for values, those with the most uncertain predictions.
        """
        if isinstance(self.estimator, S2GNNClassifier):
            labelled = (
                self.estimator.labelled_ if self.estimator.labelled_ is not None else np.array([], dtype=np.int64)
            )
            return suggest_rows(Known(self.estimator.graph_, labelled, self.predictions), ROWS_TO_LABEL)
        if self.uncertainty is None:
            return np.array([], dtype=np.int64)
        return self.unlabelled[np.argsort(-self.uncertainty[self.unlabelled], kind="stable")][:ROWS_TO_LABEL]

    def likely_classes(self, row: int) -> list[tuple[str, float]]:
        """Return the two most likely classes of a row with their probabilities."""
        assert self.classes is not None
        probabilities = self.predictions[row]
        best = np.argsort(-probabilities, kind="stable")[:2]
        return [(self.classes[index], float(probabilities[index])) for index in best]


def load_model(folder: Path) -> ReportedModel:
    """Load the model from a folder that `s2gnn fit` or `save_estimator` wrote.

    Raises:
        InputError: if the folder does not contain a model, or its files are damaged.
    """
    estimator, extra, card = read_folder(folder)
    described = extra.get(EXTRA)
    label = None if described is None else TableModel.restored(estimator, described, card, folder).label
    return ReportedModel(folder.resolve().name, estimator, label, columns_of(estimator), card)
