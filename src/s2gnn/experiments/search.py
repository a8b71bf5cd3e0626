"""Hyperparameter search with Optuna on the validation seeds, by any number of processes and machines."""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import torch
from optuna.exceptions import OptunaError, UpdateFinishedTrialError
from optuna.trial import Trial, TrialState

from s2gnn.errors import InputError, NonFiniteLossError, SeedError
from s2gnn.experiments.experiment import Experiment
from s2gnn.experiments.search_storage import storage_errors, worker_name
from s2gnn.experiments.search_trials import SearchConfig, SearchResult, Trials
from s2gnn.experiments.tasks import Task, load_task
from s2gnn.learning.many import threads_per_run
from s2gnn.operators import kernel
from s2gnn.processes import end_with_parent, how_it_ended, start_process

__all__ = ["SearchConfig", "SearchResult", "search", "search_result"]

OnProgress = Callable[[SearchResult], None] | None
_POLL = 1.0  # seconds between two looks at what the other processes do


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
                _Worker(trials, task, end, on_progress).work()
            else:
                _work_in_processes(trials, jobs, end, on_progress)
            if on_progress is not None:
                on_progress(trials.result())
        return trials.result()


def search_result(experiment: Experiment, config: SearchConfig, storage: str | Path) -> SearchResult:
    """Return the state of a search in its storage."""
    with _opened(experiment, config, storage) as trials:
        return trials.result()


class _OutOfTimeError(Exception):
    """There is no time for another seed."""


@dataclass
class _Worker:
    """A process that runs trials of a search.

    Attributes:
        trials: the trials.
        task: the task of the experiment.
        end: when to stop, on the monotonic clock; `None` for no limit.
        on_progress: function called with the state of the search.
        longest: the longest time of a seed so far, in seconds.
    """

    trials: Trials
    task: Task[Any]
    end: float | None
    on_progress: OnProgress
    longest: float = 0.0

    def work(self) -> None:
        """Run trials until all are finished; running trials of other workers may still be returned to the queue."""
        while not self._is_over():
            self.trials.put_back_stale()
            trials = self.trials.trials()
            states = {trial.state for trial in trials}
            if TrialState.WAITING in states or len(trials) < self.trials.config.trials:
                with suppress(_OutOfTimeError):
                    self._run_trial()
            elif TrialState.RUNNING in states:
                time.sleep(_POLL)
            else:
                return

    def _run_trial(self) -> None:
        tell = partial(self.trials.study.tell, skip_if_finished=True)
        trial = self.trials.ask()
        try:
            if trial.number >= self.trials.config.trials:
                self.trials.put_back(trial)
                return
            with self.trials.heartbeats(trial):
                score = self._score(trial)
            tell(trial, score)
        except optuna.TrialPruned:
            tell(trial, state=TrialState.PRUNED)
        except NonFiniteLossError as error:
            trial.set_user_attr("error", str(error))
            tell(trial, state=TrialState.FAIL)
        except UpdateFinishedTrialError:
            pass  # others took this process for dead, and one of them has finished its trial
        except BaseException as error:
            self.trials.put_back(trial)
            if isinstance(error, Exception) and not isinstance(error, _OutOfTimeError | OptunaError):
                what = f"trial {trial.number} of the search failed with {trial.params}"
                raise SeedError(f"{what}: {type(error).__name__}: {error}") from error
            raise
        self._report()

    def _score(self, trial: Trial) -> float:
        """Return the mean validation score over the seeds, including those that an earlier process scored."""
        task, seeds = self.task.with_experiment(self.trials.with_values(trial.params)), self.trials.config.seeds
        scores = dict(self.trials.study.trials[trial.number].intermediate_values)
        self._report()
        for position, seed in enumerate(seeds):
            if position in scores:
                continue
            if self._is_over():
                raise _OutOfTimeError
            start = time.monotonic()
            try:
                scores[position] = float(task.fit(seed).validation)
            except NonFiniteLossError as error:
                raise NonFiniteLossError(f"seed {seed}: {error}") from error
            trial.report(scores[position], position)
            self.longest = max(self.longest, time.monotonic() - start)
            self._report()
            if trial.should_prune() and len(scores) < len(seeds):
                raise optuna.TrialPruned
        return float(np.mean([scores[position] for position in sorted(scores)]))

    def _report(self) -> None:
        if self.on_progress is not None:
            self.on_progress(self.trials.result())

    def _is_over(self) -> bool:
        """Return whether there is no time for another seed, judging by the longest so far."""
        return self.end is not None and time.monotonic() + self.longest >= self.end


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
            _Worker(trials, load_task(experiment), end, None).work()
    except (SeedError, ConnectionError) as error:
        errors.put(error)
    except Exception as error:  # noqa: BLE001  whatever it is, the parent raises it
        errors.put(SeedError(f"a process of the search failed: {type(error).__name__}: {error}"))
