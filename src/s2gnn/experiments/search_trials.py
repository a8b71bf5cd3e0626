"""The trials of a search in a storage that all its processes share: an Optuna study and its records."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import optuna
from optuna.distributions import distribution_to_json
from optuna.storages._heartbeat import BaseHeartbeatThread, get_heartbeat_thread
from optuna.trial import FrozenTrial, Trial, TrialState

from s2gnn import provenance
from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.errors import InputError
from s2gnn.experiments.experiment import Experiment, record_key
from s2gnn.experiments.hyperparameters import Hyperparameters, Value
from s2gnn.experiments.search_space import DECIMALS, draw_values, nearest_values, search_space
from s2gnn.experiments.search_storage import SearchStorage, open_storage, without_warning, worker_name
from s2gnn.nn.arguments import positive_integer

SamplerName = Literal["tpe", "random"]
# A configuration that kills its process, for instance by using all memory, does so every time.
MAX_RETRIES = 3


@dataclass(frozen=True)
class SearchConfig:
    """The configuration of a search.

    Attributes:
        sampler: "tpe" starts with the experiment's hyperparameters, learns from earlier trials, and prunes trials that
            are worse than the best on three seeds; "random" is the paper's sampler, where trial i only depends on the
            seed and i.
        trials: total number of trials of all processes.
        seeds: seeds over which the score of a trial is averaged.
        seed: random seed of the sampler.
        max_heads: maximum number of attention heads.
        heartbeat: seconds between heartbeats of a running trial.
        grace: seconds without a heartbeat after which another process retries a trial.
    """

    sampler: SamplerName = "tpe"
    trials: int = 100
    seeds: tuple[int, ...] = VALIDATION_SEEDS
    seed: int = 0
    max_heads: int = 6
    heartbeat: int = 10
    grace: int = 60

    def __post_init__(self) -> None:
        if self.sampler not in get_args(SamplerName):
            raise InputError(f"sampler is {self.sampler!r}, but it must be one of {', '.join(get_args(SamplerName))}")
        for name in ("trials", "max_heads", "heartbeat", "grace"):
            positive_integer(getattr(self, name), name)
        if len(set(self.seeds)) < len(self.seeds) or not self.seeds:
            raise InputError(f"seeds is {self.seeds}, but a search has at least one seed and each once")
        if self.seed < 0:
            raise InputError(f"seed is {self.seed}, but it must be at least 0")


@dataclass(frozen=True)
class SearchResult:
    """The state of a search.

    Attributes:
        experiment: with the best hyperparameters so far.
        study: name of the search in the storage.
        trials: requested number of trials.
        complete: number of trials with a score for every seed.
        pruned: number of trials stopped early.
        failures: reasons why trials were abandoned, one line each: training failed, or their processes died repeatedly.
        retried: number of retries after the death of a process.
        running: number of trials in progress.
        score: mean validation score of the best trial, in [0, 1]; `None` before the first is complete.
    """

    experiment: Experiment
    study: str
    trials: int
    complete: int = 0
    pruned: int = 0
    failures: tuple[str, ...] = ()
    retried: int = 0
    running: int = 0
    score: float | None = None

    @property
    def failed(self) -> int:
        """The number of abandoned trials."""
        return len(self.failures)

    @property
    def finished(self) -> int:
        """The number of trials that have ended."""
        return self.complete + self.pruned + self.failed

    @property
    def best(self) -> Hyperparameters | None:
        """Of the best trial; `None` before the first is complete."""
        return None if self.score is None else self.experiment.hyperparameters


class Trials:
    """The trials of one search: an Optuna study that all workers share.

    The values of trial i do not depend on the worker. An interrupted trial, or one without heartbeats, is returned to
    the queue with its scores and goes to the next free worker. If two workers create one trial too many, it waits until
    the search is extended.
    """

    def __init__(self, experiment: Experiment, config: SearchConfig, storage: str | Path) -> None:
        self.experiment, self.config, self.storage = experiment, config, storage
        learned = [name for name, value in experiment.hyperparameters.model.items() if value == "learn"]
        head, heads = experiment.protocol.head, config.max_heads
        self.space = search_space(experiment.model, head, max_heads=heads, fixed=learned)
        self._first = nearest_values(self.space, experiment.hyperparameters) if config.sampler == "tpe" else {}
        self.name = f"{experiment.title} {config.sampler} {record_key(self._essentials())[:8]}"
        self._database = open_storage(storage, config.heartbeat, config.grace)

    def close(self) -> None:
        """Close the storage."""
        self._database.remove_session()
        self._database.engine.dispose()

    def _essentials(self) -> dict[str, Any]:
        """Return everything but their number that the trials depend on."""
        description = self.experiment.describe()
        arguments = description.pop("arguments")
        del description["lr"], description["weight_decay"]
        return {
            **description,
            "fixed": {name: value for name, value in arguments.items() if name not in self.space},
            "space": {name: distribution_to_json(of) for name, of in self.space.items()},
            "sampler": self.config.sampler,
            "seeds": list(self.config.seeds),
            "seed": self.config.seed,
            "first": self._first,
        }

    @cached_property
    def study(self) -> optuna.Study:
        """The Optuna study in the storage, created if needed."""
        pruner: optuna.pruners.BasePruner = optuna.pruners.NopPruner()
        if self.config.sampler == "tpe":
            with without_warning("WilcoxonPruner"):
                # Of five seeds, three that are all worse than those of the best trial (p = 0.125) are enough to prune.
                pruner = optuna.pruners.WilcoxonPruner(p_threshold=0.15, n_startup_steps=3)
        study = optuna.create_study(
            storage=self._database,
            study_name=self.name,
            direction="maximize",
            load_if_exists=True,
            sampler=_Sampler(self._given, self.config.seed, self._database),
            pruner=pruner,
        )
        if not study.user_attrs:
            made = {"commit": provenance.commit(), "versions": provenance.versions()}
            for key, value in {**self._essentials(), **made}.items():
                study.set_user_attr(key, value)
        return study

    def _given(self, number: int) -> dict[str, Value | None]:
        """Return the values of a trial that are not learned from earlier ones."""
        if self.config.sampler == "random":
            return draw_values(self.space, self.config.seed, number)
        return self._first if number == 0 else {}

    def trials(self) -> list[FrozenTrial]:
        """Return the first `config.trials` trials."""
        return self.study.get_trials(deepcopy=False)[: self.config.trials]

    def result(self) -> SearchResult:
        """Return the state of the search."""
        trials = self.trials()
        states = [trial.state for trial in trials]
        complete = [trial for trial in trials if trial.state is TrialState.COMPLETE]
        failed = [trial for trial in trials if trial.state is TrialState.FAIL]
        best = max(complete, key=lambda trial: (trial.value, -trial.number), default=None)
        return SearchResult(
            self.experiment if best is None else self.with_values(best.params),
            self.name,
            self.config.trials,
            complete=len(complete),
            pruned=states.count(TrialState.PRUNED),
            failures=tuple(
                f"trial {trial.number}: {trial.user_attrs.get('error', f'{_deaths(trial)} processes died during it')} "
                f"({trial.params})"
                for trial in failed
            ),
            retried=sum(map(_deaths, trials)) - sum(_deaths(trial) > MAX_RETRIES for trial in failed),
            running=states.count(TrialState.RUNNING),
            score=None if best is None else best.value,
        )

    def with_values(self, values: dict[str, Value]) -> Experiment:
        """Return the experiment with the values of a trial, without the rounding errors of floating-point steps."""
        exact = {name: round(value, DECIMALS) if isinstance(value, float) else value for name, value in values.items()}
        return replace(self.experiment, hyperparameters=self.experiment.hyperparameters.with_values(exact))

    def ask(self) -> Trial:
        """Return the next waiting trial, or a new one."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Heartbeat of storage is supposed to be used with Study.optimize")
            return self.study.ask(dict(self.space))

    def heartbeats(self, trial: Trial) -> BaseHeartbeatThread:
        """Record heartbeats of a trial inside a `with` block."""
        return get_heartbeat_thread(trial._trial_id, self._database)

    def put_back(self, trial: Trial) -> None:
        """Return a trial to the queue."""
        self._database.put_back(trial._trial_id)

    def put_back_stale(self) -> None:
        """Return trials without heartbeats to the queue; those that killed too many processes fail."""
        self._database.put_back_stale(self.name, MAX_RETRIES + 1)

    def release(self, processes: set[str]) -> None:
        """Return the trials of stopped processes to the queue."""
        for trial in self.trials():
            if trial.state is TrialState.RUNNING and trial.user_attrs.get("worker") in processes:
                self._database.put_back(trial._trial_id)


