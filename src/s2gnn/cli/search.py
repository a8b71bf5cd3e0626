"""`s2gnn study search`: choose hyperparameters on the validation nodes."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from s2gnn import provenance
from s2gnn.cli.output import AsJson, check_writable, command_line, counting_bar, print_table
from s2gnn.data.catalogue import Kind
from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.learning.protocol import PROTOCOLS, named_protocol
from s2gnn.nn import MODELS
from s2gnn.search.addresses import storage_address, without_password
from s2gnn.search.study import SamplerName, SearchConfig, SearchResult, search_result
from s2gnn.search.study import search as run_search
from s2gnn.studies import make_cell


def search(
    data: Annotated[str, typer.Option(help="Name of the data set.")],
    storage: Annotated[
        str, typer.Option(help="File of the search (.db), or the address of a database that several machines reach.")
    ],
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}.")] = "s2gnn",
    graph: Annotated[
        Kind | None, typer.Option(help="Kind of the graph; that of the paper's Table I if left out.")
    ] = None,
    k: Annotated[int | None, typer.Option(min=1, help="Neighbours; the paper's if left out.")] = None,
    protocol: Annotated[str, typer.Option(help=f"One of {', '.join(PROTOCOLS)}.")] = "fair",
    sampler: Annotated[
        SamplerName, typer.Option(help="tpe learns from trials and stops bad ones early; random is the paper's.")
    ] = "tpe",
    trials: Annotated[int, typer.Option(min=1, help="How many in all, by all workers together.")] = 100,
    seeds: Annotated[
        int, typer.Option(min=1, max=len(VALIDATION_SEEDS), help="How many of the paper's validation seeds.")
    ] = len(VALIDATION_SEEDS),
    seed: Annotated[int, typer.Option(min=0, help="Of the sampler.")] = 0,
    max_heads: Annotated[int, typer.Option(min=1, max=6, help="At most so many attention heads.")] = 6,
    patience: Annotated[
        int | None,
        typer.Option(min=1, help="Stop training after so many epochs without a better score; never if left out."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Trials at the same time.")] = 1,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Start no training that would not be done after so long.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search the paper's space for the hyperparameters with the best mean score on the validation nodes.

    The same command, given again, goes on; given several times at once, on this machine or, with a database that they
    all reach, on others, it shares the work. The trial of a worker that was killed is finished by another.

    Example: [bold]s2gnn study search --data cancer-b --model gcn --protocol fair --trials 100 --storage search.db
    --jobs 2 --minutes 60[/bold]
    """
    if "://" not in storage:
        check_writable(Path(storage), ".db")
        Path(storage).absolute().parent.mkdir(parents=True, exist_ok=True)
    cell = make_cell(data, model, replace(named_protocol(protocol), patience=patience), graph=graph, k=k)
    config = SearchConfig(sampler, trials, VALIDATION_SEEDS[:seeds], seed, max_heads)
    try:
        with search_progress(cell.title, trials) as on_progress:
            result = run_search(cell, config, storage, jobs, minutes, on_progress)
    except KeyboardInterrupt:
        _say_how_to_go_on(search_result(cell, config, storage))
        raise
    if as_json:
        print(json.dumps(_as_json(result), indent=2))
    else:
        _print(result, storage)
    for failure in result.failures:
        print(f"failed: {failure}", file=sys.stderr)
    if result.finished < result.trials:
        _say_how_to_go_on(result)


def _print(result: SearchResult, storage: str) -> None:
    counts = (result.complete, result.pruned, result.failed, result.retried)
    print_table(
        result.study,
        ("trials", "complete", "pruned", "failed", "retried", "best on validation (%)"),
        [
            (
                f"{result.finished} of {result.trials}",
                *map(str, counts),
                "–" if result.score is None else f"{100 * result.score:.2f}",
            )
        ],
    )
    if result.best is not None:
        chosen = {"lr": result.best.lr, "weight_decay": result.best.weight_decay, **result.best.model}
        print("best: " + " ".join(f"--set {name}={value}" for name, value in chosen.items()))
    print(f"look at it: optuna-dashboard {shlex.quote(without_password(storage_address(storage)))}")


def _as_json(result: SearchResult) -> dict[str, object]:
    return {
        "command": without_password(command_line()),
        "commit": provenance.commit(),
        "versions": provenance.versions(),
        "study": result.study,
        "config": result.cell.config,
        "trials": result.trials,
        "finished": result.finished,
        "complete": result.complete,
        "pruned": result.pruned,
        "failed": result.failed,
        "failures": result.failures,
        "retried": result.retried,
        "score": result.score,
        "best": asdict(result.best) if result.best else None,
    }


def _say_how_to_go_on(result: SearchResult) -> None:
    done = f"{result.finished} of {result.trials} trials are finished"
    print(f"{done}; the same command goes on from there", file=sys.stderr)


@contextmanager
def search_progress(title: str, trials: int) -> Iterator[Callable[[SearchResult], None]]:
    """A bar of the trials that all workers have finished, and the best score so far."""
    with counting_bar() as bar:
        task = bar.add_task(f"{title}: preparing", total=trials)

        def update(result: SearchResult) -> None:
            best = "" if result.score is None else f", best {100 * result.score:.2f} %"
            state = f"{title}: {result.running} running{best}"
            bar.update(task, description=state, completed=result.finished)

        yield update
