"""Search the hyperparameters of a cell on its validation nodes, by any number of processes and machines."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from s2gnn import provenance
from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.errors import InputError
from s2gnn.learning.hyperparameters import Hyperparameters
from s2gnn.learning.many import threads_per_run
from s2gnn.learning.records import config_hash
from s2gnn.learning.space import SearchSpace, search_space
from s2gnn.nn.arguments import positive_integer
from s2gnn.search.heartbeat import Heartbeat
from s2gnn.studies.cell import Cell
from s2gnn.studies.run import data_of

if TYPE_CHECKING:
    from s2gnn.search.trials import Trials

SamplerName = Literal["tpe", "random"]


@dataclass(frozen=True)
class SearchConfig:
    """How to search.

    Attributes:
        sampler: "tpe" begins with the cell's own hyperparameters, learns from the trials before and stops those early
            that are worse on three seeds than the best; "random" is the paper's, where trial i depends on the seed and
            i only.
        trials: how many in all, by all processes together.
        seeds: a trial's score is the mean over these.
        seed: of the sampler.
        max_heads: at most so many attention heads.
    """

    sampler: SamplerName = "tpe"
    trials: int = 100
    seeds: tuple[int, ...] = VALIDATION_SEEDS
    seed: int = 0
    max_heads: int = 6

    def __post_init__(self) -> None:
        if self.sampler not in get_args(SamplerName):
            raise InputError(f"sampler is {self.sampler!r}, but it must be one of {', '.join(get_args(SamplerName))}")
        positive_integer(self.trials, "trials")
        positive_integer(self.max_heads, "max_heads")
        if len(set(self.seeds)) < len(self.seeds) or not self.seeds:
            raise InputError(f"seeds is {self.seeds}, but a search has at least one seed and each once")
        if self.seed < 0:
            raise InputError(f"seed is {self.seed}, but it must be at least 0")


@dataclass(frozen=True)
class SearchResult:
    """What is known of a search.

    Attributes:
        cell: what was searched, with the best hyperparameters so far in place of its own.
        study: the name of the search in the storage.
        trials: that are wanted in all.
        complete: trials with a score from every seed.
        pruned: stopped early.
        failed: given up, because they cannot be trained or their processes died again and again.
        failures: why, a line for each.
        retried: how often a process died and its trial was begun again.
        running: trials that somebody works on.
        score: of the best trial, the mean on the validation nodes; `None` before the first is complete.
    """

    cell: Cell
    study: str
    trials: int
    complete: int = 0
    pruned: int = 0
    failed: int = 0
    failures: tuple[str, ...] = ()
    retried: int = 0
    running: int = 0
    score: float | None = None

    @property
    def finished(self) -> int:
        """The trials that are done, however they ended."""
        return self.complete + self.pruned + self.failed

    @property
    def best(self) -> Hyperparameters | None:
        """Of the best trial; `None` before the first is complete."""
        return None if self.score is None else self.cell.hyperparameters


def search(
    cell: Cell,
    config: SearchConfig,
    storage: str | Path,
    jobs: int = 1,
    minutes: float | None = None,
    on_progress: Callable[[SearchResult], None] | None = None,
    *,
    heartbeat: Heartbeat | None = None,
) -> SearchResult:
    """Find hyperparameters for the data, graph, model and protocol of `cell`; the test nodes are not looked at.

    Any number of calls, on one machine or several, may work on one search: together they do `config.trials` trials.
    Called again it does what is missing, and nothing when nothing is. Interrupted, it loses the seeds in training; the
    trial of a process that was killed is gone on with by another, after the scores that it had.

    Args:
        cell: its seeds have no effect; of its hyperparameters, those that are searched are the first trial of "tpe".
        config: how to search.
        storage: a file, for SQLite, or an address with "://" that Optuna understands.
        jobs: number of trials at the same time here; 1 trains in this process.
        minutes: start no seed that would not be done after so long, judging by the longest so far.
        on_progress: called with what is known, now and then.
        heartbeat: how the death of a process is noticed.

    Raises:
        SeedError: when training fails for another reason than a loss that is not finite, or when all processes died.
        ConnectionError: when the storage no longer answers; what is stored is not lost.
    """
    if cell.protocol.folds is not None:
        raise InputError(
            f"a search for {cell.protocol.name} would choose hyperparameters by graphs that other folds test on: "
            "search under fair-graphs, or set them with --set"
        )
    _require_optuna()
    from s2gnn.search.storage import storage_errors
    from s2gnn.search.workers import Worker, work_here, work_in_processes

    worker = Worker(cell, config, storage, heartbeat or Heartbeat())
    threads = threads_per_run(jobs)
    with storage_errors(), closing(open_trials(cell, config, storage, worker.heartbeat)) as trials:
        trials.plan(config.trials, _attributes(cell, config))
        report = _reporter(cell, config, trials, on_progress)
        if summed_up(cell, config, trials).finished < config.trials:
            # Made here so that it is in the cache, once, before processes start.
            dataset_and_graph = data_of(cell)
            if jobs == 1:
                work_here(worker, trials, dataset_and_graph, minutes, report)
            else:
                work_in_processes(worker, jobs, threads, minutes, report)
        return summed_up(cell, config, trials)


def search_result(cell: Cell, config: SearchConfig, storage: str | Path) -> SearchResult:
    """What is in the storage of a search."""
    _require_optuna()
    from s2gnn.search.storage import storage_errors

    with storage_errors(), closing(open_trials(cell, config, storage, Heartbeat())) as trials:
        return summed_up(cell, config, trials)


def open_trials(cell: Cell, config: SearchConfig, storage: str | Path, heartbeat: Heartbeat) -> "Trials":
    """The trials of a search in its storage."""
    from s2gnn.search.trials import Trials

    name, space, first = study_name(cell, config), cell_space(cell, config), _first(cell, config)
    return Trials(storage, name, space, config.sampler, config.seed, heartbeat, first)


def cell_space(cell: Cell, config: SearchConfig) -> SearchSpace:
    """What is chosen from in a search; what a network learns by itself is not."""
    space = search_space(cell.model, cell.protocol.head, max_heads=config.max_heads)
    learned = [name for name, value in cell.hyperparameters.model.items() if value == "learn"]
    return space.without(learned)


def study_name(cell: Cell, config: SearchConfig) -> str:
    """The search in a few words and a hash of all that its trials depend on, their number excepted."""
    return f"{cell.title} {config.sampler} {config_hash(_essentials(cell, config))[:8]}"


def summed_up(cell: Cell, config: SearchConfig, trials: "Trials") -> SearchResult:
    """What is known of the first `config.trials` draws."""
    from optuna.trial import TrialState

    from s2gnn.search.trials import is_unfinished, retries

    result = SearchResult(cell, trials.name, config.trials)
    if not trials.exist():
        return result
    draws = list(enumerate(trials.draws()[: config.trials]))
    complete = [(index, trial) for index, trial in draws if trial.state is TrialState.COMPLETE]
    failed = [
        f"trial {index}: {trial.user_attrs.get('error', f'{retries(trial) + 1} processes died at it')} ({trial.params})"
        for index, trial in draws
        if trial.state is TrialState.FAIL and not is_unfinished(trial)
    ]
    result = replace(
        result,
        complete=len(complete),
        pruned=sum(trial.state is TrialState.PRUNED for _, trial in draws),
        failed=len(failed),
        failures=tuple(failed),
        retried=sum(retries(trial) for _, trial in draws),
        running=sum(trial.state is TrialState.RUNNING for _, trial in draws),
    )
    if not complete:
        return result
    _, best = max(complete, key=lambda pair: (pair[1].value, -pair[0]))
    return replace(result, score=best.value, cell=with_values(cell, trials.values(best)))


def with_values(cell: Cell, values: dict[str, Any]) -> Cell:
    """`cell` with other hyperparameters."""
    return replace(cell, hyperparameters=cell.hyperparameters.with_values(values))


def _require_optuna() -> None:
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise InputError("a search needs Optuna, which is not installed: pip install 's2gnn[search]'") from error


def _essentials(cell: Cell, config: SearchConfig) -> dict[str, Any]:
    space = cell_space(cell, config)
    fixed = {name: value for name, value in cell.hyperparameters.model.items() if name not in space.ranges}
    ranges = {name: asdict(chosen) for name, chosen in space.ranges.items()}
    first = _first(cell, config)
    return {
        **{name: value for name, value in cell.config.items() if name != "hyperparameters"},
        "fixed": fixed,
        "space": ranges,
        "sampler": config.sampler,
        "seeds": list(config.seeds),
        "seed": config.seed,
        **({} if first is None else {"first": first}),
    }


def _first(cell: Cell, config: SearchConfig) -> dict[str, Any] | None:
    """The values of the first trial, where they are not drawn."""
    return cell_space(cell, config).nearest(cell.hyperparameters) if config.sampler == "tpe" else None


def _attributes(cell: Cell, config: SearchConfig) -> dict[str, Any]:
    return {**_essentials(cell, config), "commit": provenance.commit(), "versions": provenance.versions()}


def _reporter(
    cell: Cell, config: SearchConfig, trials: "Trials", on_progress: Callable[[SearchResult], None] | None
) -> Callable[[], None]:
    def report() -> None:
        if on_progress is not None:
            on_progress(summed_up(cell, config, trials))

    return report
