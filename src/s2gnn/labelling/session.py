"""A labelling session: the row to show, and the answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.labelling.history import History
from s2gnn.labelling.labels import LabelledCopy
from s2gnn.labelling.settings import Settings
from s2gnn.labelling.training import Answers, Training
from s2gnn.labelling.view import View
from s2gnn.tables import TableEncoder, choose_columns
from s2gnn.tables.table import MISSING

LONGEST_CLASS = 200


class Session:
    """The state behind the page; its methods may be called from several threads.

    Args:
        copy: the table and its labels.
        settings: how to label it.
    """

    def __init__(self, copy: LabelledCopy, settings: Settings) -> None:
        self.copy, self.settings, self.view = copy, settings, View(copy, settings)
        self.history = History.read(copy)
        self.history.classes = list(
            dict.fromkeys([*self.history.classes, *settings.classes, *sorted(set(copy.labels) - {""})])
        )
        self._lock = threading.RLock()  # of labels and history
        self._since_round = 0  # number of answers
        self.training = Training(_features(copy, settings), settings, self.answers)

    @property
    def classes(self) -> list[str]:
        """The classes to choose from."""
        return self.history.classes

    def answers(self) -> Answers:
        """Return the answers so far."""
        with self._lock:
            return Answers(self.copy.labels.copy(), self.history.skipped)

    def next_row(self) -> int | None:
        """Return the row to label now; `None` if all are labelled or skipped."""
        with self._lock:
            for _ in range(2):
                for row in self.training.round.queue.tolist():
                    if self.copy.labels[row] == "" and self.history.answers.get(row) != "skip":
                        return int(row)
                self.training.refill()
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
            self.history.add(row, "label")
            try:
                self.copy.set(row, label)
            except OSError:
                del self.history.answers[row]  # like a reader of the file, which finds no label
                raise
            self._count_answer()

    def skip(self, row: int) -> None:
        """Do not show a row again until `show_skipped`."""
        with self._lock:
            self._check_open(row)
            self.history.add(row, "skip")

    def show_skipped(self) -> None:
        """Show skipped rows again."""
        with self._lock:
            self.history.remove(*self.history.skipped)
            self.training.refill()

    def undo(self) -> int | None:
        """Take back the last answer or skip, and show its row again; `None` if there is none."""
        with self._lock:
            if not self.history.answers:
                return None
            row, kind = next(reversed(self.history.answers.items()))
            if kind == "label":
                self.copy.set(row, "")
                self._count_answer()
            self.history.remove(row)
            self.training.show_first(row)
            return row

    def add_class(self, name: str) -> None:
        """Add a class to choose from."""
        name = " ".join(name.split())
        if not name or len(name) > LONGEST_CLASS:
            raise InputError(f"a class needs a name of 1 to {LONGEST_CLASS} characters")
        if name in MISSING:
            raise InputError(f"{name!r} marks a missing value in tables: choose another name")
        with self._lock:
            if name not in self.classes:
                self.history.add_class(name)

    def _check_open(self, row: int) -> None:
        if not 0 <= row < self.copy.table.n_rows:
            raise InputError(f"there is no row {row + 1}: the table has {self.copy.table.n_rows:,}")
        if self.copy.labels[row] != "":
            raise InputError(f"row {row + 1} is already labelled {self.copy.labels[row]!r}, perhaps in another window")

    def _count_answer(self) -> None:
        self._since_round += 1
        two_classes = len(set(self.copy.labels) - {""}) >= 2
        if two_classes and (self._since_round >= self.settings.batch or self.training.round.estimator is None):
            self._since_round = 0
            self.training.ask()

    def suggestions(self, n: int) -> list[dict[str, Any]]:
        """Return the next `n` rows to label: number, counted from 1, identifier and the likeliest classes."""
        round_ = self.training.round
        rows = self.training.suggest(round_.estimator, n).tolist()
        return [
            {**self.view.name(row), "number": row + 1, "prediction": self.view.prediction(row, round_)} for row in rows
        ]

    def state(self, looked_at: int | None = None) -> dict[str, Any]:
        """Return the content of the page as JSON; while a row is `looked_at`, it stays the row shown."""
        with self._lock:
            row, round_, labels = self.next_row(), self.training.round, self.copy.labels
            if looked_at is not None and 0 <= looked_at < len(labels) and labels[looked_at] == "":
                row = looked_at
            return {
                "classes": list(self.classes),
                "row": None if row is None else self.view.row(row, round_),
                "panel": self.view.panel(self.classes, len(self.history.skipped), round_),
                "can_undo": bool(self.history.answers),
                "training": self.training.activity,
                "problem": self.training.problem,
            }


def _features(copy: LabelledCopy, settings: Settings) -> NDArray[np.float64]:
    """Return the columns to learn from as numbers, (N, M)."""
    others = [name for name in (settings.identifier, settings.image, settings.text) if name is not None]
    table = copy.table.with_categorical(settings.categorical)
    columns = choose_columns(table, settings.features, label=copy.label, without=list(dict.fromkeys(others)))
    return TableEncoder.fit(table, columns).transform(table)


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
