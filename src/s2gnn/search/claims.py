"""One trial in the hands of the process that works on it."""

import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import cast

import numpy as np
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.trial import Trial, TrialState

from s2gnn.learning.hyperparameters import Value
from s2gnn.learning.space import DECIMALS, Choice, Integers, Range, SearchSpace, Uniform


class LostTrialError(Exception):
    """The others took this process for dead and gave its trial to another."""


class ClaimedTrial:
    """A trial that this process works on: its values, the scores that it has, and how it ends.

    Attributes:
        index: of the draw, counted from 0.
        values: of the hyperparameters, by name.
        scores: on the validation nodes by the position of the seed, from this process or a dead one before it.
    """

    def __init__(self, index: int, trial: Trial, storage: RDBStorage, space: SearchSpace) -> None:
        self.index = index
        self._trial = trial
        self._storage = storage
        with _unless_lost():
            trial.set_user_attr("worker", f"{platform.node()}, process {os.getpid()}")
            self.values = {name: _suggest(trial, name, chosen) for name, chosen in space.ranges.items()}
            self.scores: dict[int, float] = dict(storage.get_trial(trial._trial_id).intermediate_values)

    def report(self, position: int, score: float) -> bool:
        """Keep the score of one seed; whether the trial is not worth another."""
        with _unless_lost():
            self._trial.report(score, position)
            self.scores[position] = score
            return self._trial.should_prune()

    def complete(self) -> None:
        """All seeds have a score, whose mean is the trial's."""
        self._end(TrialState.COMPLETE, [self._mean()])

    def prune(self) -> None:
        """The trial was stopped early."""
        self._end(TrialState.PRUNED, [self._mean()])

    def fail(self, message: str) -> None:
        """The values cannot be trained, so that another attempt is of no use."""
        with _unless_lost():
            self._trial.set_user_attr("error", message)
        self._end(TrialState.FAIL)

    def hand_back(self) -> None:
        """Stop here, so that whoever comes next goes on with the seeds that have no score."""
        try:
            self._storage.set_trial_state_values(self._trial._trial_id, TrialState.WAITING)
        except (UpdateFinishedTrialError, StorageInternalError):
            return  # it is another's already, or will be when this process has been silent for long enough

    @contextmanager
    def kept_alive(self) -> Iterator[None]:
        """Say in the storage, as long as the block lasts, that this process lives."""
        stop = threading.Event()
        interval = self._storage.get_heartbeat_interval()

        def beat() -> None:
            while not stop.wait(interval):
                # One sign of life that does not get through is what the grace period is for.
                with suppress(StorageInternalError):
                    self._storage.record_heartbeat(self._trial._trial_id)
            self._storage.remove_session()

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _mean(self) -> float:
        return float(np.mean([self.scores[position] for position in sorted(self.scores)]))

    def _end(self, state: TrialState, values: list[float] | None = None) -> None:
        with _unless_lost():
            self._storage.set_trial_state_values(self._trial._trial_id, state, values)


def rounded(value: Value) -> Value:
    """`value` as the space has it, without the error of floating-point steps."""
    return round(value, DECIMALS) if isinstance(value, float) else value


def _suggest(trial: Trial, name: str, chosen: Range) -> Value:
    match chosen:
        case Uniform(low, high):
            return rounded(trial.suggest_float(name, low, high, step=10**-DECIMALS))
        case Integers(low, high):
            return trial.suggest_int(name, low, high)
        case Choice(values):
            return cast(Value, trial.suggest_categorical(name, values))


@contextmanager
def _unless_lost() -> Iterator[None]:
    try:
        yield
    except UpdateFinishedTrialError as error:
        raise LostTrialError from error
