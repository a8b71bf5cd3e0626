"""Jobs: run one seed of an experiment, and estimate how long it takes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.devices import CPU
from s2gnn.errors import InputError
from s2gnn.experiments.experiment import Experiment, canonical_json
from s2gnn.experiments.records import Record
from s2gnn.experiments.tasks import Run, Task, load_task
from s2gnn.learning.classical import CLASSICAL
from s2gnn.threads import computing_with

_TIMED_EPOCHS = 5


@dataclass(frozen=True)
class Job:
    """One seed of an experiment, and the seconds that it is expected to take."""

    experiment: Experiment
    seed: int
    seconds: float = 0.0

    @cached_property
    def run(self) -> tuple[str, int]:
        """Identifies the run: the key of the experiment and the seed."""
        return self.experiment.key, self.seed

    @property
    def trial(self) -> bool:
        """Whether the run is a trial of a search, which is not tested."""
        return self.seed in VALIDATION_SEEDS

    @property
    def epochs(self) -> int:
        """Maximum number of epochs; a classical baseline counts as one."""
        return _most_epochs(self.experiment.describe())

    @property
    def title(self) -> str:
        """The job in a few words."""
        return f"{self.experiment.title}, {self.experiment.protocol.run} {self.seed}"


@dataclass(frozen=True)
class Progress:
    """The running jobs, and the number of finished runs or trials out of the total."""

    description: str
    finished: int
    total: int
    seconds_left: float = 0.0


# Receives a sentence, such as an estimate, or the progress when something has started or ended.
Report = Callable[[str | Progress], None]

# A job with its result, or the reason why it failed.
Outcome = tuple[Job, Run | str]


class Worker:
    """Runs jobs one after the other on a device, and caches the data of the last one."""

    def __init__(self, device: torch.device = CPU) -> None:
        self._device = device
        self._loaded: Task[Any] | None = None

    def task(self, experiment: Experiment) -> Task[Any]:
        """Return the task of an experiment, on the data that is loaded if it is the same."""
        if self._loaded is None or _data_of(self._loaded.experiment) != _data_of(experiment):
            self._loaded = None  # frees the data before other data is loaded
            self._loaded = load_task(experiment, self._device)
        elif self._loaded.experiment != experiment:
            self._loaded = self._loaded.with_experiment(experiment)
        return self._loaded

    def __call__(self, job: Job) -> Outcome:
        """Run a job: its result, or why it failed."""
        try:
            task = self.task(job.experiment)
            return job, task.trial(job.seed) if job.trial else task.run(job.seed)
        except Exception as error:  # noqa: BLE001  one failure must not cost the other experiments their time
            return job, f"{job.title}: {type(error).__name__}: {error}"


def _data_of(experiment: Experiment) -> tuple[object, ...]:
    return experiment.task, experiment.data, experiment.graph, experiment.k, experiment.model in CLASSICAL


def expected_seconds(
    queue: Sequence[Job],
    records: Iterable[Record],
    threads: int,
    report: Report = lambda _: None,
    device: torch.device = CPU,
) -> list[Job]:
    """Return jobs with the time that each may take, by records of the same model and graph, or by timing epochs."""
    known: dict[str, list[float]] = {}
    for record in records:
        same_cost = record.budget.get("threads") == threads and record.budget.get("device", "cpu") == str(device)
        if record.error is None and same_cost:
            known.setdefault(_costs_like(record.experiment), []).append(record.seconds / _trained_epochs(record))
    likes = [_costs_like(job.experiment.describe()) for job in queue]
    unknown = len(set(likes) - known.keys())
    if unknown:
        report(f"timing a few epochs of {unknown} configuration{'s' if unknown > 1 else ''} without records")
    timed, worker, alone = [], Worker(device), len({job.run[0] for job in queue}) == 1
    for job, like in zip(queue, likes, strict=True):
        if like not in known:
            known[like] = [_seconds_an_epoch(worker, job, threads, alone=alone)]
        an_epoch = sum(known[like]) / len(known[like])
        timed.append(replace(job, seconds=an_epoch * job.epochs))
    return timed


def _costs_like(description: Mapping[str, Any]) -> str:
    """Return a key that experiments whose epochs cost the same share: all but learning rate, budget and the like."""
    free, free_arguments = ("lr", "weight_decay", "protocol", "share"), ("dropout", "epsilon", "initial_epsilon")
    return canonical_json(
        {
            **{name: value for name, value in description.items() if name not in free},
            "arguments": {name: v for name, v in description["arguments"].items() if name not in free_arguments},
            "batches": [description["protocol"].get(name) for name in ("batch_size", "folds")],
        }
    )


def _most_epochs(description: dict[str, Any]) -> int:
    return 1 if description["model"] in CLASSICAL else int(description["protocol"]["epochs"])


def _trained_epochs(record: Record) -> int:
    most, patience = _most_epochs(record.experiment), record.experiment["protocol"].get("patience")
    return most if patience is None else min(most, int(record.metrics["epoch"]) + 1 + patience)


def _seconds_an_epoch(worker: Worker, job: Job, threads: int, *, alone: bool) -> float:
    """Time a few epochs; an experiment that cannot run raises if it is `alone`, otherwise it fails when it starts."""
    short = replace(job.experiment.protocol, epochs=_TIMED_EPOCHS, patience=None)
    experiment = replace(job.experiment, protocol=short)
    with computing_with(threads):
        try:
            task = worker.task(experiment)
            task.run(job.seed)  # warms up
            timed = task.run(job.seed)
        except Exception as error:
            if alone and isinstance(error, InputError):
                raise
            return 0.0  # the run itself reports its failure, and the others must not wait for that
    return timed.seconds / Job(experiment, job.seed).epochs