class _Sampler(optuna.samplers.BaseSampler):
    """Samples predefined values by trial number, or TPE with one seed per trial number."""

    def __init__(self, given: Callable[[int], dict[str, Value | None]], seed: int, database: SearchStorage) -> None:
        self._given, self._seed, self._database = given, seed, database

    def _tpe(self, trial: FrozenTrial) -> optuna.samplers.TPESampler:
        seed = int(np.random.SeedSequence([self._seed, trial.number]).generate_state(1)[0])
        with without_warning("multivariate"), without_warning("constant_liar"):
            return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Record the process and a first heartbeat, so that its death is detected."""
        del study
        self._database.record_heartbeat(trial._trial_id)
        self._database.set_trial_user_attr(trial._trial_id, "worker", worker_name(os.getpid()))

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, optuna.distributions.BaseDistribution]:
        """See `BaseSampler`."""
        return {} if self._given(trial.number) else self._tpe(trial).infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, optuna.distributions.BaseDistribution]
    ) -> dict[str, Any]:
        """See `BaseSampler`."""
        return self._tpe(trial).sample_relative(study, trial, search_space) if search_space else {}

    def sample_independent(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: optuna.distributions.BaseDistribution,
    ) -> Any:
        """See `BaseSampler`."""
        given = self._given(trial.number)
        if param_name in given:
            return given[param_name]
        return self._tpe(trial).sample_independent(study, trial, param_name, param_distribution)


def _deaths(trial: FrozenTrial) -> int:
    """Return the number of processes that died during a trial."""
    return int(trial.user_attrs.get("deaths", 0))
