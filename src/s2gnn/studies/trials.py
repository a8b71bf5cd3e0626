"""The trials of a search in an Optuna storage: each draw is done once, whoever works on it and whoever dies."""

import copy
import os
import platform
import random
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import numpy as np

from s2gnn.errors import InputError
from s2gnn.learning.hyperparameters import Value
from s2gnn.learning.space import DECIMALS, Choice, Integers, Range, SearchSpace, Uniform
from s2gnn.studies.addresses import storage_address, without_password
from s2gnn.studies.heartbeat import Heartbeat

try:
    import optuna
    import sqlalchemy
    from optuna.distributions import BaseDistribution
    from optuna.exceptions import ExperimentalWarning, StorageInternalError, UpdateFinishedTrialError
    from optuna.samplers import BaseSampler, TPESampler
    from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
    from optuna.trial import FrozenTrial, Trial, TrialState
    from sqlalchemy.exc import SQLAlchemyError
except ImportError as error:
    raise InputError("a search needs Optuna, which is not installed: pip install 's2gnn[search]'") from error

# A configuration that kills its process, for instance by taking all memory, does so every time.
MAX_RETRIES = 3
_OPENING_ATTEMPTS = 8
_SQLITE_PATIENCE = 120  # seconds that a process waits for the others' transactions


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


class Trials:
    """All trials of one search, as an Optuna study.

    The draws of a search are its trials that retry no other, in the order of their numbers. They are put into the study
    as waiting; a process claims the first that waits. The trial of a dead process fails, and a copy of it, with the
    scores that it had, waits. Should two processes plan or copy at the same time, the surplus is not claimed: a draw
    beyond the wanted total belongs to a longer search, and of two copies the first counts.

    Args:
        storage: a file for SQLite, or an address with "://" that Optuna understands.
        name: of the study.
        space: what is drawn from.
        sampler: "random" or "tpe".
        seed: of the draws.
        heartbeat: how the death of a process is noticed.
    """

    def __init__(
        self, storage: str | Path, name: str, space: SearchSpace, sampler: str, seed: int, heartbeat: Heartbeat
    ) -> None:
        self.name = name
        self._space = space
        self._sampler = sampler
        self._seed = seed
        self._heartbeat = heartbeat
        self._storage = _opened(storage, heartbeat)
        self._cached = optuna.storages.get_storage(self._storage)
        self._not_retried: dict[int, float] = {}
        with _without("WilcoxonPruner"):
            # Of five seeds, three that are all worse than those of the best trial (p = 0.125) are enough to stop.
            pruner = optuna.pruners.WilcoxonPruner(p_threshold=0.15, n_startup_steps=3)
        self._pruner = pruner if sampler == "tpe" else optuna.pruners.NopPruner()

    def exist(self) -> bool:
        """Whether the study is in the storage."""
        return self.name in optuna.get_all_study_names(self._cached)

    def plan(self, total: int, attributes: Mapping[str, Any]) -> None:
        """Make the study unless it is there, and let trials wait until there are `total` draws.

        Args:
            total: number of draws.
            attributes: of a study that is new.
        """
        with _quiet():
            study = optuna.create_study(
                storage=self._cached, study_name=self.name, direction="maximize", load_if_exists=True
            )
        if not study.user_attrs:
            for key, value in attributes.items():
                study.set_user_attr(key, value)
        for _ in range(total - len(self.draws())):
            study.add_trial(optuna.create_trial(state=TrialState.WAITING))

    def draws(self) -> list[FrozenTrial]:
        """For each draw the trial that counts: its first one, or the last that retries it."""
        trials = self._study().get_trials(deepcopy=False)
        retries: dict[int, FrozenTrial] = {}
        for trial in trials:
            for retried in _retried(trial)[-1:]:
                retries.setdefault(retried, trial)
        current = []
        for trial in trials:
            if not _retried(trial):
                while trial.number in retries:
                    trial = retries[trial.number]
                current.append(trial)
        return current

    def claim(self, total: int) -> ClaimedTrial | None:
        """The first of `total` draws that waits, now this process's; `None` if none does."""
        self._retry_those_of_the_dead()
        for index, trial in enumerate(self.draws()[:total]):
            if trial.state is TrialState.WAITING:
                # Without a heartbeat before it runs, a death right after the claim would not be noticed.
                self._storage.record_heartbeat(trial._trial_id)
                try:
                    if self._storage.set_trial_state_values(trial._trial_id, TrialState.RUNNING):
                        return ClaimedTrial(
                            index, Trial(self._study(index), trial._trial_id), self._storage, self._space
                        )
                except (UpdateFinishedTrialError, LostTrialError):
                    continue
        return None

    def values(self, trial: FrozenTrial) -> dict[str, Value]:
        """The values of a trial that was claimed."""
        return {name: _rounded(trial.params[name]) for name in self._space.ranges}

    def close(self) -> None:
        """Leave the storage."""
        self._storage.remove_session()
        self._storage.engine.dispose()

    def _study(self, index: int | None = None) -> optuna.Study:
        """The study, with the sampler of draw `index`: a draw must not depend on which process made those before."""
        sampler: BaseSampler | None = None
        if index is not None and self._sampler == "random":
            sampler = _Drawn(self._space.draw(self._seed, index))
        elif index is not None:
            state = int(np.random.SeedSequence([self._seed, index]).generate_state(1)[0])
            sampler = TPESampler(seed=state, multivariate=True, constant_liar=True)
        return optuna.load_study(study_name=self.name, storage=self._cached, sampler=sampler, pruner=self._pruner)

    def _retry_those_of_the_dead(self) -> None:
        study = self._study()
        with _without("fail_stale_trials"):
            optuna.storages.fail_stale_trials(study)
        # Optuna fails a trial and copies it in two steps; who died in between has left it without a copy.
        now = time.monotonic()
        alone = [trial for trial in self.draws() if trial.state is TrialState.FAIL and is_unfinished(trial)]
        self._not_retried = {trial.number: self._not_retried.get(trial.number, now) for trial in alone}
        for trial in alone:
            if now - self._not_retried[trial.number] > self._heartbeat.grace:
                _retry()(study, copy.deepcopy(trial))


