"""The processes of a search: each claims trials and trains their seeds until none is left."""

import multiprocessing
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch
from optuna.exceptions import StorageInternalError

from s2gnn.errors import NonFiniteLossError, SeedError
from s2gnn.learning.fit import fit
from s2gnn.learning.seeding import seeded
from s2gnn.operators import kernel
from s2gnn.processes import end_with_parent, how_it_ended, start_process
from s2gnn.search.claims import ClaimedTrial, LostTrialError
from s2gnn.search.heartbeat import Heartbeat
from s2gnn.search.storage import storage_errors
from s2gnn.search.study import SearchConfig, open_trials, with_values
from s2gnn.search.trials import Trials, is_unfinished
from s2gnn.studies.cell import Cell
from s2gnn.studies.run import Data, Graphs, data_of, materials, split_of

_POLL = 1.0  # seconds between looks at what the other processes do
_PATIENCE = 10.0  # seconds that a process has to hand its trial back


@dataclass(frozen=True)
class Worker:
    """What a process must know to take part in a search."""

    cell: Cell
    config: SearchConfig
    storage: str | Path
    heartbeat: Heartbeat


class _Stop(BaseException):
    """The process was told to end."""


@dataclass
class _Clock:
    """Whether there is time for another seed before `end`, on the clock of the wall, which processes share."""

    end: float | None
    longest: float = 0.0

    def is_over(self) -> bool:
        return self.end is not None and time.time() + self.longest >= self.end


def work_here(
    worker: Worker,
    trials: Trials,
    dataset_and_graph: tuple[Data, Graphs],
    minutes: float | None,
    report: Callable[[], None],
) -> None:
    """Take part in a search in this process."""
    _Shift(worker, dataset_and_graph, _Clock(_end(minutes)), threading.Event(), report).work(trials)


def work_in_processes(
    worker: Worker, jobs: int, threads: int, minutes: float | None, report: Callable[[], None]
) -> None:
    """Take part in a search with `jobs` processes; they end with this one, and when it is interrupted."""
    processes: dict[BaseProcess, Connection] = {}
    try:
        for _ in range(jobs):
            here, there = multiprocessing.get_context("spawn").Pipe(duplex=False)
            process = start_process(_work_for_parent, there, worker, threads, _end(minutes), kernel.chosen())
            there.close()
            processes[process] = here
        ended: list[BaseProcess] = []
        while len(ended) < jobs:
            wait([process.sentinel for process in processes if process not in ended], _POLL)
            report()
            for process, connection in processes.items():
                if process not in ended and not process.is_alive():
                    ended.append(process)
                    if connection.poll():
                        _raise_sent(connection)
        if all(process.exitcode for process in processes):
            raise SeedError(f"all {jobs} processes of the search died; the last {how_it_ended(ended[-1])}")
    finally:
        _end_processes(list(processes))
        for connection in processes.values():
            connection.close()


def _end_processes(processes: list[BaseProcess]) -> None:
    for process in processes:
        process.terminate()
    give_up = time.monotonic() + _PATIENCE
    for process in processes:
        process.join(max(0.0, give_up - time.monotonic()))
        process.kill()
        process.join()


def _raise_sent(connection: Connection) -> None:
    try:
        error: Exception = connection.recv()
    except EOFError:
        return  # it died without a word
    raise error


def _end(minutes: float | None) -> float | None:
    return None if minutes is None else time.time() + 60 * minutes


def _work_for_parent(connection: Connection, worker: Worker, threads: int, end: float | None, kernel_name: str) -> None:
    end_with_parent()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    torch.set_num_threads(threads)
    cell = worker.cell
    try:
        with (
            kernel.use(kernel_name),
            storage_errors(),
            closing(open_trials(cell, worker.config, worker.storage, worker.heartbeat)) as trials,
        ):
            _Shift(worker, data_of(cell), _Clock(end), stop, lambda: None).work(trials)
    except _Stop:
        return
    except (SeedError, ConnectionError) as error:
        connection.send(error)
    except Exception as error:  # noqa: BLE001  whatever it is, the parent raises it
        connection.send(SeedError(f"a process of the search failed: {type(error).__name__}: {error}"))


@dataclass(frozen=True)
class _Shift:
    """One process at work: what it works on, until when, and whom it tells."""

    worker: Worker
    dataset_and_graph: tuple[Data, Graphs]
    clock: _Clock
    stop: threading.Event
    report: Callable[[], None]

    def work(self, trials: Trials) -> None:
        """Claim and train until all trials are finished; those of others may yet come back from the dead."""
        total = self.worker.config.trials
        while not self.clock.is_over() and not self.stop.is_set():
            claimed = trials.claim(total)
            self.report()
            if claimed is not None:
                with claimed.kept_alive():
                    self._run_trial(claimed)
            elif any(is_unfinished(trial) for trial in trials.draws()[:total]):
                self.stop.wait(_POLL)
            else:
                return

    def _run_trial(self, claimed: ClaimedTrial) -> None:
        """Train the seeds of one trial that have no score yet."""
        seeds = self.worker.config.seeds
        try:
            score = _scorer(with_values(self.worker.cell, claimed.values), *self.dataset_and_graph, self.stop)
            for position, seed in enumerate(seeds):
                if position in claimed.scores:
                    continue
                if self.clock.is_over():
                    claimed.hand_back()
                    return
                start = time.time()
                try:
                    worthless = claimed.report(position, score(seed))
                except NonFiniteLossError as error:
                    claimed.fail(f"seed {seed}: {error}")
                    return
                self.clock.longest = max(self.clock.longest, time.time() - start)
                self.report()
                if worthless and len(claimed.scores) < len(seeds):
                    claimed.prune()
                    return
            claimed.complete()
        except LostTrialError:
            return
        except StorageInternalError:
            claimed.hand_back()
            raise
        except Exception as error:
            claimed.hand_back()
            what = f"trial {claimed.index} of the search failed with {claimed.values}"
            raise SeedError(f"{what}: {type(error).__name__}: {error}") from error
        except BaseException:
            claimed.hand_back()
            raise


def _scorer(cell: Cell, dataset: Data, graph: Graphs, stop: threading.Event) -> Callable[[int], float]:
    """A function of the seed: the score on the validation nodes at the epoch that would be tested."""
    config, data = materials(cell, dataset, graph)

    def stop_here(_: int) -> None:
        if stop.is_set():
            raise _Stop

    def score(seed: int) -> float:
        split = split_of(cell, dataset, seed)
        with seeded(seed):
            model = config.model()
        result = fit(
            model, data.x, data.op, data.y, split.train, split.val, config=config.fit, seed=seed, on_epoch=stop_here
        )
        history = result.history
        return (history.val_auc if dataset.several_labels else history.val_accuracy)[result.best_epoch]

    return score
