"""A labelling session: the row to show, answers, and the model that is trained again in the background."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.estimator import S2GNNClassifier
from s2gnn.graphs import knn_graph
from s2gnn.labelling.labels import LabelledCopy
from s2gnn.labelling.strategies import Known, Strategy, suggest, suggest_rows
from s2gnn.tables import Table, TableEncoder, choose_columns
from s2gnn.tables.columns import Columns

QUEUE = 50  # suggestions made at once, so that nobody waits for the model
NEIGHBOURS = 10
CERTAIN = 0.8  # the probability below which a prediction counts as uncertain
STABLE_ROUNDS = 3
STABLE_SHARE = 0.01
LONGEST_CLASS = 200
# The classifier that suggests rows at once.
QUICK: Mapping[str, Any] = {"network": "s2gnn", "n_networks": 1, "validation_fraction": None}


@dataclass(frozen=True)
class Settings:
    """How to label a table.

    Attributes:
        identifier: the column that names the rows.
        image: the column with the path of an image for each row.
        text: the column with a text for each row.
        features: the columns to learn from; by default all that distinguish rows.
        classes: to choose from, in addition to those of the labels.
        strategy: which rows to show first.
        batch: number of answers after which the model is trained again.
        seed: of the model.
        parameters: further ones of `S2GNNClassifier`.
    """

    identifier: str | None = None
    image: str | None = None
    text: str | None = None
    features: Sequence[str] | None = None
    classes: Sequence[str] = ()
    strategy: Strategy = "auto"
    batch: int = 5
    seed: int = 0
    parameters: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Round:
    """A model of the labels at one time, and what it suggests.

    Attributes:
        estimator: `None` before there are labels of two classes.
        queue: rows to label, most useful first.
        seconds: from the start of training to new suggestions.
        stable: number of rounds in a row in which hardly any prediction has changed.
    """

    estimator: S2GNNClassifier | None
    queue: NDArray[np.int64]
    seconds: float = 0.0
    stable: int = 0


class Session:
    """The state behind the page; its methods may be called from several threads.

    Args:
        copy: the table and its labels.
        settings: how to label it.
    """

    def __init__(self, copy: LabelledCopy, settings: Settings) -> None:
        self.copy, self.settings = copy, settings
        self.table: Table = copy.table
        self.columns = _feature_columns(copy, settings)
        self.features = TableEncoder.fit(self.table, self.columns).transform(self.table)  # (N, M)
        self.graph = knn_graph(self.features, min(NEIGHBOURS, self.table.n_rows - 1))
        self.classes = list(dict.fromkeys([*settings.classes, *sorted(set(copy.labels) - {""})]))
        self._answers: list[tuple[int, str]] = []  # (row, label before), for undo
        self._skipped: set[int] = set()
        self._lock = threading.RLock()
        self._wanted = threading.Event()
        self._ended = False
        self._training = False
        self._since_round = 0
        self._problem: str | None = None
        self.round = Round(None, self._queue(None))

    def train(self) -> None:
        """Train on the labels so far, and suggest rows; the session answers meanwhile.

        A single network suggests rows within a second. The whole classifier, which takes several, follows: it makes the
        predictions and the estimates that are shown, and its suggestions replace the first ones.
        """
        start = time.perf_counter()
        with self._lock:
            labels, before = self.copy.labels.copy(), self.round
            self._since_round = 0
        if len(set(labels) - {""}) < 2:
            with self._lock:
                self.round = Round(None, self._queue(None))
            return
        y = np.array([name or None for name in labels], dtype=object)
        quick = self._queue(self._classifier(**QUICK).fit(self.features, y))
        with self._lock:
            self.round = replace(self.round, queue=quick, seconds=time.perf_counter() - start)
        estimator = self._classifier().fit(self.features, y)
        queue = self._queue(estimator)
        stable = before.stable + 1 if _hardly_changed(before.estimator, estimator) else 0
        with self._lock:
            self.round = replace(self.round, estimator=estimator, queue=queue, stable=stable)

    def _classifier(self, **parameters: Any) -> S2GNNClassifier:
        given = {"random_state": self.settings.seed, **parameters, **dict(self.settings.parameters)}
        return S2GNNClassifier(scale=False, **given)

    @contextmanager
    def training_in_background(self) -> Iterator[None]:
        """Train in a thread inside the block: at its start and after every batch of answers."""
        thread = threading.Thread(target=self._train_when_wanted, name="training", daemon=True)
        self._wanted.set()
        thread.start()
        try:
            yield
        finally:
            self._ended = True
            self._wanted.set()
            thread.join()

    def _train_when_wanted(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._ended:
                return
            self._training = True
            try:
                self.train()
                self._problem = None
            except (ValueError, ArithmeticError, RuntimeError, MemoryError) as error:  # labelling continues without it
                self._problem = f"The model could not be trained: {error}"
            finally:
                self._training = False

    def suggestions(self, n: int) -> list[dict[str, Any]]:
        """The next `n` rows to label: number, counted from 1, identifier and the likeliest classes."""
        rows = (self._row(row, self.round.estimator) for row in self._queue(self.round.estimator, n).tolist())
        return [{"number": row["number"] + 1, "id": row["id"], "prediction": row["prediction"]} for row in rows]

    def _queue(self, estimator: S2GNNClassifier | None, n: int = QUEUE) -> NDArray[np.int64]:
        with self._lock:
            labelled = np.flatnonzero(self.copy.labels != "")
            without = np.array(sorted({*self._skipped, *labelled.tolist()}), dtype=np.int64)
        settings = self.settings
        if estimator is None:
            known = Known(self.graph, labelled)
            return suggest_rows(known, n, strategy=settings.strategy, without=without, seed=settings.seed)
        return suggest(estimator, n, strategy=settings.strategy, without=without, seed=settings.seed)

    def next_row(self) -> int | None:
        """The row to label now; `None` if all are labelled or skipped."""
        with self._lock:
            for _ in range(2):
                for row in self.round.queue.tolist():
                    if self.copy.labels[row] == "" and row not in self._skipped:
                        return int(row)
                self.round = replace(self.round, queue=self._queue(self.round.estimator))
            return None

    def answer(self, row: int, label: str) -> None:
        """Give an unlabelled row a class and write the labels.

        Raises:
            InputError: if there is no such row or class, or the row already has a label.
            OSError: if the labels cannot be written; the row is then still unlabelled.
        """
        with self._lock:
            self._check_open(row)
            if label not in self.classes:
                raise InputError(f"there is no class {label!r}: choose one of {', '.join(self.classes) or 'none yet'}")
            self.copy.set(row, label)
            self._answers.append((row, ""))
            self._count_answer()

    def skip(self, row: int) -> None:
        """Do not show a row again in this session."""
        with self._lock:
            self._check_open(row)
            self._skipped.add(row)
            self._answers.append((row, "skipped"))

    def undo(self) -> int | None:
        """Take back the last answer or skip of this session, and show its row again; `None` if there is none."""
        with self._lock:
            if not self._answers:
                return None
            row, kind = self._answers[-1]
            if kind == "skipped":
                self._skipped.discard(row)
            else:
                self.copy.set(row, "")
                self._count_answer()
            self._answers.pop()
            queue = self.round.queue
            self.round = replace(self.round, queue=np.concatenate([[row], queue[queue != row]]))
            return row

    def add_class(self, name: str) -> None:
        """Add a class to choose from."""
        name = " ".join(name.split())
        if not name or len(name) > LONGEST_CLASS:
            raise InputError(f"a class needs a name of 1 to {LONGEST_CLASS} characters")
        if name in ("NA", "N/A", "NaN", "nan", "NULL", "null", "?"):
            raise InputError(f"{name!r} marks a missing value in tables: choose another name")
        with self._lock:
            if name not in self.classes:
                self.classes.append(name)

    def _check_open(self, row: int) -> None:
        if not 0 <= row < self.table.n_rows:
            raise InputError(f"there is no row {row + 1}: the table has {self.table.n_rows:,}")
        if self.copy.labels[row] != "":
            raise InputError(f"row {row + 1} is already labelled {self.copy.labels[row]!r}, perhaps in another window")

    def _count_answer(self) -> None:
        self._since_round += 1
        two_classes = len(set(self.copy.labels) - {""}) >= 2
        if two_classes and (self._since_round >= self.settings.batch or self.round.estimator is None):
            self._wanted.set()

    def state(self, looked_at: int | None = None) -> dict[str, Any]:
        """What the page shows, as JSON has it; the row stays the one that is `looked_at` while it is open."""
        with self._lock:
            row, round_ = self.next_row(), self.round
            if looked_at is not None and 0 <= looked_at < self.table.n_rows and self.copy.labels[looked_at] == "":
                row = looked_at
            return {
                "classes": list(self.classes),
                "row": None if row is None else self._row(row, round_.estimator),
                "panel": self._panel(round_),
                "can_undo": bool(self._answers),
                "training": self._training or self._wanted.is_set(),
                "problem": self._problem,
            }

    def _row(self, row: int, estimator: S2GNNClassifier | None) -> dict[str, Any]:
        settings, shown = self.settings, {}
        special = (self.copy.label, settings.identifier, settings.image, settings.text)
        for name in self.table.columns:
            if name not in special:
                shown[name] = self.value(name, row)
        prediction = None
        if estimator is not None:
            p = estimator.label_distributions_[row]
            best = np.argsort(-p, kind="stable")[:3]
            prediction = [{"class": str(estimator.classes_[c]), "probability": float(p[c])} for c in best]
        return {
            "number": row,
            "id": None if settings.identifier is None else self.value(settings.identifier, row),
            "columns": list(shown.items()),
            "image": settings.image is not None and self.value(settings.image, row) != "",
            "text": None if settings.text is None else self.value(settings.text, row),
            "prediction": prediction,
            "neighbours": self._labelled_neighbours(row),
        }

    def value(self, name: str, row: int) -> str:
        """A value of the table as text; "" for a missing number."""
        value = self.table.column(name)[row]
        return str(value) if isinstance(value, str) else "" if np.isnan(value) else f"{value:g}"

    def _labelled_neighbours(self, row: int, n: int = 3) -> list[dict[str, Any]]:
        """The labelled rows with the smallest distances to `row`."""
        labelled = np.flatnonzero(self.copy.labels != "")
        distances = np.linalg.norm(self.features[labelled] - self.features[row], axis=1)
        nearest = labelled[np.argsort(distances, kind="stable")[:n]]
        name = self.settings.identifier
        return [
            {
                "number": int(other),
                "id": None if name is None else self.value(name, other),
                "class": str(self.copy.labels[other]),
                "image": self.settings.image is not None and self.value(self.settings.image, other) != "",
            }
            for other in nearest
        ]

    def _panel(self, round_: Round) -> dict[str, Any]:
        counts = Counter(self.copy.labels.tolist())
        labelled = self.table.n_rows - counts.pop("", 0)
        panel: dict[str, Any] = {
            "rows": self.table.n_rows,
            "labelled": labelled,
            "skipped": len(self._skipped),
            "counts": {name: counts.get(name, 0) for name in self.classes},
            "accuracy": None,
            "uncertain": None,
            "file": self.copy.path.name,
            "seconds": round_.seconds,
            "advice": "The first model is being trained.",
        }
        if round_.estimator is None:
            if len(counts) < 2:
                panel["advice"] = "Label rows of at least two classes to train a first model."
            return panel
        if round_.estimator.evaluation_ is not None:
            score = round_.estimator.evaluation_.scores[0]
            panel["accuracy"] = {"value": score.value, "half_width": score.half_width, "rows": score.rows}
        open_rows = self.copy.labels == ""
        uncertain = int(np.sum(round_.estimator.label_distributions_[open_rows].max(axis=1) < CERTAIN))
        panel["uncertain"] = uncertain
        panel["advice"] = _advice(round_.stable, uncertain, int(open_rows.sum()))
        return panel


def _feature_columns(copy: LabelledCopy, settings: Settings) -> Columns:
    others = [name for name in (settings.identifier, settings.image, settings.text) if name is not None]
    return choose_columns(copy.table, settings.features, label=copy.label, without=list(dict.fromkeys(others)))


def _hardly_changed(before: S2GNNClassifier | None, after: S2GNNClassifier) -> bool:
    return before is not None and bool(np.mean(before.transduction_ != after.transduction_) <= STABLE_SHARE)


def _advice(stable: int, uncertain: int, open_rows: int) -> str:
    """When to stop: once predictions no longer change."""
    if open_rows == 0:
        return "Every row is labelled."
    if stable >= STABLE_ROUNDS:
        return (
            f"You may stop: in each of the last {stable} rounds at most 1 % of the predictions changed, so that "
            "further labels are unlikely to change many."
        )
    if uncertain == 0:
        return "You may stop soon: no prediction is uncertain. Continue until predictions stop changing."
    return f"Continue: predictions still change, or have been stable for fewer than {STABLE_ROUNDS} rounds."


@contextmanager
def only_session(path: Path) -> Iterator[None]:
    """Refuse a second session on the labels at `path` inside the block; a crash releases them."""
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise InputError(f"{path} is being labelled in another window: close that s2gnn label first") from error
    try:
        yield
    finally:
        lock.release()
