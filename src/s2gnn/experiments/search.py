"""Hyperparameter search on the validation seeds, with Optuna, by any number of processes and machines."""

import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
import optuna
import torch
from optuna.exceptions import OptunaError
from optuna.trial import FrozenTrial, Trial, TrialState

from s2gnn import provenance
from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.errors import InputError, NonFiniteLossError, SeedError
from s2gnn.experiments.experiment import Experiment, record_key
from s2gnn.experiments.hyperparameters import DECIMALS, Choice, Hyperparameters, Integers, Range, Uniform, Value
from s2gnn.experiments.hyperparameters import search_space as paper_space
from s2gnn.experiments.search_storage import MAX_RETRIES, open_storage, storage_errors, without_warning
from s2gnn.experiments.tasks import Task, load_task
from s2gnn.learning.many import threads_per_run
from s2gnn.nn.arguments import positive_integer
from s2gnn.operators import kernel
from s2gnn.processes import end_with_parent, how_it_ended, start_process

SamplerName = Literal["tpe", "random"]
OnProgress = Callable[["SearchResult"], None] | None
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
        trials.plan()
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
    """The trials of one search, as an Optuna study that every worker optimizes.

    A search of n trials enqueues n draws, and `optimize` takes the first that waits. Optuna's heartbeat notices a dead
    worker, fails its trial and enqueues a copy with the scores it had: a draw is a chain of copies. Should two workers
    enqueue a draw at the same time, the second chain is pruned unseen.
    """

    def __init__(self, experiment: Experiment, config: SearchConfig, storage: str | Path) -> None:
        self.experiment, self.config, self.storage = experiment, config, storage
        learned = [name for name, value in experiment.hyperparameters.model.items() if value == "learn"]
        head, heads = experiment.protocol.head, config.max_heads
        self.space = paper_space(experiment.model, head, max_heads=heads, fixed=learned)
        self._first = self.space.nearest(experiment.hyperparameters) if config.sampler == "tpe" else {}
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
            "fixed": {name: value for name, value in arguments.items() if name not in self.space.ranges},
            "space": {name: asdict(of) for name, of in self.space.ranges.items()},
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
        return optuna.create_study(
            storage=optuna.storages.get_storage(self._database),
            study_name=self.name,
            direction="maximize",
            load_if_exists=True,
            pruner=pruner,
        )

    def _sampler(self, draw: int) -> optuna.samplers.BaseSampler:
        """Samples values for `draw` that do not depend on which process made those before."""
        if self.config.sampler == "random":
            return optuna.samplers.RandomSampler()  # all values are given
        seed = int(np.random.SeedSequence([self.config.seed, draw]).generate_state(1)[0])
        with without_warning("multivariate"), without_warning("constant_liar"):
            return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)

    def plan(self) -> None:
        """Create the search if needed, and enqueue the draws that are missing."""
        study, known = self.study, self.draws()
        if not study.user_attrs:
            made = {"commit": provenance.commit(), "versions": provenance.versions()}
            for key, value in {**self._essentials(), **made}.items():
                study.set_user_attr(key, value)
        for draw in range(self.config.trials):
            if draw not in known:
                random = self.config.sampler == "random"
                given = self.space.draw(self.config.seed, draw) if random else {} if draw else self._first
                study.enqueue_trial(given, user_attrs={"draw": draw})
            elif self._has_no_copy(known[draw]):
                self.enqueue_again(known[draw])

    def _has_no_copy(self, trial: FrozenTrial) -> bool:
        """Whether a worker died after it had failed a stale trial and before it enqueued the copy."""
        if trial.state is not TrialState.FAIL or _is_given_up(trial) or trial.datetime_complete is None:
            return False
        return time.time() - trial.datetime_complete.timestamp() > self.config.grace

    def enqueue_again(self, trial: FrozenTrial) -> None:
        """Enqueue a copy of a trial that nobody works on any more, with the scores it has."""
        copy = optuna.create_trial(
            state=TrialState.WAITING,
            params=trial.params,
            distributions=trial.distributions,
            user_attrs={"draw": trial.user_attrs["draw"]},
            system_attrs={"failed_trial": trial.number, **trial.system_attrs},
            intermediate_values=trial.intermediate_values,
        )
        self.study.add_trial(copy)

    def draws(self) -> dict[int, FrozenTrial]:
        """By draw the trial that counts: the last of the first chain."""
        chains: dict[int, dict[int, FrozenTrial]] = {}
        for trial in self.study.get_trials(deepcopy=False):
            if "draw" in trial.user_attrs:
                root = trial.system_attrs.get("failed_trial", trial.number)
                chains.setdefault(trial.user_attrs["draw"], {})[root] = trial
        return {draw: chains[draw][min(chains[draw])] for draw in sorted(chains)}

    def result(self) -> SearchResult:
        """The state of the first `config.trials` draws."""
        draws = {draw: trial for draw, trial in self.draws().items() if draw < self.config.trials}
        states = [trial.state for trial in draws.values()]
        scores = {draw: trial.value for draw, trial in draws.items() if trial.state is TrialState.COMPLETE}
        best = max(scores, key=lambda draw: (scores[draw], -draw), default=None)
        return SearchResult(
            self.experiment if best is None else self.with_values(draws[best].params),
            self.name,
            self.config.trials,
            complete=len(scores),
            pruned=states.count(TrialState.PRUNED),
            failures=tuple(
                f"trial {draw}: {trial.user_attrs.get('error', f'{_deaths(trial) + 1} processes died during it')} "
                f"({trial.params})"
                for draw, trial in draws.items()
                if _is_given_up(trial)
            ),
            retried=sum(map(_deaths, draws.values())),
            running=states.count(TrialState.RUNNING),
            score=None if best is None else scores[best],
        )

    def with_values(self, values: dict[str, Value]) -> Experiment:
        """The experiment with the values of a trial, without the rounding errors of floating-point steps."""
        exact = {name: round(value, DECIMALS) if isinstance(value, float) else value for name, value in values.items()}
        return replace(self.experiment, hyperparameters=self.experiment.hyperparameters.with_values(exact))

    def work(self, task: Task[Any], end: float | None, on_progress: OnProgress) -> None:
        """Run trials until all are finished; those of others may yet fail and wait again."""
        objective = _Objective(self, task, end, on_progress)
        while not objective.is_over():
            with without_warning("fail_stale_trials"):
                optuna.storages.fail_stale_trials(self.study)
            draws = {d: t for d, t in self.draws().items() if d < self.config.trials and not _is_given_up(t)}
            states = {trial.state for trial in draws.values()}
            if TrialState.WAITING in states:
                draw, trial = next((d, t) for d, t in draws.items() if t.state is TrialState.WAITING)
                # A process that dies before its first heartbeat is noticed only if the trial has one already.
                self._database.record_heartbeat(trial._trial_id)
                self.study.sampler = self._sampler(draw)
                try:
                    self.study.optimize(objective, n_trials=1, catch=NonFiniteLossError)
                except _OutOfTimeError:
                    return
                except ValueError as error:
                    if not str(error).startswith("Cannot tell"):
                        raise
                    # Others took this process for dead, and one of them works on its trial.
            elif TrialState.RUNNING in states or TrialState.FAIL in states:
                time.sleep(_POLL)
                self.plan()  # a process may have died after it failed a trial and before it enqueued the copy
            else:
                return

    def release(self, processes: set[str]) -> None:
        """Enqueue again what dead processes were running."""
        for trial in self.draws().values():
            if trial.state is TrialState.RUNNING and trial.user_attrs.get("worker") in processes:
                self.study.tell(trial.number, state=TrialState.FAIL)
                self.enqueue_again(trial)


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

    def _report(self) -> None:
        if self.on_progress is not None:
            self.on_progress(self.trials.result())

    def is_over(self) -> bool:
        return self.end is not None and time.time() + self.longest >= self.end

    def __call__(self, trial: Trial) -> float:
        trial.set_user_attr("worker", _worker(os.getpid()))
        draw = trial.user_attrs.get("draw")
        if draw is None or self.trials.draws()[draw].number != trial.number:
            raise optuna.TrialPruned("the draw belongs to another trial")
        try:
            return self._mean_score(trial)
        except (NonFiniteLossError, OptunaError):
            raise
        except BaseException as error:
            self.trials.enqueue_again(self.trials.study.trials[trial.number])
            if isinstance(error, Exception) and not isinstance(error, _OutOfTimeError):
                what = f"trial {draw} of the search failed with {trial.params}"
                raise SeedError(f"{what}: {type(error).__name__}: {error}") from error
            raise

    def _mean_score(self, trial: Trial) -> float:
        values = {name: _suggest(trial, name, of) for name, of in self.trials.space.ranges.items()}
        task, seeds = self.task.with_experiment(self.trials.with_values(values)), self.trials.config.seeds
        scores = dict(self.trials.study.trials[trial.number].intermediate_values)
        self._report()
        for position, seed in enumerate(seeds):
            if position in scores:
                continue
            if self.is_over():
                raise _OutOfTimeError
            start = time.time()
            try:
                scores[position] = float(task.fit(seed).validation)
            except NonFiniteLossError as error:
                trial.set_user_attr("error", f"seed {seed}: {error}")
                raise
            trial.report(scores[position], position)
            self.longest = max(self.longest, time.time() - start)
            self._report()
            if trial.should_prune() and len(scores) < len(seeds):
                raise optuna.TrialPruned
        return float(np.mean([scores[position] for position in sorted(scores)]))


def _suggest(trial: Trial, name: str, chosen: Range) -> Value:
    match chosen:
        case Uniform(low, high):
            return trial.suggest_float(name, low, high, step=10**-DECIMALS)
        case Integers(low, high):
            return trial.suggest_int(name, low, high)
        case Choice(values):
            return cast(Value, trial.suggest_categorical(name, values))


def _worker(process: int | None) -> str:
    return f"{platform.node()}, process {process}"


def _deaths(trial: FrozenTrial) -> int:
    """How many processes died during earlier copies of this trial."""
    return len(trial.system_attrs.get("retry_history", ()))


def _is_given_up(trial: FrozenTrial) -> bool:
    """Whether a trial cannot be trained, or too many processes died."""
    return trial.state is TrialState.FAIL and ("error" in trial.user_attrs or _deaths(trial) >= MAX_RETRIES)


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
        trials.release({_worker(process.pid) for process in processes})


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
