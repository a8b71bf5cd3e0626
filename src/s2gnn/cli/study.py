"""`s2gnn study`: run, search and show experiments; every finished run is recorded."""

import json
import re
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console

from s2gnn.cli.options import Changes, Device, GraphKind, K, assignment, refuse
from s2gnn.cli.output import AsJson, check_writable, command_line, names, print_facts, print_table
from s2gnn.cli.study_options import Data, Decoder, Jobs, Minutes, Models, Results
from s2gnn.cli.study_progress import reporting
from s2gnn.cli.study_search import search
from s2gnn.cli.study_show import check_folder, document, draw, show
from s2gnn.data.catalogue import dataset_info
from s2gnn.data.splits import TEST_SEEDS
from s2gnn.devices import checked_device
from s2gnn.errors import InputError
from s2gnn.experiments.compare import KnownRuns
from s2gnn.experiments.experiment import Experiment, make_experiment
from s2gnn.experiments.figures.overview import OverviewStudy
from s2gnn.experiments.measured import MeasuredStudy
from s2gnn.experiments.protocols import BUDGETS, PROTOCOLS, Budget, named_budget
from s2gnn.experiments.records import Records, RecordsFolder
from s2gnn.experiments.registry import find_study, studies
from s2gnn.experiments.run import run_experiments
from s2gnn.experiments.study import Selection, TrainedStudy
from s2gnn.experiments.summary import HEADER, summary_json, summary_row
from s2gnn.nn import MODELS
from s2gnn.provenance import origin
from s2gnn.render import render

app = typer.Typer(help="Run the paper's experiments; every finished run is recorded.", no_args_is_help=True)

OF_THE_PAPER = re.compile(r"Tables?|Figure|Theorem|appendix")


@app.command("list")
def list_command(as_json: AsJson = False) -> None:
    """List the studies and the budgets. --json adds the number of models, data sets and protocols.

    Example: [bold]s2gnn study list[/bold]
    """
    found = list(studies().values())
    if as_json:
        described = [{"name": s.name, "title": f"{s.title} ({s.paper})", "size": s.size} for s in found]
        print(json.dumps({"studies": described, "budgets": list(map(asdict, BUDGETS.values()))}, indent=2))
        return
    of_paper = sorted((study for study in found if OF_THE_PAPER.match(study.paper)), key=lambda study: study.paper)
    others = [(study.name, study.title) for study in found if study not in of_paper]
    print_table(
        "Of the paper", ("name", "study"), [(study.name, f"{study.title} ({study.paper})") for study in of_paper]
    )
    print()
    print_table("Not in the paper", ("name", "study"), others)
    print()
    print_table("Budgets", ("name", "runs"), [(budget.name, budget.description) for budget in BUDGETS.values()])


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
        check_folder(results)
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
    with reporting() as report:
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
    with reporting() as report:
        searched_on = study.searches(selection, budget)
        failures = run_experiments(experiments, records, report, jobs, minutes, budget, searched_on, device)
        written = study.draw(results, budget)
        if written:
            report(f"wrote {results / study.name} as {', '.join(written)}")
    return failures


def _searchless(study: TrainedStudy, budget: Budget) -> Budget:
    """Return the budget of a study without a search."""
    if not (budget.rungs and study.without_search):
        return budget
    Console(stderr=True).print(f"{study.name} {study.without_search}: {budget.name} is long here")
    return BUDGETS["long"]


def _exit_if_any(failures: list[str]) -> None:
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    if failures:
        raise typer.Exit(1)


for _command in (search, show, document, draw):
    app.command()(_command)
