"""Content of the page as JSON: a row with its prediction and nearest labelled rows, and the panel."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.estimator.evaluation import wilson_interval
from s2gnn.labelling.labels import LabelledCopy
from s2gnn.labelling.rounds import Round
from s2gnn.labelling.settings import Settings

CERTAIN = 0.8  # the probability below which a prediction counts as uncertain
STABLE_ROUNDS = 3
NEIGHBOURS = 3
CLASSES_SHOWN = 3


@dataclass(frozen=True)
class View:
    """The rows of a table for the page.

    Attributes:
        copy: the table and its labels.
        settings: which columns name and illustrate the rows.
    """

    copy: LabelledCopy
    settings: Settings

    def value(self, name: str, row: int) -> str:
        """Format a value of the table; "" for a missing number."""
        value = self.copy.table.column(name)[row]
        return str(value) if isinstance(value, str) else "" if np.isnan(value) else f"{value:g}"

    def image(self, row: int) -> str:
        """Return the path of a row's image; "" if there is none."""
        return "" if self.settings.image is None else self.value(self.settings.image, row)

    def name(self, row: int) -> dict[str, Any]:
        """Return the name of the row."""
        identifier = self.settings.identifier
        return {"number": row, "id": None if identifier is None else self.value(identifier, row)}

    def prediction(self, row: int, round_: Round) -> list[dict[str, Any]] | None:
        """Return the likeliest classes of a row and their probabilities; `None` before there is a model."""
        if round_.estimator is None:
            return None
        p = round_.estimator.label_distributions_[row]
        best = np.argsort(-p, kind="stable")[:CLASSES_SHOWN]
        return [{"class": str(round_.estimator.classes_[c]), "probability": float(p[c])} for c in best]

    def row(self, row: int, round_: Round) -> dict[str, Any]:
        """Describe one row; each column lists its value, then the values of the nearest labelled rows."""
        settings = self.settings
        near = nearest(round_.positions, np.flatnonzero(self.copy.labels != ""), row)
        special = (self.copy.label, settings.identifier, settings.image, settings.text)
        columns = [name for name in self.copy.table.columns if name not in special]
        return {
            **self.name(row),
            "columns": [[name, *(self.value(name, other) for other in (row, *near))] for name in columns],
            "image": self.image(row) != "",
            "text": None if settings.text is None else self.value(settings.text, row),
            "prediction": self.prediction(row, round_),
            "neighbours": [
                {**self.name(other), "class": str(self.copy.labels[other]), "image": self.image(other) != ""}
                for other in near
            ],
        }

    def panel(self, classes: list[str], skipped: int, round_: Round) -> dict[str, Any]:
        """Describe the progress of labelling."""
        labels, estimator = self.copy.labels, round_.estimator
        counts = Counter(labels.tolist())
        open_rows = labels == ""
        panel: dict[str, Any] = {
            "rows": len(labels),
            "labelled": len(labels) - counts[""],
            "skipped": skipped,
            "counts": {name: counts[name] for name in classes},
            "accuracy": None,
            "uncertain": None,
            "file": self.copy.path.name,
            "command": shlex.join(["s2gnn", "fit", self.copy.path.name, "--label", self.copy.label]),
        }
        if estimator is None:
            several = len(set(labels) - {""}) > 1
            advice = (
                "The first model is being trained."
                if several
                else "Label rows of at least two classes to train a model."
            )
            return {**panel, "advice": advice, "stop": False}
        if estimator.evaluation_ is not None:
            score = estimator.evaluation_.scores[0]
            low, high = wilson_interval(round(score.value * score.rows), score.rows)
            panel["accuracy"] = {"value": score.value, "low": low, "high": high, "rows": score.rows}
        uncertain = int(np.sum(estimator.label_distributions_[open_rows].max(axis=1) < CERTAIN))
        stop, advice = when_to_stop(round_.stable, uncertain, int(open_rows.sum()))
        return {**panel, "uncertain": uncertain, "advice": advice, "stop": stop}


def nearest(positions: NDArray[np.float64], labelled: NDArray[np.int64], row: int, n: int = NEIGHBOURS) -> list[int]:
    """Return the rows of `labelled` with the smallest distances to `row`, nearest first."""
    distances = np.linalg.norm(positions[labelled] - positions[row], axis=1)
    return [int(other) for other in labelled[np.argsort(distances, kind="stable")[:n]]]


def when_to_stop(stable: int, uncertain: int, open_rows: int) -> tuple[bool, str]:
    """Advise whether to stop labelling, which depends on whether predictions still change."""
    if open_rows == 0:
        return True, "Every row is labelled."
    if stable >= STABLE_ROUNDS:
        return True, (
            f"You may stop: in each of the last {stable} rounds of training at most 1 % of the predictions changed. "
            "More labels are unlikely to change many."
        )
    if uncertain == 0:
        return False, "You may stop soon: no prediction is uncertain. Continue until predictions stop changing."
    return (
        False,
        f"Continue until predictions have not changed in {STABLE_ROUNDS} rounds of training. So far: {stable}.",
    )
