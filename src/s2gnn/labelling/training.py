"""Training in the background: rows to label next for every batch of answers, then better estimates."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from s2gnn.estimator import S2GNNClassifier
from s2gnn.graphs import knn_graph
from s2gnn.labelling.rounds import Round, Trainer, hardly_changed
from s2gnn.labelling.settings import Settings
from s2gnn.labelling.strategies import Known, suggest, suggest_rows

QUEUE = 50  # suggestions made at once, so that users do not wait for the model
NEIGHBOURS = 10
LONGEST_END = 5.0  # seconds that Ctrl-C waits for a step


class Answers(NamedTuple):
    """The answers at one point in time."""

    labels: NDArray[Any]  # the class of each row, "" where there is none, (N,)
    skipped: list[int]


class Training:
    """Rounds of training, in a thread or on demand.

    Args:
        features: of all rows, (N, M).
        settings: of the session.
        answers: gives the answers so far.

    Attributes:
        round: the latest round.
        problem: the reason why the latest round failed; `None` if it succeeded.
    """

    def __init__(self, features: NDArray[np.float64], settings: Settings, answers: Callable[[], Answers]) -> None:
        self.features, self.settings, self.answers = features, settings, answers
        self.graph = knn_graph(features, min(NEIGHBOURS, len(features) - 1))  # until there is a model
        self.problem: str | None = None
        self._trainer = Trainer(features, {"random_state": settings.seed, **dict(settings.parameters)})
        self._wanted = threading.Event()  # a round for the latest answers
        self._wanted_since = 0.0
        self._suggesting = self._ended = False
        self._lock = threading.Lock()  # of the round
        self.round = Round(None, self.suggest(None), features)

    def ask(self) -> None:
        """Ask for a round for the answers so far."""
        if not self._wanted.is_set():
            self._wanted_since = time.perf_counter()
            self._wanted.set()

    def finish(self) -> None:
        """Make a round for the answers so far, with all estimates."""
        self.ask()
        while self._step():
            pass

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """Train in a thread inside the block: at its start, and whenever a round is asked for."""
        thread = threading.Thread(target=self._serve, name="training", daemon=True)
        self.ask()
        thread.start()
        try:
            yield
        finally:
            self._ended = True
            self._wanted.set()
            thread.join(LONGEST_END)  # the thread holds nothing that is lost with it

    @property
    def activity(self) -> Literal["suggestions", "accuracy"] | None:
        """What is being computed."""
        if self._wanted.is_set() or self._suggesting:
            return "suggestions"
        return None if self._trainer.is_done or self.problem else "accuracy"

    def suggest(self, estimator: S2GNNClassifier | None, n: int = QUEUE) -> NDArray[np.int64]:
        """Return the rows to label next, by an estimator or by their coverage of the table, (n,) or fewer."""
        labels, skipped = self.answers()
        labelled = np.flatnonzero(labels != "")
        without = np.union1d(labelled, np.array(skipped, dtype=np.int64))
        strategy, seed = self.settings.strategy, self.settings.seed
        if estimator is None:
            return suggest_rows(Known(self.graph, labelled), n, strategy=strategy, without=without, seed=seed)
        return suggest(estimator, n, strategy=strategy, without=without, seed=seed)

    def refill(self) -> None:
        """Make suggestions again with the latest model."""
        estimator = self.round.estimator
        queue = self.suggest(estimator)
        with self._lock:
            if self.round.estimator is estimator:  # else a new round has just made its own
                self.round = replace(self.round, queue=queue)

    def show_first(self, row: int) -> None:
        """Put a row at the head of the suggestions."""
        with self._lock:
            queue = self.round.queue
            self.round = replace(self.round, queue=np.concatenate([[row], queue[queue != row]]))

    def _serve(self) -> None:
        while not self._ended:
            try:
                if not self._step():
                    self._wanted.wait()
            except (ValueError, ArithmeticError, RuntimeError, MemoryError) as error:  # labelling continues without it
                self.problem = f"The model could not be trained: {error}"
                self._wanted.wait()

    def _step(self) -> bool:
        """Suggest rows for new labels, or else predict one fold of hidden labels; return whether one was left to do.

        So new suggestions wait for at most one fold.
        """
        if self._wanted.is_set():
            self._wanted.clear()
            self._suggesting = True
            try:
                self._make_round(self._wanted_since)
            finally:
                self._suggesting = False
        elif self._trainer.is_done:
            return False
        elif self._trainer.hide_fold():
            self.refill()
        return True

    def _make_round(self, since: float) -> None:
        """Train on the labels so far, and suggest rows."""
        before = self.round
        self._trainer.fit(self.answers().labels)
        estimator = self._trainer.estimator
        positions, stable = self.features, 0
        if estimator is not None:
            positions = estimator.members_.graph_columns(estimator.features_)
            stable = before.stable + 1 if hardly_changed(before.estimator, estimator) else 0
        queue = self.suggest(estimator)
        with self._lock:
            self.round = Round(estimator, queue, positions, stable, time.perf_counter() - since)
        self.problem = None
