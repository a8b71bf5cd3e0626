"""What a report is about: the model of a folder, and all that the folder knows of it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.estimator.evidence import Evidence, load_evidence
from s2gnn.estimator.folder import load_estimator
from s2gnn.estimator.table_model import table_model
from s2gnn.report.kept_columns import KeptColumn, kept_columns
from s2gnn.report.telling import quantile_classes, shares_explained

PARTS = 5  # equally full intervals of predicted quantities, which stand for classes where classes are needed


@dataclass(frozen=True)
class Subject:
    """A model to report on.

    Attributes:
        name: of the folder.
        estimator: fitted.
        label: the column that is predicted; `None` if the model was not made from a table.
        columns: that it is predicted from.
        evidence: what `s2gnn fit` kept beside the model; `None` if it was not made by it.
    """

    name: str
    estimator: Any
    label: str | None
    columns: tuple[KeptColumn, ...]
    evidence: Evidence | None

    @property
    def n_rows(self) -> int:
        """Number of rows of the table, N."""
        return int(self.estimator.graph_.n_nodes)

    @property
    def features(self) -> Any:
        """What the networks see of the rows, (N, M)."""
        return self.estimator._trained_.features

    @cached_property
    def classes(self) -> tuple[str, ...] | None:
        """The names of the classes; `None` for quantities."""
        found = getattr(self.estimator, "classes_", None)
        return None if found is None else tuple(map(str, found.tolist()))

    @property
    def answers(self) -> NDArray[np.float64]:
        """What the model says of the rows: probabilities of the classes (N, C), or quantities (N, 1)."""
        if self.classes is None:
            return np.asarray(self.estimator.transduction_)[:, None]
        return np.asarray(self.estimator.label_distributions_)

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """The predicted class of each row, or the fifth that its predicted quantity lies in, (N,)."""
        if self.classes is None:
            return quantile_classes(self.answers[:, 0], PARTS)
        return np.asarray(self.answers.argmax(axis=1))

    @cached_property
    def telling(self) -> NDArray[np.float64]:
        """How far each column differs between the `groups`, see `shares_explained`."""
        return shares_explained(self.columns, self.features, self.groups, len(self.classes or range(PARTS)))

    @cached_property
    def labelled(self) -> NDArray[np.int64] | None:
        """The rows that have a label; `None` where that is not known."""
        return None if self.evidence is None else self.evidence.labelled


def load_subject(folder: Path) -> Subject:
    """The model of a folder that `s2gnn fit` or `save_estimator` wrote.

    Raises:
        InputError: if the folder holds no such model, or its files are damaged.
    """
    estimator, extra = load_estimator(folder)
    model = table_model(estimator, extra, folder)
    return Subject(
        name=folder.resolve().name,
        estimator=estimator,
        label=None if model is None else model.label,
        columns=kept_columns(estimator, None if model is None else model.encoder),
        evidence=load_evidence(folder, estimator),
    )
