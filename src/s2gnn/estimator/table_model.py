"""A model of a table: a fitted estimator together with the column that it predicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.estimator.card import Estimator, ModelCard
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.evaluation import CardScore, Evaluation, classification_scores, regression_scores
from s2gnn.estimator.folder import read_folder, save_estimator
from s2gnn.estimator.regressor import S2GNNRegressor
from s2gnn.estimator.training_graph import graph_kind
from s2gnn.graphs import Graph
from s2gnn.tables import EncodedTable, Identifiers, Table, TableEncoder, Task
from s2gnn.tables.identifiers import ROW, row_value
from s2gnn.tables.labels import class_names
from s2gnn.tables.numbers import number_text

EXTRA = "table"
PROBABILITY = "probability"
IDENTIFIER = "identifier"  # instead of a name that a column of an explanation has
NAMES_SHOWN = 20


@dataclass(frozen=True)
class TableModel:
    """A fitted model of tables with the same columns.

    Attributes:
        estimator: a fitted estimator, which encodes the columns.
        label: the column that is predicted.
        task: "classify" or "regress".
        source: name of the table it was fitted on; "" if unknown.
        missing: the number of missing values of each column used.
        left_out: the reason for each excluded column.
        identifiers: names of the rows of the table; `None` if no column identifies them.

    Example:
        >>> from s2gnn.tables import encode_table
        >>> flowers = pd.DataFrame({"length": [1.0, 1.2, 3.1, 3.3], "kind": ["a", None, "b", None]})
        >>> model = TableModel.fit(encode_table(flowers, "kind"), random_state=0)
        >>> model.predict(flowers)["predicted_kind"].tolist()
        ['a', 'a', 'b', 'b']
    """

    estimator: Estimator
    label: str
    task: Task
    source: str = ""
    missing: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    identifiers: Identifiers | None = None

    @classmethod
    def fit(
        cls, table: EncodedTable, adjacency: Graph | None = None, groups: Any = None, **parameters: Any
    ) -> TableModel:
        """Fit an estimator on a table.

        Args:
            table: a table from `encode_table`.
            adjacency: the graph of the rows, if it is known.
            groups: groups of rows that are hidden together, (N,), see the `fit` of the estimators.
            parameters: parameters of `S2GNNClassifier` or `S2GNNRegressor`.
        """
        if adjacency is not None:
            parameters["graph"] = adjacency
        kind = S2GNNClassifier if table.task == "classify" else S2GNNRegressor
        estimator = kind(**parameters).fit_table(table, groups)
        source, left_out = Path(table.source).name, table.columns.left_out
        return cls(estimator, table.label, table.task, source, table.missing, left_out, table.identifiers)

    @property
    def encoder(self) -> TableEncoder:
        """The encoder from columns to features."""
        assert self.estimator.encoder_ is not None
        return self.estimator.encoder_

    def evaluate(self, folds: int = 5, *, seed: int = 0) -> Evaluation | None:
        """Evaluate by hiding labels, see the estimator's `evaluate`."""
        return self.estimator.evaluate(folds, seed=seed)

    def predict(self, data: Any, *, all_classes: bool = False, level: float | None = None) -> pd.DataFrame:
        """Predict every row of a table or data frame: the class and its probability, or the quantity.

        Args:
            data: a table or data frame.
            all_classes: whether to add the probability of every class, in columns `probability_<class>`.
            level: of intervals of quantities to add, in columns with the suffixes `_low` and `_high`; see
                `S2GNNRegressor.predict_interval`.
        """
        table = data if isinstance(data, Table) else Table.from_frame(data)
        frame = self._frame(self.estimator._predicted(table), all_classes)
        if level is not None:
            if not isinstance(self.estimator, S2GNNRegressor):
                raise InputError(f"intervals are for quantities, but {self.label!r} has classes with probabilities")
            reach, (name, *_) = self.estimator._error_quantile(level), frame.columns
            frame = frame.assign(**{f"{name}_low": frame[name] - reach, f"{name}_high": frame[name] + reach})
        return frame

    def explain(self, data: Any, *, most: int = 10) -> Iterator[pd.DataFrame]:
        """Explain the prediction for each row of a table, a frame for each row, see `Explanation.frame`.

        Rows are named by the column that identified them in training, if the table has it. Otherwise, or if several
        rows have the same name, they are numbered from 1, and so are the labelled rows of training.

        Args:
            data: a table or data frame.
            most: number of labelled rows and of columns listed for each row.
        """
        table = data if isinstance(data, Table) else Table.from_frame(data)
        named, columns = self.identifiers_of(table), {ROW: list[Any](range(1, table.n_rows + 1))}
        if named is not None:
            columns = {named.column: table.column(named.column).tolist()} | (columns if named.repeated else {})
        trained = [
            row_value(self.identifiers, row) or str(row + 1) for row in range(len(self.estimator.seen_rows_.groups))
        ]
        values = {
            name: [None if gone else cell for gone, cell in zip(table.missing(name), table.column(name), strict=True)]
            for name in self.encoder.columns
        }
        explained = self.estimator.explain_rows(table)
        for place, found in enumerate(explained):
            frame = found.frame(most, trained, {name: column[place] for name, column in values.items()})
            first = {IDENTIFIER if name in frame else name: own[place] for name, own in columns.items()}
            first[f"predicted_{self.label}"] = found.prediction
            yield pd.concat([pd.DataFrame(first, index=frame.index), frame], axis=1)

    def identifiers_of(self, table: Table) -> Identifiers | None:
        """Return the names of the rows of a table, from the identifier column of training, if the table has it.

        If several rows share a name, a warning is issued.
        """
        if self.identifiers is None or self.identifiers.column not in table.columns:
            return None
        return Identifiers.of(table, self.identifiers.column)

    def transduction(self, *, all_classes: bool = False) -> pd.DataFrame:
        """Return the prediction, as `predict`, for every row of the table that the model was fitted on."""
        return self._frame(self.estimator.answers_, all_classes)

    def _frame(self, answers: NDArray[np.float64], all_classes: bool) -> pd.DataFrame:
        predicted = f"predicted_{self.label}"
        if isinstance(self.estimator, S2GNNRegressor):
            return pd.DataFrame({predicted: answers[:, 0]})
        classes = self.estimator.classes_
        best = pd.DataFrame({predicted: classes[answers.argmax(axis=1)], PROBABILITY: answers.max(axis=1)})
        each = pd.DataFrame(answers, columns=prediction_columns(self.label, self.task, classes)[2:])
        return best.join(each) if all_classes else best

    def truth(self, table: Table) -> tuple[NDArray[Any], NDArray[np.bool_]] | None:
        """Return the labels of a table, (n,), and the mask of labelled rows, (n,); `None` if no row is labelled."""
        if self.label not in table.columns or table.missing(self.label).all():
            return None
        rows = ~table.missing(self.label)
        if self.task == "classify":
            return class_names(table, self.label), rows
        return table.numbers(self.label, "a quantity", "fix the value or leave the cell blank"), rows

    def equal_to_training(self, table: Table) -> NDArray[np.bool_]:
        """Return which rows of a table, (n,), have the features of a labelled training row.

        If the model folder does not record which rows were labelled, all training rows are considered.
        """
        return self.estimator.seen_in_training(table, self.estimator.labelled_)

    def scores(
        self, table: Table, prediction: pd.DataFrame, how: str, among: NDArray[np.bool_] | None = None
    ) -> tuple[CardScore, ...]:
        """Score a `prediction` by `predict` on the labelled rows `among` a table; none without any.

        `how` describes the rows in the scores.
        """
        found = self.truth(table)
        if found is None:
            return ()
        truth, rows = found
        rows = rows if among is None else rows & among
        if not rows.any():
            return ()
        measure = classification_scores if self.task == "classify" else regression_scores
        return measure(truth[rows], prediction.iloc[:, 0].to_numpy()[rows], how)

    @property
    def graph_kind(self) -> str:
        """Describe the graph in a few words."""
        kind = graph_kind(self.estimator.graph)
        return (
            "given"
            if kind == "precomputed"
            else f"{kind}, k = {min(self.estimator.k, self.estimator.graph_.n_nodes - 1)}"
        )

    def label_counts(self) -> dict[str, float]:
        """Return the number of labelled rows of each class, or minimum, mean and maximum of quantities."""
        targets = self.estimator.targets_
        assert targets is not None
        if isinstance(self.estimator, S2GNNClassifier):
            counts = np.bincount(targets, minlength=len(self.estimator.classes_))
            return dict(zip(map(str, self.estimator.classes_), counts.tolist(), strict=True))
        return {"least": float(targets.min()), "mean": float(targets.mean()), "greatest": float(targets.max())}

    def card(self) -> ModelCard:
        """Make the model card of a newly fitted model."""
        counts = self.label_counts()
        names = {"numbers": self.encoder.numeric, "categories": self.encoder.categorical}
        columns = "; ".join(f"{kind}: {listed_names(columns)}" for kind, columns in names.items() if columns)
        if self.task == "classify":
            labels = listed_names([f"{name} {count:,.0f}" for name, count in counts.items()])
            what = f"the column {self.label} ({listed_names(list(counts))}), each with its probability"
            limit = "A row of an unknown class is assigned one of these classes."
        else:
            least, mean, greatest = map(number_text, counts.values())
            labels = f"numbers from {least} to {greatest}, mean {mean}"
            what = f"the number in the column {self.label}"
            limit = "It does not extrapolate beyond the training values."
        n_rows, n_labelled = self.estimator.graph_.n_nodes, self.estimator.n_labelled_
        others = "" if n_labelled == n_rows else "The others contributed to the graph. "
        return ModelCard(
            title=f"{self.label} of {self.source}" if self.source else self.label,
            data=f"Trained on {n_rows:,} rows of {self.source or 'a table'}, {n_labelled:,} with a label: {labels}. "
            f"{others}Columns learned from: {columns}.",
            target=self.label,
            features=self.encoder.columns,
            use=f"This model predicts {what}, for every row of a table that has the columns below. {limit}\n\n"
            "```\ns2gnn predict FOLDER table.csv --out predictions.csv\n```",
            source=self.source,
            missing=self.missing,
            left_out=self.left_out,
            identifiers=self.identifiers,
        )

    def save(self, folder: str | Path, command: str | None = None) -> None:
        """Write the model into a folder, atomically; `command` is the command that trained it."""
        described = {"label": self.label, "task": self.task}
        save_estimator(self.estimator, folder, {EXTRA: described}, card=replace(self.card(), command=command))

    @classmethod
    def load(cls, folder: str | Path, device: str | torch.device = "cpu") -> TableModel:
        """Load the model that `save` wrote into a folder, onto a device, see `load_estimator`.

        Raises:
            InputError: if the folder holds no such model, or its files are damaged, or the device is not available.
        """
        folder = Path(folder)
        estimator, extra, card = read_folder(folder, device)
        if extra.get(EXTRA) is None:
            raise InputError(
                f"{folder} holds an estimator without the columns of a table: use s2gnn.estimator.load_estimator"
            )
        return cls.restored(estimator, extra[EXTRA], card, folder)

    @classmethod
    def restored(cls, estimator: Estimator, described: Any, card: ModelCard | None, folder: Path) -> TableModel:
        """Build the model from the parts that `read_folder` read."""
        try:
            label, task = described["label"], described["task"]
            if estimator.encoder_ is None:  # earlier releases stored it here
                estimator._use_encoder(TableEncoder.from_state(described["columns"]))
            card = card or ModelCard()
            model = cls(estimator, label, task, card.source, card.missing, card.left_out, card.identifiers)
            if (
                not isinstance(label, str)
                or task not in get_args(Task)
                or model.encoder.n_features != estimator.features_.shape[1]
                or isinstance(estimator, S2GNNClassifier) != (task == "classify")
            ):
                raise InputError("label, task or columns do not belong to the estimator")
        except (KeyError, TypeError, InputError) as error:
            raise InputError(f"{folder} is damaged: {error}") from error
        return model


def prediction_columns(label: str, task: Task, classes: Sequence[Any] | NDArray[Any] = ()) -> list[str]:
    """Return the columns that `TableModel.predict` has, with the probabilities of `classes` if any are given."""
    if task == "regress":
        return [f"predicted_{label}"]
    return [f"predicted_{label}", PROBABILITY, *(f"{PROBABILITY}_{name}" for name in classes)]


def listed_names(names: Sequence[str]) -> str:
    """Join names with commas; of many, the first twenty."""
    more = f", … {len(names):,} in all" if len(names) > NAMES_SHOWN else ""
    return " ".join(", ".join(names[:NAMES_SHOWN]).split()) + more
