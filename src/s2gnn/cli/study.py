"""`s2gnn study`: run, search and show experiments; every finished run is recorded."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import torch
import typer
from rich.console import Console
from rich.progress import TextColumn

from s2gnn.bench.cost_model import render_cost_model
from s2gnn.bench.headline import three_numbers
from s2gnn.bench.report import render_benchmark
from s2gnn.cli.options import Changes, Device, GraphKind, K, assignment, integer, number, refuse
from s2gnn.cli.output import AsJson, check_writable, command_line, counting_bar, names, print_facts, print_table
from s2gnn.data.catalogue import dataset_info
from s2gnn.data.splits import TEST_SEEDS, VALIDATION_SEEDS
from s2gnn.devices import checked_device
from s2gnn.errors import InputError
from s2gnn.experiments.compare import KnownRuns
from s2gnn.experiments.experiment import Experiment, make_experiment
from s2gnn.experiments.figures.leaderboard_headline import leaderboard_findings, leaderboard_headline
from s2gnn.experiments.figures.overview import OverviewStudy, headline, overview_text
from s2gnn.experiments.jobs import Progress
from s2gnn.experiments.measured import MeasuredStudy
from s2gnn.experiments.protocols import BUDGETS, PROTOCOLS, Budget, named_budget, named_protocol
from s2gnn.experiments.queue import search_module
from s2gnn.experiments.records import Records, RecordsFolder
from s2gnn.experiments.registry import find_study, studies
from s2gnn.experiments.run import run_experiments, search_progress
from s2gnn.experiments.study import Selection, TrainedStudy
from s2gnn.experiments.summary import HEADER, runs_of_experiments, summary_json, summary_row, summary_table
from s2gnn.experiments.table import TableStudy
from s2gnn.files import write_atomically
from s2gnn.links import DecoderName
from s2gnn.nn import MODELS
from s2gnn.progress import duration
from s2gnn.provenance import origin
from s2gnn.ranges import COUNT, JOBS, SEED, TRIALS
from s2gnn.render import FormatName, fill_sections, render

if TYPE_CHECKING:
    from s2gnn.experiments.search import SearchResult

app = typer.Typer(help="Run the paper's experiments; every finished run is recorded.", no_args_is_help=True)

Data = Annotated[str | None, typer.Option(help="Data sets, separated by commas.")]
Models = Annotated[str | None, typer.Option(help="Models, separated by commas.")]
Results = Annotated[Path, typer.Option(help="Folder of the records.")]
Jobs = Annotated[int, integer(JOBS, help="Number of processes.")]
Minutes = Annotated[float | None, number("Time limit in minutes; runs that would exceed it are not started.", min=0)]
Decoder = Annotated[DecoderName | None, typer.Option(help="Predict links with this decoder; default: predict labels.")]


@app.command("list")
def list_command(as_json: AsJson = False) -> None:
    """List the studies and the budgets.

    Example: [bold]s2gnn study list[/bold]
    """
    found = [{"name": s.name, "title": f"{s.title} ({s.paper})", "size": s.size} for s in studies().values()]
    if as_json:
        print(json.dumps({"studies": found, "budgets": list(map(asdict, BUDGETS.values()))}, indent=2))
        return
    print_table("Studies", ("name", "what", "size"), [tuple(study.values()) for study in found])
    print_table("Budgets", ("name", "what"), [(budget.name, budget.description) for budget in BUDGETS.values()])


@app.command()
def run(
    study: Annotated[str | None, typer.Argument(help="Name of a study; omit it to run a single experiment.")] = None,
    models: Models = None,
    budget: Annotated[str | None, typer.Option(help=f"For a study: {', '.join(BUDGETS)}; default: quick.")] = None,
    results: Results = Path("results"),
    data: Data = None,
    records: Annotated[Path | None, typer.Option(help="For a single experiment: file of its records (.jsonl).")] = None,
    model: Annotated[
        str | None, typer.Option(help=f"For a single experiment: one of {', '.join(MODELS)}; default: s2gnn.")
    ] = None,
    graph: GraphKind = None,
    k: K = None,
    decoder: Decoder = None,
    protocol: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(PROTOCOLS)}; default: all of the study.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, max=len(TEST_SEEDS), help="Number of test seeds; default: set by the budget."),
    ] = None,
    changes: Changes = None,
    jobs: Jobs = 1,
    minutes: Minutes = None,
    device: Device = "cpu",
    as_json: AsJson = False,
) -> None:
    """Run a study, or one experiment: a model on a data set with many seeds.

    Every finished run is appended to the records. Interrupt at any time; rerunning the command resumes.

    Examples: [bold]s2gnn study run table2-knn --models s2gnn,gcn --budget quick --jobs 2 --minutes 60[/bold]

    [bold]s2gnn study run --data cancer-b --graph knn --model s2gnn --set epsilon=1.5 --jobs 2 --minutes 20
    --records results/cancer-b.jsonl[/bold]
    """
    place = checked_device(device)
    if study is None:
        if data is None or records is None:
            missing = "--data and --records" if data is None else "--records"
            raise InputError(f"nothing to run: name a study (s2gnn study list), or give {missing} for one experiment")
        refuse({"--models": models, "--budget": budget}, "is for a study: omit it")
        default = "released-graphs" if dataset_info(data).task == "graphs" else "released"
        given = dict(map(assignment, changes or ()))
        protocol, model = protocol or default, model or "s2gnn"
        made = make_experiment(data, model, protocol, graph=graph, k=k, changes=given, seeds=seeds, decoder=decoder)
        _run_experiment(made, records, jobs, minutes, place, as_json)
        return
    found = find_study(study)
    refuse(
        {"--records": records, "--model": model, "--graph": graph, "--k": k, "--decoder": decoder, "--set": changes},
        f"is for one experiment, but the study {study} has its own: omit it",
    )
    failures: list[str] = []
    selection = Selection(names(data), names(models), protocol, seeds=seeds)
    options = {"--protocol": protocol, "--seeds": seeds, "--device": None if place.type == "cpu" else device}
    of_models = {"--models": models, "--minutes": minutes}
    if isinstance(found, MeasuredStudy):
        refuse({**options, **({} if found.models else of_models)}, f"has no effect on {study}: omit it")
        _run_measured(found, results, selection, None if budget is None else named_budget(budget), minutes)
    elif isinstance(found, OverviewStudy):
        refuse(
            {**options, **of_models, "--data": data, "--budget": budget},
            f"has no effect on {study}, which trains nothing: omit it",
        )
        _check_folder(results)
        written = ", ".join(f"{results / name} as png and svg" for name in found.draw(results))
        Console(stderr=True).print(f"wrote {written}")
    else:
        assert isinstance(found, TrainedStudy)
        chosen = _searchless(found, named_budget(budget or "quick"))
        selection = replace(selection, budgets=[chosen])
        failures = _run_trained(found, selection, chosen, results, jobs, minutes, place)
    content = found.json(results, selection) if as_json else found.table(results, selection)
    print(render(content, "text") if not isinstance(content, dict) else json.dumps(content, indent=2))
    _exit_if_any(failures)


def _run_experiment(
    experiment: Experiment, path: Path, jobs: int, minutes: float | None, device: torch.device, as_json: bool
) -> None:
    check_writable(path, ".jsonl")
    records = Records(path)
    with _reporting() as report:
        failures = run_experiments([experiment], records, report, jobs, minutes, device=device)
    runs = KnownRuns(records.read()).of(experiment).on(experiment.seeds)
    if as_json:
        complete = len(runs) == len(experiment.seeds)
        seeds = {str(seed): record.metrics for seed, record in runs.records.items()}
        content = {
            **origin(command_line()),
            "records": str(path),
            "complete": complete,
            **summary_json(experiment.describe(), runs),
            "seeds": seeds,
        }
        print(json.dumps(content, indent=2))
    elif runs.records:
        print_facts({**dict(zip(HEADER, summary_row(runs), strict=True)), "records": str(path)})
    _exit_if_any(failures)


def _run_measured(
    study: MeasuredStudy, results: Path, selection: Selection, budget: Budget | None, minutes: float | None
) -> None:
    check_writable(results / f"{study.name}.json", ".json")
    console = Console(stderr=True)
    with console.status(study.title) as status:
        study.run(results, command_line(), selection.data, budget, status.update, selection.models, minutes)
    console.print(f"wrote {results / study.name} as {'json, csv' if study.draw is None else 'json, csv, png and svg'}")


def _run_trained(
    study: TrainedStudy,
    selection: Selection,
    budget: Budget,
    results: Path,
    jobs: int,
    minutes: float | None,
    device: torch.device,
) -> list[str]:
    records = RecordsFolder(results, study.name)
    check_writable(records.path, ".jsonl")
    experiments = study.experiments(selection, budget)
    results.mkdir(parents=True, exist_ok=True)
    with _reporting() as report:
        searched_on = study.searches(selection, budget)
        failures = run_experiments(experiments, records, report, jobs, minutes, budget, searched_on, device)
        written = study.draw(results, budget)
        if written:
            report(f"wrote {results / study.name} as {', '.join(written)}")
    return failures


def _searchless(study: TrainedStudy, budget: Budget) -> Budget:
    """The budget of a study without a search."""
    if not (budget.rungs and study.without_search):
        return budget
    Console(stderr=True).print(f"{study.name} {study.without_search}: {budget.name} is long here")
    return BUDGETS["long"]


def _exit_if_any(failures: list[str]) -> None:
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    if failures:
        raise typer.Exit(1)


@contextmanager
def _reporting() -> Iterator[Callable[[str | Progress], None]]:
    """Give a function that prints sentences, and progress as a bar, on standard error."""
    bar = counting_bar(TextColumn("{task.fields[left]}"))
    task = bar.add_task("", left="", visible=False)

    def report(event: str | Progress) -> None:
        if isinstance(event, str):
            if bar.live.is_started:
                bar.stop()  # or it would be drawn again below the sentence
            bar.console.print(event)
            return
        bar.start()
        left = f"about {duration(event.seconds_left)} left" if event.seconds_left else ""
        done, total = event.finished, event.total
        bar.update(task, description=event.description, completed=done, total=total, left=left, visible=True)

    try:
        yield report
    finally:
        bar.stop()


@app.command()
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
    trials: Annotated[int, integer(TRIALS, help="Total number of trials of all workers.")] = 100,
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
        with _reporting() as report:
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


@app.command()
def show(
    study: Annotated[str, typer.Argument(help="A study, or a file of records (.jsonl).")],
    form: Annotated[Literal[FormatName, "json"], typer.Option("--format", help="Output format.")] = "text",
    results: Results = Path("results"),
    data: Data = None,
    models: Models = None,
    budget: Annotated[
        str | None, typer.Option(help=f"Budgets ({', '.join(BUDGETS)}), separated by commas; default: all but smoke.")
    ] = None,
) -> None:
    """Print the results of a study next to the published numbers, or summarize a file of records.

    Examples: [bold]s2gnn study show table2-knn --data isolet --format markdown[/bold]

    [bold]s2gnn study show results/reproduction.jsonl[/bold]
    """
    parts = {"--data": data, "--models": models, "--budget": budget}
    if study.endswith(".jsonl"):
        refuse(parts, "is for a study: omit it for a file of records")
        _show_file(Path(study), form)
        return
    found = find_study(study)
    _check_folder(results)
    if isinstance(found, MeasuredStudy | OverviewStudy):
        refuse(parts, f"has no effect on {study}, which is shown whole: omit it")
    budgets = names(budget)
    selection = Selection(names(data), names(models), None, list(map(named_budget, budgets)) if budgets else None)
    if form == "json":
        print(json.dumps(found.json(results, selection), indent=2))
    else:
        print(render(found.table(results, selection), form), end="")


def _show_file(path: Path, form: Literal[FormatName, "json"]) -> None:
    if not path.is_file() or not (found := runs_of_experiments(Records(path))):
        raise InputError(f"{path} has no records: give a file that s2gnn study run has written")
    if form == "json":
        print(json.dumps([summary_json(runs.experiment, runs) for runs in found], indent=2))
    else:
        print(render(summary_table(path), form), end="")


@app.command()
def document(
    page: Annotated[Path, typer.Argument(help="Markdown document with these markers.")],
    results: Results = Path("results"),
) -> None:
    """Write stored results of studies and benchmarks into a Markdown document.

    Each table goes between <!-- record: NAME --> and <!-- end -->; NAME is a study or a file in the results folder.

    Example: [bold]s2gnn study document docs/reproduction.md[/bold]
    """
    if not page.is_file():
        raise InputError(f"{page} is not a file: give the Markdown document that the tables go into")
    _check_folder(results)
    try:
        text = page.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{page} is not text ({error}): give the Markdown document of the tables") from error
    write_atomically(page, fill_sections(text, partial(render_section, results)).encode())


def _check_folder(results: Path) -> None:
    if not results.is_dir():
        raise InputError(f"{results} is not a folder: give that of the records with --results")


def render_section(results: Path, name: str) -> str:
    """What a document shows of a study, of a file of records, or of a stored benchmark."""
    special: Mapping[str, Any] = {
        "cost-model": render_cost_model,
        "overview": overview_text,
        "headline": headline,
        "leaderboard-findings": leaderboard_findings,
        "leaderboard-headline": leaderboard_headline,
        "three-numbers": three_numbers,
    }
    if name in special:
        return str(special[name](results))
    if name.startswith("bench-"):
        return render_benchmark(results / name)
    if name.endswith(".jsonl"):
        return render(summary_table(results / name), "markdown")
    study = find_study(name)
    if not isinstance(study, TableStudy) or study.links or len(study.columns) == 1:
        return render(study.table(results), "markdown")
    result = study.result(results)
    compact = render(result.compact(), "markdown")
    details = render(replace(result.table(), notes=()), "markdown")
    summary = "<summary>Every data set with intervals, leads and seeds</summary>"
    return f"{compact}\n<details>\n{summary}\n\n{details}\n</details>\n"
