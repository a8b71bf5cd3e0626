"""The trials of a search in an Optuna storage: each draw is done once, whoever works on it and whoever dies."""

import copy
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.exceptions import UpdateFinishedTrialError
from optuna.samplers import BaseSampler, TPESampler
from optuna.trial import FrozenTrial, Trial, TrialState

from s2gnn.learning.hyperparameters import Value
from s2gnn.learning.space import SearchSpace
from s2gnn.search.claims import ClaimedTrial, LostTrialError, rounded
from s2gnn.search.heartbeat import Heartbeat
from s2gnn.search.storage import MAX_RETRIES, open_storage, retry_callback, without_warning


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
        first: the values of the first draw; sampled as the others if left out.
    """

    def __init__(
        self,
        storage: str | Path,
        name: str,
        space: SearchSpace,
        sampler: str,
        seed: int,
        heartbeat: Heartbeat,
        first: Mapping[str, Value] | None = None,
    ) -> None:
        self.name = name
        self._space = space
        self._sampler = sampler
        self._seed = seed
        self._first = first
        self._heartbeat = heartbeat
        self._storage = open_storage(storage, heartbeat)
        self._cached = optuna.storages.get_storage(self._storage)
        self._not_retried: dict[int, float] = {}
        with without_warning("WilcoxonPruner"):
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
        return {name: rounded(trial.params[name]) for name in self._space.ranges}

    def close(self) -> None:
        """Leave the storage."""
        self._storage.remove_session()
        self._storage.engine.dispose()

    def _study(self, index: int | None = None) -> optuna.Study:
        """The study, with the sampler of draw `index`: a draw must not depend on which process made those before."""
        sampler: BaseSampler | None = None
        if index == 0 and self._first is not None:
            sampler = _Drawn(self._first)
        elif index is not None and self._sampler == "random":
            sampler = _Drawn(self._space.draw(self._seed, index))
        elif index is not None:
            state = int(np.random.SeedSequence([self._seed, index]).generate_state(1)[0])
            sampler = TPESampler(seed=state, multivariate=True, constant_liar=True)
        return optuna.load_study(study_name=self.name, storage=self._cached, sampler=sampler, pruner=self._pruner)

    def _retry_those_of_the_dead(self) -> None:
        study = self._study()
        with without_warning("fail_stale_trials"):
            optuna.storages.fail_stale_trials(study)
        # Optuna fails a trial and copies it in two steps; who died in between has left it without a copy.
        now = time.monotonic()
        alone = [trial for trial in self.draws() if trial.state is TrialState.FAIL and is_unfinished(trial)]
        self._not_retried = {trial.number: self._not_retried.get(trial.number, now) for trial in alone}
        for trial in alone:
            if now - self._not_retried[trial.number] > self._heartbeat.grace:
                retry_callback()(study, copy.deepcopy(trial))


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
