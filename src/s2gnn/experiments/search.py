"""Hyperparameter search with Optuna on the validation seeds, by any number of processes and machines."""

import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import optuna
import torch
from optuna.distributions import distribution_to_json
from optuna.exceptions import OptunaError, UpdateFinishedTrialError
from optuna.storages._heartbeat import get_heartbeat_thread
from optuna.trial import FrozenTrial, Trial, TrialState

from s2gnn import provenance
from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.errors import InputError, NonFiniteLossError, SeedError
from s2gnn.experiments.experiment import Experiment, record_key
from s2gnn.experiments.hyperparameters import Hyperparameters, Value
from s2gnn.experiments.search_space import DECIMALS, draw_values, nearest_values, search_space
from s2gnn.experiments.search_storage import SearchStorage, open_storage, storage_errors, without_warning, worker_name
from s2gnn.experiments.tasks import Task, load_task
from s2gnn.learning.many import threads_per_run
from s2gnn.nn.arguments import positive_integer
from s2gnn.operators import kernel
from s2gnn.processes import end_with_parent, how_it_ended, start_process

SamplerName = Literal["tpe", "random"]
OnProgress = Callable[["SearchResult"], None] | None
# A configuration that kills its process, for instance by using all memory, does so every time.
MAX_RETRIES = 3
_POLL = 1.0  # seconds between two looks at what the other processes do


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


def search(
    experiment: Experiment,
    config: SearchConfig,
    storage: str | Path,
    jobs: int = 1,
    minutes: float | None = None,
    on_progress: OnProgress = None,
) -> SearchResult:
    """Search hyperparameters for an experiment; its test set is not used.

    Any number of processes, on one or several machines, can call this function for the same search; together they run
    `config.trials` trials. A call resumes the search, and returns immediately if it is complete. An interruption only
    loses the seeds in progress; another process resumes the trial of a killed one after its finished seeds.

    Args:
        experiment: the experiment; its hyperparameters are the first trial of "tpe", its seeds are ignored.
        config: configuration of the search.
        storage: an SQLite file, or a database URL of Optuna.
        jobs: number of parallel trials; 1 trains in this process.
        minutes: time limit: a seed only starts if it is expected to finish in time, judging by the longest so far.
        on_progress: function called regularly with the state of the search.

    Raises:
        SeedError: if training fails for another reason than a non-finite loss, or all processes died.
        ConnectionError: if the storage does not respond; stored results are not lost.
    """
    if experiment.protocol.folds is not None:
        raise InputError(
            f"a search under {experiment.protocol.name} would choose hyperparameters on graphs that other folds test: "
            "search under fair-graphs, or set them with --set"
        )
    end = None if minutes is None else time.monotonic() + 60 * minutes
    with _opened(experiment, config, storage) as trials:
        if trials.result().finished < config.trials:
            task = load_task(experiment)  # builds and caches the graph once, before processes start
            if jobs == 1:
                trials.work(task, end, on_progress)
            else:
                _work_in_processes(trials, jobs, end, on_progress)
            if on_progress is not None:
                on_progress(trials.result())
        return trials.result()


def search_result(experiment: Experiment, config: SearchConfig, storage: str | Path) -> SearchResult:
    """Return the state of a search in its storage."""
    with _opened(experiment, config, storage) as trials:
        return trials.result()


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

    def work(self, task: Task[Any], end: float | None, on_progress: OnProgress) -> None:
        """Run trials until all are finished; running trials of other workers may still be returned to the queue."""
        objective = _Objective(self, task, end, on_progress)
        while not objective.is_over():
            self._database.put_back_stale(self.name, MAX_RETRIES + 1)
            trials = self.trials()
            states = {trial.state for trial in trials}
            if TrialState.WAITING in states or len(trials) < self.config.trials:
                with suppress(_OutOfTimeError):
                    self._run_trial(objective)
            elif TrialState.RUNNING in states:
                time.sleep(_POLL)
            else:
                return

    def _run_trial(self, objective: "_Objective") -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Heartbeat of storage is supposed to be used with Study.optimize")
            trial = self.study.ask(dict(self.space))
        try:
            if trial.number >= self.config.trials:
                self._database.put_back(trial._trial_id)
                return
            with get_heartbeat_thread(trial._trial_id, self._database):
                score = objective(trial)
            self.study.tell(trial, score, skip_if_finished=True)
        except optuna.TrialPruned:
            self.study.tell(trial, state=TrialState.PRUNED, skip_if_finished=True)
        except NonFiniteLossError as error:
            trial.set_user_attr("error", str(error))
            self.study.tell(trial, state=TrialState.FAIL, skip_if_finished=True)
        except UpdateFinishedTrialError:
            pass  # others took this process for dead, and one of them has finished its trial
        except BaseException as error:
            self._database.put_back(trial._trial_id)
            if isinstance(error, Exception) and not isinstance(error, _OutOfTimeError | OptunaError):
                what = f"trial {trial.number} of the search failed with {trial.params}"
                raise SeedError(f"{what}: {type(error).__name__}: {error}") from error
            raise
        objective.report()

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


