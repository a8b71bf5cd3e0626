"""The data at a glance: rows, columns, labels and missing values of the table that a model was fitted on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from s2gnn.report.kept_columns import KeptColumn, number_text
from s2gnn.report.subject import Subject

BARS = 16
CATEGORIES_NAMED = 3
MOST_COLUMNS = 200


@dataclass(frozen=True)
class ColumnGlance:
    """One column.

    Attributes:
        name: of the column.
        missing: how many values it lacks; `None` where that is not known.
        summary: its values in a few words.
        bars: how many rows lie in each part of its range, or in each category, the commonest first.
        telling: the share of its variance that lies between the predicted classes, or between fifths of the predicted
            quantities.
    """

    name: str
    missing: int | None
    summary: str
    bars: tuple[int, ...]
    telling: float


@dataclass(frozen=True)
class ClassGlance:
    """One class: its name, how many rows are labelled so (`None` if not known) and how many are predicted to be so."""

    name: str
    labelled: int | None
    predicted: int


@dataclass(frozen=True)
class Glance:
    """The table.

    Attributes:
        n_rows: number of rows.
        n_labelled: how many have a label.
        n_columns: how many columns it is learned from.
        n_missing: how many values these lack; `None` where that is not known.
        columns: up to 200 of them, the most telling first.
        left_out: the reason for each of the others; empty where they are not known.
        classes: of a classifier; empty for quantities.
    """

    n_rows: int
    n_labelled: int
    n_columns: int
    n_missing: int | None
    columns: tuple[ColumnGlance, ...]
    left_out: dict[str, str]
    classes: tuple[ClassGlance, ...]


def glance(subject: Subject) -> Glance:
    """Count what there is."""
    evidence, features = subject.evidence, subject.features
    if sp.issparse(features):
        features = features.tocsc()
    missing = {} if evidence is None else evidence.missing
    columns = [
        ColumnGlance(
            column.name,
            missing.get(column.name),
            *_values(column, features),
            telling=float(subject.telling[place]),
        )
        for place, column in _most_telling(subject)
    ]
    return Glance(
        n_rows=subject.n_rows,
        n_labelled=subject.estimator.n_labelled_,
        n_columns=len(subject.columns),
        n_missing=None if evidence is None else sum(missing.values()),
        columns=tuple(columns),
        left_out={} if evidence is None else dict(evidence.left_out),
        classes=_classes(subject),
    )


def _most_telling(subject: Subject) -> list[tuple[int, KeptColumn]]:
    order = np.argsort(-subject.telling, kind="stable")[:MOST_COLUMNS].tolist()
    return [(place, subject.columns[place]) for place in order]


def _classes(subject: Subject) -> tuple[ClassGlance, ...]:
    if subject.classes is None:
        return ()
    n = len(subject.classes)
    predicted = np.bincount(subject.answers.argmax(axis=1), minlength=n)
    labelled: list[int | None] = [None] * n
    if subject.evidence is not None:
        labelled = np.bincount(subject.evidence.targets, minlength=n).tolist()
    parts = zip(subject.classes, labelled, predicted.tolist(), strict=True)
    return tuple(ClassGlance(*part) for part in parts)


def _values(column: KeptColumn, features: Any) -> tuple[str, tuple[int, ...]]:
    """A column's values in words, and as the heights of bars."""
    if column.categories is None:
        numbers = column.numbers(features)
        low, middle, high = (number_text(value) for value in np.quantile(numbers, [0, 0.5, 1]))
        return f"{low} to {high}, half at most {middle}", tuple(np.histogram(numbers, BARS)[0].tolist())
    codes = column.codes(features)
    counts = np.bincount(codes[codes >= 0], minlength=len(column.categories))
    order = np.argsort(-counts, kind="stable")
    named = [f"{column.categories[place] or '(missing)'} {counts[place]:,}" for place in order[:CATEGORIES_NAMED]]
    rest = len(order) - len(named)
    return ", ".join(named) + (f" and {rest:,} more" if rest else ""), tuple(counts[order[:BARS]].tolist())