def retries(trial: FrozenTrial) -> int:
    """How often the draw that `trial` stands for was begun again, because a process died at it."""
    return len(_retried(trial))


def is_unfinished(trial: FrozenTrial) -> bool:
    """Whether there is still work for the draw that `trial` stands for."""
    if trial.state is TrialState.FAIL:
        return "error" not in trial.user_attrs and retries(trial) < MAX_RETRIES
    return not trial.state.is_finished()


def _retried(trial: FrozenTrial) -> list[int]:
    """The numbers of the trials whose processes died before this retry; empty for a draw's first trial."""
    history: list[int] = trial.system_attrs.get("retry_history", [])
    return history


class _Drawn(BaseSampler):
    """Gives values that are there already."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = values

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Nothing is sampled jointly."""
        del study, trial
        return {}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Nothing is sampled jointly."""
        del study, trial, search_space
        return {}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Value:
        """The value called `param_name`."""
        del study, trial, param_distribution
        return self._values[param_name]


def _suggest(trial: Trial, name: str, chosen: Range) -> Value:
    match chosen:
        case Uniform(low, high):
            return _rounded(trial.suggest_float(name, low, high, step=10**-DECIMALS))
        case Integers(low, high):
            return trial.suggest_int(name, low, high)
        case Choice(values):
            return cast(Value, trial.suggest_categorical(name, values))


def _rounded(value: Value) -> Value:
    return round(value, DECIMALS) if isinstance(value, float) else value


def _opened(storage: str | Path, heartbeat: Heartbeat) -> RDBStorage:
    address = storage_address(storage)
    sqlite = address.startswith("sqlite")
    try:
        opened = _connected(address, heartbeat, {"connect_args": {"timeout": _SQLITE_PATIENCE}} if sqlite else {})
    except (SQLAlchemyError, ImportError, RuntimeError, ValueError) as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise InputError(
            f"the storage {without_password(str(storage))} cannot be opened ({without_password(reason)}): give a file "
            "such as search.db, or the address of a database such as postgresql://user@host/name whose driver is "
            "installed"
        ) from error
    if sqlite:
        _make_transactions_exclusive(opened.engine)
    return opened


def _connected(url: str, heartbeat: Heartbeat, engine: dict[str, Any]) -> RDBStorage:
    """The storage with its tables; processes that make them at the same time are in each other's way, and try again."""
    for attempt in range(_OPENING_ATTEMPTS):
        try:
            with _without("heartbeat_interval"):
                return RDBStorage(
                    url,
                    engine,
                    heartbeat_interval=heartbeat.interval,
                    grace_period=heartbeat.grace,
                    heartbeat_stale_trial_callback=_retry(),
                )
        except (sqlalchemy.exc.OperationalError, sqlalchemy.exc.IntegrityError) as error:
            if attempt == _OPENING_ATTEMPTS - 1 or "unable to open" in str(error):
                raise
            time.sleep(random.uniform(0.05, 0.2) * (attempt + 1))
    raise AssertionError("the last attempt returns or raises")


def _make_transactions_exclusive(engine: sqlalchemy.Engine) -> None:
    """Let a transaction begin with the write lock.

    Optuna reads a trial's state and then writes it, relying on row locks that SQLite does not have: two processes would
    claim the same trial.
    """

    def leave_begin_to_us(connection: Any, _: Any) -> None:
        connection.isolation_level = None

    def begin(connection: sqlalchemy.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    engine.dispose()
    sqlalchemy.event.listen(engine, "connect", leave_begin_to_us)
    sqlalchemy.event.listen(engine, "begin", begin)


def _retry() -> RetryHeartbeatStaleTrialCallback:
    with _without("RetryHeartbeatStaleTrialCallback"):
        return RetryHeartbeatStaleTrialCallback(max_retry=MAX_RETRIES, inherit_intermediate_values=True)


@contextmanager
def storage_errors() -> Iterator[None]:
    """Say in one sentence that the storage failed, as when its server is gone."""
    try:
        yield
    except StorageInternalError as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise ConnectionError(f"the storage of the search failed ({reason}): start again when it answers") from error


@contextmanager
def _without(feature: str) -> Iterator[None]:
    """Leave out the warning that a feature of the pinned Optuna is experimental there."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", rf".*\b{feature}\b.* is (an )?experimental", ExperimentalWarning)
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out Optuna's line about a new study."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


@contextmanager
def _unless_lost() -> Iterator[None]:
    try:
        yield
    except UpdateFinishedTrialError as error:
        raise LostTrialError from error
