"""Predictions and explanations of a fitted estimator for training rows and new rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from s2gnn.errors import InputError
from s2gnn.estimator.attributes import MemberAttributes
from s2gnn.estimator.blending import Blend
from s2gnn.estimator.columns import ColumnEncoding
from s2gnn.estimator.explanation import Explanation, explain
from s2gnn.estimator.features import SeenRows, in_form_of
from s2gnn.progress import progress_bar
from s2gnn.ranges import Range
from s2gnn.tables.scaling import Scaling


class RowAnswers(MemberAttributes, ColumnEncoding, ABC):
    """The methods of a fitted estimator that take rows.

    Attributes:
        seen_rows_: recognises the training rows.
        scaling_: scaling of the columns.
        features_: the scaled columns of the training rows, (N, M).
        targets_: of the labelled rows, (n,).
        label_weights_: of these rows, (n,).
        blend_: combines the members' predictions; `None` for networks alone.
        answers_: for the training rows, (N, answers).
    """

    verbose: bool
    seen_rows_: SeenRows
    scaling_: Scaling
    features_: Any
    targets_: NDArray[Any] | None
    label_weights_: NDArray[np.float64] | None
    blend_: Blend | None
    answers_: NDArray[np.float64]

    @abstractmethod
    def _named_answer(self, answers: NDArray[np.float64]) -> Any:
        """Return the class or value for the answers (answers,) of one row."""

    @property
    @abstractmethod
    def _named_targets(self) -> NDArray[Any]:
        """Return the classes or values of the labelled rows, (n,)."""

    def _answers(self, members: NDArray[np.float64]) -> NDArray[np.float64]:
        """Combine the members' predictions (members, Q, answers) into answers (Q, answers)."""
        return members[0] if self.blend_ is None else self.blend_.apply(members)

    def _predicted(self, X: Any) -> NDArray[np.float64]:
        """Compute the answers (Q, answers) for the rows of `X` (Q, M), each independently of the others."""
        check_is_fitted(self)
        X = self._numbers(X, reset=False)
        groups = self.seen_rows_.find(X)
        answers = self.seen_rows_.means(self.answers_)[groups]
        new = np.flatnonzero(groups < 0)
        if not len(new):
            return answers
        self._check_joinable(int(new[0]))

        def features(block: slice) -> Any:
            return in_form_of(self.scaling_.apply(X[new[block]]), self.features_)

        with progress_bar("predicting", shown=bool(self.verbose)) as show:
            for block, members in self.members_.predict_new(len(new), features):
                answers[new[block]] = self._answers(members)
                show(block.stop / len(new))
        return answers

    def seen_in_training(self, X: Any, rows: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
        """Return which rows of `X` (Q, M) equal a training row, or one of the training `rows`, (Q,)."""
        check_is_fitted(self)
        groups = self.seen_rows_.find(self._numbers(X, reset=False))
        wanted = self.seen_rows_.groups if rows is None else self.seen_rows_.groups[rows]
        return np.isin(groups, wanted)

    def explain(self, row: Any, columns: Mapping[str, Sequence[int]] | None = None) -> Explanation:
        """Explain the prediction for a row by members, labelled rows and columns.

        Args:
            row: the number of a training row, or the features (M,) of any row, which may be a row of a data frame, or a
                data frame with one row. A row equal to a training row is explained as that row.
            columns: the features of each column to explain, by name; by default the columns of X.
        """
        if isinstance(row, pd.Series):
            row = row.to_frame().T.infer_objects()
        found, *others = self.explain_rows(row if np.ndim(row) == 2 else [row], columns)
        if others:
            raise InputError(f"explain takes one row, but there are {1 + len(others)}: use explain_rows")
        return found

    def explain_rows(self, rows: Any, columns: Mapping[str, Sequence[int]] | None = None) -> Iterator[Explanation]:
        """Explain many rows in one pass, which is much faster than calling `explain` for each.

        Args:
            rows: numbers of training rows, (Q,), or the features of any rows, (Q, M).
            columns: as in `explain`.
        """
        check_is_fitted(self)
        columns = self._features_of if columns is None else columns
        if np.ndim(rows) == 1:
            n = self.graph_.n_nodes
            numbers = np.array([Range(0, n - 1).checked(row, "the number of a training row") for row in rows], np.int64)
            return explain(self, numbers, self.features_[numbers], self.missing_numbers(numbers), columns)
        X = self._numbers(rows, reset=False)
        numbers = self.seen_rows_.first(self.seen_rows_.find(X))
        if (numbers < 0).any():
            self._check_joinable(int(np.flatnonzero(numbers < 0)[0]))
        features = in_form_of(self.scaling_.apply(X), self.features_)
        return explain(self, numbers, features, self._missing_in(rows), columns)

    def _check_joinable(self, row: int) -> None:
        """Raise if new rows, of which `row` is the first, cannot be joined to the graph."""
        if self.attachment_ is None:
            raise InputError(
                f"row {row} of X was not in the training table, whose rows all have the same features, so that it "
                "cannot be joined to the given graph: fit again on a graph that has it as an unlabelled row"
            )