class _OutOfTimeError(Exception):
    """There is no time for another seed."""


@dataclass
class _Objective:
    """The mean validation score of a trial over the seeds, including those that an earlier process scored."""

    trials: Trials
    task: Task[Any]
    end: float | None
    on_progress: OnProgress
    longest: float = 0.0

    def report(self) -> None:
        """Report the state of the search."""
        if self.on_progress is not None:
            self.on_progress(self.trials.result())

    def is_over(self) -> bool:
        """Return whether there is no time for another seed, judging by the longest so far."""
        return self.end is not None and time.monotonic() + self.longest >= self.end

    def __call__(self, trial: Trial) -> float:
        task, seeds = self.task.with_experiment(self.trials.with_values(trial.params)), self.trials.config.seeds
        scores = dict(self.trials.study.trials[trial.number].intermediate_values)
        self.report()
        for position, seed in enumerate(seeds):
            if position in scores:
                continue
            if self.is_over():
                raise _OutOfTimeError
            start = time.monotonic()
            try:
                scores[position] = float(task.fit(seed).validation)
            except NonFiniteLossError as error:
                raise NonFiniteLossError(f"seed {seed}: {error}") from error
            trial.report(scores[position], position)
            self.longest = max(self.longest, time.monotonic() - start)
            self.report()
            if trial.should_prune() and len(scores) < len(seeds):
                raise optuna.TrialPruned
        return float(np.mean([scores[position] for position in sorted(scores)]))


def _deaths(trial: FrozenTrial) -> int:
    """Return the number of processes that died during a trial."""
    return int(trial.user_attrs.get("deaths", 0))


@contextmanager
def _opened(experiment: Experiment, config: SearchConfig, storage: str | Path) -> Iterator[Trials]:
    with storage_errors():
        trials = Trials(experiment, config, storage)
        try:
            yield trials
        finally:
            trials.close()


def _work_in_processes(trials: Trials, jobs: int, end: float | None, on_progress: OnProgress) -> None:
    """Run trials in `jobs` processes, which end with this one; if one is killed, the others continue."""
    errors: Any = multiprocessing.get_context("spawn").SimpleQueue()
    given = (errors, trials.experiment, trials.config, trials.storage, threads_per_run(jobs), end, kernel.chosen())
    processes = []
    try:
        for _ in range(jobs):
            processes.append(start_process(_work_for_parent, *given))
        while alive := [process.sentinel for process in processes if process.is_alive()]:
            wait(alive, _POLL)
            if on_progress is not None:
                on_progress(trials.result())
            if not errors.empty():
                raise errors.get()
        if all(process.exitcode for process in processes):
            raise SeedError(f"all {jobs} processes of the search died; the last {how_it_ended(processes[-1])}")
    finally:
        for process in processes:
            process.kill()
            process.join()
        trials.release({worker_name(process.pid) for process in processes})


def _work_for_parent(
    errors: Any,
    experiment: Experiment,
    config: SearchConfig,
    storage: str | Path,
    threads: int,
    end: float | None,
    kernel_name: str,
) -> None:
    end_with_parent()
    torch.set_num_threads(threads)
    try:
        with kernel.use(kernel_name), _opened(experiment, config, storage) as trials:
            trials.work(load_task(experiment), end, None)
    except (SeedError, ConnectionError) as error:
        errors.put(error)
    except Exception as error:  # noqa: BLE001  whatever it is, the parent raises it
        errors.put(SeedError(f"a process of the search failed: {type(error).__name__}: {error}"))
