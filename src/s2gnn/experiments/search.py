"""Hyperparameter search on the validation seeds, with Optuna, by any number of processes and machines."""

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
    """How to search.

    Attributes:
        sampler: "tpe" starts with the experiment's own hyperparameters, learns from earlier trials and prunes those
            that are worse than the best on three seeds; "random" is the paper's, where trial i depends on the seed and
            i only.
        trials: number of trials, of all processes together.
        seeds: a trial's score is the mean over these.
        seed: of the sampler.
        max_heads: maximum number of attention heads.
        heartbeat: seconds between two signs of life of a running trial.
        grace: seconds without a sign of life after which a trial is retried by another process.
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
        trials: number of trials wanted.
        complete: trials with a score from every seed.
        pruned: stopped early.
        failures: why trials were given up, one line each: they cannot be trained, or their processes died repeatedly.
        retried: how often a process died and its trial was started again.
        running: trials in progress.
        score: mean validation score of the best trial, a share; `None` before the first is complete.
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
        """The number of trials given up."""
        return len(self.failures)

    @property
    def finished(self) -> int:
        """The trials that have ended, in whatever way."""
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
    """Find hyperparameters for an experiment; its test part is not used.

    Any number of calls, on one machine or several, may work on one search: together they run `config.trials` trials.
    A call resumes the search and returns at once if nothing is missing. An interrupt loses the seeds in training; the
    trial of a process that was killed is resumed by another, after the seeds it had finished.

    Args:
        experiment: its hyperparameters, where they are searched, are the first trial of "tpe"; its seeds are not used.
        config: how to search.
        storage: a file, for SQLite, or an address with "://" that Optuna understands.
        jobs: number of trials at the same time; 1 trains in this process.
        minutes: start no seed that would not finish by then, judging by the longest so far.
        on_progress: called with the state of the search now and then.

    Raises:
        SeedError: when training fails for another reason than a loss that is not finite, or when all processes died.
        ConnectionError: when the storage no longer answers; what is stored is not lost.
    """
    if experiment.protocol.folds is not None:
        raise InputError(
            f"a search under {experiment.protocol.name} would choose hyperparameters on graphs that other folds test: "
            "search under fair-graphs, or set them with --set"
        )
    end = None if minutes is None else time.time() + 60 * minutes
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
    """The state of a search in its storage."""
    with _opened(experiment, config, storage) as trials:
        return trials.result()


class Trials:
    """The trials of one search: an Optuna study on which every worker asks for trials and tells their scores.

    Trial i has the same values whichever worker makes it. One that is interrupted, or whose worker died without a sign
    of life, is put back with the scores it has, and the next worker to ask gets it. Should two workers create one trial
    too many, it waits until the search is extended.
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
        """Leave the storage."""
        self._database.remove_session()
        self._database.engine.dispose()

    def _essentials(self) -> dict[str, Any]:
        """Everything that the trials depend on but their number."""
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
        """The search in its storage, created if needed."""
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
        """The values of a trial that are not learned from earlier ones."""
        if self.config.sampler == "random":
            return draw_values(self.space, self.config.seed, number)
        return self._first if number == 0 else {}

    def trials(self) -> list[FrozenTrial]:
        """The first `config.trials` trials."""
        return self.study.get_trials(deepcopy=False)[: self.config.trials]

    def result(self) -> SearchResult:
        """The state of the search."""
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
        """The experiment with the values of a trial, without the rounding errors of floating-point steps."""
        exact = {name: round(value, DECIMALS) if isinstance(value, float) else value for name, value in values.items()}
        return replace(self.experiment, hyperparameters=self.experiment.hyperparameters.with_values(exact))

    def work(self, task: Task[Any], end: float | None, on_progress: OnProgress) -> None:
        """Run trials until all are finished; those of others may yet be put back."""
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
        """Put back what processes of this search were running when they were stopped."""
        for trial in self.trials():
            if trial.state is TrialState.RUNNING and trial.user_attrs.get("worker") in processes:
                self._database.put_back(trial._trial_id)


class _Sampler(optuna.samplers.BaseSampler):
    """Values that are given for the number of a trial, or those of TPE with a seed for each number."""

    def __init__(self, given: Callable[[int], dict[str, Value | None]], seed: int, database: SearchStorage) -> None:
        self._given, self._seed, self._database = given, seed, database

    def _tpe(self, trial: FrozenTrial) -> optuna.samplers.TPESampler:
        seed = int(np.random.SeedSequence([self._seed, trial.number]).generate_state(1)[0])
        with without_warning("multivariate"), without_warning("constant_liar"):
            return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Record the process and a first sign of life: without one, its death would not be noticed."""
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
        """Whether there is no time for another seed, judging by the longest so far."""
        return self.end is not None and time.time() + self.longest >= self.end

    def __call__(self, trial: Trial) -> float:
        task, seeds = self.task.with_experiment(self.trials.with_values(trial.params)), self.trials.config.seeds
        scores = dict(self.trials.study.trials[trial.number].intermediate_values)
        self.report()
        for position, seed in enumerate(seeds):
            if position in scores:
                continue
            if self.is_over():
                raise _OutOfTimeError
            start = time.time()
            try:
                scores[position] = float(task.fit(seed).validation)
            except NonFiniteLossError as error:
                raise NonFiniteLossError(f"seed {seed}: {error}") from error
            trial.report(scores[position], position)
            self.longest = max(self.longest, time.time() - start)
            self.report()
            if trial.should_prune() and len(scores) < len(seeds):
                raise optuna.TrialPruned
        return float(np.mean([scores[position] for position in sorted(scores)]))


def _deaths(trial: FrozenTrial) -> int:
    """How many processes died during a trial."""
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
    """Work with `jobs` processes, which end with this one; one that is killed does not stop the others."""
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
