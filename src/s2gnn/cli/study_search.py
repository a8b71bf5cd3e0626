"""`s2gnn study search`."""

import json
import shlex
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from s2gnn.cli.options import GraphKind, K, integer
from s2gnn.cli.output import AsJson, check_writable, command_line, print_table
from s2gnn.cli.study_options import Decoder, Jobs, Minutes
from s2gnn.cli.study_progress import reporting
from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.experiments.experiment import make_experiment
from s2gnn.experiments.protocols import PROTOCOLS, named_protocol
from s2gnn.experiments.queue import search_module
from s2gnn.experiments.run import search_progress
from s2gnn.nn import MODELS
from s2gnn.provenance import origin
from s2gnn.ranges import COUNT, SEED, TRIALS

if TYPE_CHECKING:
    from s2gnn.experiments.search import SearchResult


def search(
    data: Annotated[str, typer.Option(help="Name of the data set.")],
    storage: Annotated[
        str, typer.Option(help="Search database: a file (.db), or the URL of a server that several machines use.")
    ],
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}.")] = "s2gnn",
    graph: GraphKind = None,
    k: K = None,
    decoder: Decoder = None,
    protocol: Annotated[str, typer.Option(help=f"One of {', '.join(PROTOCOLS)}.")] = "fair",
    sampler: Annotated[
        Literal["tpe", "random"],
        typer.Option(help="tpe learns from earlier trials and prunes; random is what the paper uses."),
    ] = "tpe",
    trials: Annotated[int, integer(TRIALS, help="Total number of trials over all workers.")] = 100,
    seeds: Annotated[int, typer.Option(min=1, max=len(VALIDATION_SEEDS), help="Number of validation seeds.")] = len(
        VALIDATION_SEEDS
    ),
    seed: Annotated[int, integer(SEED, help="Random seed of the sampler.")] = 0,
    max_heads: Annotated[int, typer.Option(min=1, max=6, help="Maximum number of attention heads.")] = 6,
    patience: Annotated[
        int | None,
        integer(COUNT, help="Stop after this number of epochs without a better validation score; default: never."),
    ] = None,
    jobs: Jobs = 1,
    minutes: Minutes = None,
    as_json: AsJson = False,
) -> None:
    """Search the paper's space for the hyperparameters with the best mean validation score.

    Rerunning the command resumes the search. Several processes can share one search, also on several machines that use
    one database server. If a worker is killed, another retries its trial.

    Example: [bold]s2gnn study search --data cancer-b --model gcn --protocol fair --trials 100 --storage search.db
    --jobs 2 --minutes 60[/bold]
    """
    if "://" not in storage:
        check_writable(Path(storage), ".db")
        Path(storage).absolute().parent.mkdir(parents=True, exist_ok=True)
    chosen = replace(named_protocol(protocol), patience=patience)
    experiment = make_experiment(data, model, chosen, graph=graph, k=k, decoder=decoder)
    module = search_module("search")
    config = module.SearchConfig(sampler, trials, VALIDATION_SEEDS[:seeds], seed, max_heads)
    try:
        with reporting() as report:
            result = module.search(experiment, config, storage, jobs, minutes, lambda s: report(search_progress(s)))
    except KeyboardInterrupt:
        _print_resume(module.search_result(experiment, config, storage))
        raise
    _print_search(result, storage, as_json)


def _print_search(result: "SearchResult", storage: str, as_json: bool) -> None:
    from s2gnn.experiments.search_storage import storage_address, without_password

    if as_json:
        content = {
            **origin(without_password(command_line())),
            "study": result.study,
            "experiment": result.experiment.describe(),
            **{name: value for name, value in asdict(result).items() if name not in ("experiment", "study")},
            "failed": result.failed,
            "finished": result.finished,
            "best": asdict(result.best) if result.best else None,
        }
        print(json.dumps(content, indent=2))
    else:
        score = "–" if result.score is None else f"{100 * result.score:.2f}"
        counts = (result.complete, result.pruned, result.failed, result.retried)
        print_table(
            result.study,
            ("trials", "complete", "pruned", "failed", "retried", "best on validation (%)"),
            [(f"{result.finished} of {result.trials}", *map(str, counts), score)],
        )
        if result.best is not None:
            print("best: " + " ".join(f"--set {name}={value}" for name, value in result.best.values.items()))
        print(f"dashboard: optuna-dashboard {shlex.quote(without_password(storage_address(storage)))}")
    for failure in result.failures:
        print(f"failed: {failure}", file=sys.stderr)
    if result.finished < result.trials:
        _print_resume(result)


def _print_resume(result: "SearchResult") -> None:
    done = f"{result.finished} of {result.trials} trials finished"
    print(f"{done}; rerun the command to resume", file=sys.stderr)
