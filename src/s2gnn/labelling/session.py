"""A labelling session: the row to show, the answers, and the model that is trained again in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.estimator import S2GNNClassifier
from s2gnn.graphs import knn_graph
from s2gnn.labelling.history import History
from s2gnn.labelling.labels import LabelledCopy
from s2gnn.labelling.rounds import Round, Trainer, hardly_changed
from s2gnn.labelling.settings import Settings
from s2gnn.labelling.strategies import Known, suggest, suggest_rows
from s2gnn.labelling.view import View
from s2gnn.tables import TableEncoder, choose_columns
from s2gnn.tables.table import MISSING

QUEUE = 50  # suggestions made at once, so that nobody waits for the model
NEIGHBOURS = 10
LONGEST_CLASS = 200
LONGEST_END = 5.0  # seconds that Ctrl-C waits for a step of the training


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
        self.features = _features(copy, settings)  # (N, M)
        self.graph = knn_graph(self.features, min(NEIGHBOURS, len(self.features) - 1))
        self._trainer = Trainer(self.features, {"random_state": settings.seed, **dict(settings.parameters)})
        self._lock = threading.RLock()
        self._wanted = threading.Event()  # a round of training for the latest labels
        self._wanted_since, self._since_round = 0.0, 0  # the time, and the number of answers
        self._suggesting = self._ended = False
        self._problem: str | None = None
        self.round = Round(None, self._queue(None), self.features)

    @property
    def classes(self) -> list[str]:
        """To choose from."""
        return self.history.classes

    # Answers

    def next_row(self) -> int | None:
        """The row to label now; `None` if all are labelled or skipped."""
        with self._lock:
            for _ in range(2):
                for row in self.round.queue.tolist():
                    if self.copy.labels[row] == "" and self.history.answers.get(row) != "skip":
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
            self.history.add(row, "label")
            try:
                self.copy.set(row, label)
            except OSError:
                del self.history.answers[row]  # as a reader of the file does, which finds no label
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
            self.round = replace(self.round, queue=self._queue(self.round.estimator))

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
            queue = self.round.queue
            self.round = replace(self.round, queue=np.concatenate([[row], queue[queue != row]]))
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
        if two_classes and (self._since_round >= self.settings.batch or self.round.estimator is None):
            self._ask_for_round()

    # Training

    def _ask_for_round(self) -> None:
        if not self._wanted.is_set():
            self._wanted_since = time.perf_counter()
            self._wanted.set()

    def train(self) -> None:
        """Train on the labels so far, suggest rows and estimate the accuracy."""
        self._ask_for_round()
        while self._train_step():
            pass

    @contextmanager
    def training_in_background(self) -> Iterator[None]:
        """Train in a thread inside the block: at its start and after every batch of answers."""
        thread = threading.Thread(target=self._train_when_wanted, name="training", daemon=True)
        self._ask_for_round()
        thread.start()
        try:
            yield
        finally:
            self._ended = True
            self._wanted.set()
            thread.join(LONGEST_END)  # the thread holds nothing that is lost with it

    def _train_when_wanted(self) -> None:
        while not self._ended:
            try:
                if not self._train_step():
                    self._wanted.wait()
            except (ValueError, ArithmeticError, RuntimeError, MemoryError) as error:  # labelling continues without it
                self._problem = f"The model could not be trained: {error}"
                self._wanted.wait()

    def _train_step(self) -> bool:
        """Suggest rows for new labels, or else predict one fold of hidden labels; `False` if neither is left to do.

        So new suggestions wait for at most one fold.
        """
        if self._wanted.is_set():
            self._suggest()
        elif self._trainer.is_done:
            return False
        elif self._trainer.hide_fold():
            self._publish(self.round)
        return True

    def _suggest(self) -> None:
        """Train on the labels so far, and suggest rows."""
        with self._lock:
            self._wanted.clear()
            labels, before, since = self.copy.labels.copy(), self.round, self._wanted_since
            self._since_round, self._suggesting = 0, True
        try:
            self._trainer.fit(labels)
            estimator = self._trainer.estimator
            if estimator is None:
                self._publish(Round(None, before.queue, self.features))
            else:
                positions = estimator.members_.graph_columns(estimator.features_)
                stable = before.stable + 1 if hardly_changed(before.estimator, estimator) else 0
                self._publish(Round(estimator, before.queue, positions, stable), since)
            self._problem = None
        finally:
            self._suggesting = False

    def _publish(self, round_: Round, since: float | None = None) -> None:
        """Make suggestions with the model of a round, which was asked for at the time `since` if it is new."""
        queue = self._queue(round_.estimator)
        seconds = round_.seconds if since is None else time.perf_counter() - since
        with self._lock:
            self.round = replace(round_, queue=queue, seconds=seconds)

    def suggestions(self, n: int) -> list[dict[str, Any]]:
        """The next `n` rows to label: number, counted from 1, identifier and the likeliest classes."""
        rows = self._queue(self.round.estimator, n).tolist()
        return [
            {**self.view.name(row), "number": row + 1, "prediction": self.view.prediction(row, self.round)}
            for row in rows
        ]

    def _queue(self, estimator: S2GNNClassifier | None, n: int = QUEUE) -> NDArray[np.int64]:
        with self._lock:
            labelled = np.flatnonzero(self.copy.labels != "")
            without = np.array(sorted({*self.history.answers, *labelled.tolist()}), dtype=np.int64)
        settings = self.settings
        if estimator is None:
            known = Known(self.graph, labelled)
            return suggest_rows(known, n, strategy=settings.strategy, without=without, seed=settings.seed)
        return suggest(estimator, n, strategy=settings.strategy, without=without, seed=settings.seed)

    # The page

    def state(self, looked_at: int | None = None) -> dict[str, Any]:
        """What the page shows, as JSON has it; the row stays the one that is `looked_at` while it is open."""
        with self._lock:
            row, round_, labels = self.next_row(), self.round, self.copy.labels
            if looked_at is not None and 0 <= looked_at < len(labels) and labels[looked_at] == "":
                row = looked_at
            return {
                "classes": list(self.classes),
                "row": None if row is None else self.view.row(row, round_),
                "panel": self.view.panel(self.classes, len(self.history.skipped), round_),
                "can_undo": bool(self.history.answers),
                "training": self._activity(),
                "problem": self._problem,
            }

    def _activity(self) -> str | None:
        """What is computed in the background: "suggestions", then "accuracy"."""
        if self._wanted.is_set() or self._suggesting:
            return "suggestions"
        return None if self._trainer.is_done or self._problem else "accuracy"


def _features(copy: LabelledCopy, settings: Settings) -> NDArray[np.float64]:
    """The columns to learn from as numbers, (N, M)."""
    others = [name for name in (settings.identifier, settings.image, settings.text) if name is not None]
    columns = choose_columns(copy.table, settings.features, label=copy.label, without=list(dict.fromkeys(others)))
    return TableEncoder.fit(copy.table, columns).transform(copy.table)


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
