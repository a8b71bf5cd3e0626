"""`s2gnn train`."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from s2gnn.cli import BAD_INPUT, FAILED, INTERRUPTED
from s2gnn.cli.memory import measured_peak, size_text
from s2gnn.cli.options import Changes, Device, GraphKind, assignment, integer
from s2gnn.cli.output import AsJson, check_folder_writable, check_writable, command_line, print_facts
from s2gnn.data.catalogue import dataset_info, graph_title
from s2gnn.data.splits import CITATION_NETWORKS
from s2gnn.devices import AUTO
from s2gnn.errors import InputError, LostProcessError
from s2gnn.experiments.experiment import Experiment, make_experiment
from s2gnn.experiments.figures.parts import Division
from s2gnn.experiments.protocols import FAIR, FAIR_CITATION
from s2gnn.experiments.table import chosen_values
from s2gnn.experiments.tasks import Classification, Trained
from s2gnn.graphs import Graph
from s2gnn.learning import Checkpoint, Group, joined_group
from s2gnn.learning.group import TOLD, is_launched, own_device
from s2gnn.nn import MODELS, S2GNN, GraphNetwork, InParts, save_model
from s2gnn.nn.checkpoint import DESCRIPTION, WEIGHTS
from s2gnn.nn.parts import DegreesName, EvaluateName
from s2gnn.progress import duration, progress_bar
from s2gnn.ranges import COUNT, SEED, WAIT

app = typer.Typer()


@app.command()
def train(
    data: Annotated[str, typer.Argument(help="A node-classification data set; see s2gnn data list.")],
    parts: Annotated[int, integer(COUNT, help="Number of clusters that METIS divides the graph into.")] = 1,
    per_batch: Annotated[int, integer(COUNT, "--parts-per-batch", help="Number of clusters per batch.")] = 1,
    batches_per_step: Annotated[
        int | None,
        integer(
            COUNT, help="Number of batches whose gradients are summed in a step; default: the number of processes."
        ),
    ] = None,
    degrees: Annotated[
        DegreesName, typer.Option(help="Compute node degrees on the whole graph or per batch.")
    ] = "whole",
    evaluate: Annotated[EvaluateName, typer.Option(help="Validate on the whole graph or in batches.")] = "whole",
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}.")] = "s2gnn",
    graph: GraphKind = None,
    changes: Changes = None,
    epochs: Annotated[int, integer(COUNT, help="Maximum number of epochs.")] = 500,
    patience: Annotated[
        int, integer(COUNT, help="Stop after this number of epochs without a better validation score.")
    ] = 100,
    seed: Annotated[int, integer(SEED, help="Random seed of the split, weights and batches.")] = 0,
    device: Device = AUTO,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Checkpoint file (.safetensors); if it exists, training resumes from it."),
    ] = None,
    every: Annotated[int, integer(COUNT, help="Number of epochs between two checkpoints.")] = 10,
    wait: Annotated[
        int,
        integer(WAIT, help="Minutes that a process waits for the others, for example during validation."),
    ] = 30,
    out: Annotated[Path | None, typer.Option(help="Folder to write the trained S2-GNN to.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train one network on a data set, full-batch or in mini-batches, in one or several processes (torchrun).

    Interrupt at any time; rerunning the command resumes from the checkpoint. The result depends on the number of
    batches per step, not on the number of processes.

    Examples: [bold]s2gnn train pubmed --parts 50 --parts-per-batch 5 --checkpoint run.safetensors[/bold]

    [bold]torchrun --nproc-per-node 2 --no-python s2gnn train pubmed --parts 50 --parts-per-batch 5
    --checkpoint run.safetensors --out model/[/bold]
    """
    place = own_device(device)
    if out is not None and model != "s2gnn":
        raise InputError(f"--out saves an S2-GNN, but the model is {model}: omit it")
    if dataset_info(data).task == "graphs":
        raise InputError(
            f"{data} has many graphs, but s2gnn train classifies the nodes of one graph: use s2gnn study run"
        )
    if per_batch > parts:
        raise InputError(f"--parts-per-batch is {per_batch}, but there are {parts} parts: choose at most {parts}")
    protocol = FAIR_CITATION if data in CITATION_NETWORKS else FAIR
    of_table = chosen_values("table3" if data in CITATION_NETWORKS else "table2-knn", data, model)
    given = {**of_table, **dict(map(assignment, changes or ()))}
    experiment = make_experiment(data, model, protocol, graph=graph, changes=given, seeds=(seed,))
    with _ended_by_the_launcher(), joined_group(timedelta(minutes=wait), place) as group:
        division = Division("metis", parts, per_batch, degrees, evaluate)
        experiment = replace(experiment, protocol=replace(protocol, epochs=epochs, patience=patience))
        saved = None if checkpoint is None else Checkpoint(checkpoint, every, _settings(experiment))
        try:
            group.from_first(partial(_check_targets, checkpoint, out))
            shown = group.is_first and not as_json
            per_step = batches_per_step or group.size
            summary, network = _train(experiment, place, division, per_step, group, saved, shown=shown)
        except LostProcessError as error:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # this process exits by itself after printing the reason
            raise LostProcessError(f"{error}: {_what_is_left(saved, group)}") from error
        except TOLD as error:  # raised in all processes; the first prints it
            if group.is_first:
                if is_launched():  # torchrun may end it when another process exits: print first
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
                raise
            raise typer.Exit(BAD_INPUT if isinstance(error, InputError) else FAILED) from error
        except KeyboardInterrupt as error:
            if group.is_first:
                raise KeyboardInterrupt(_what_is_left(saved, group)) from error
            raise typer.Exit(INTERRUPTED) from error
        if not group.is_first:
            return
        if out is not None and isinstance(network, S2GNN):
            save_model(network, out)
    summary |= {"checkpoint": str(checkpoint) if checkpoint else None, "model": str(out) if out else None}
    _print(summary, as_json)


def _check_targets(checkpoint: Path | None, out: Path | None) -> None:
    if checkpoint is not None:
        check_writable(checkpoint, ".safetensors")
    if out is not None:
        check_folder_writable(out, DESCRIPTION, (DESCRIPTION, WEIGHTS))


@contextmanager
def _ended_by_the_launcher() -> Iterator[None]:
    """Raise when torchrun ends this process, which it does when another process of the run has ended."""
    if not is_launched():
        yield
        return

    def end(*_: Any) -> None:
        raise LostProcessError("the launcher ended this process, for example because another process of the run ended")

    handler = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is end:
            signal.signal(signal.SIGTERM, handler)


def _what_is_left(saved: Checkpoint | None, group: Group) -> str:
    if saved is None:
        return "the run was not saved; pass --checkpoint FILE to make it resumable"
    if saved.path.is_file():
        return f"rerun the command to resume from {saved.path}, after epoch {saved.epochs()}"
    if group.is_first:
        return f"it ended before {saved.path} was written for the first time"
    # It may be on the disk of another machine.
    return f"rerun the command to resume from {saved.path} on the machine of the first process, if it was saved by then"


def _settings(experiment: Experiment) -> dict[str, Any]:
    """Return what a run depends on besides the arguments of `fit`; the number of processes may change."""
    chosen = experiment.hyperparameters.model
    return {"data": experiment.data, "graph": experiment.graph, "model": experiment.model, **chosen}


def _train(
    experiment: Experiment,
    device: torch.device,
    division: Division,
    per_step: int,
    group: Group,
    saved: Checkpoint | None,
    *,
    shown: bool,
) -> tuple[dict[str, Any], GraphNetwork | None]:
    task = group.everywhere(partial(Classification, experiment))
    task.device = device
    graph = task.graph
    assert isinstance(graph, Graph)
    if division.parts > graph.n_nodes:
        raise InputError(f"--parts is {division.parts}, but the graph of {experiment.data} has {graph.n_nodes} nodes")
    batches, cut = group.from_first(partial(division.batches_of, graph))
    assert batches is not None

    def prepare(network: GraphNetwork) -> tuple[InParts, None]:
        x = task.data.x
        return InParts(network, x, graph, batches, division.degrees, division.evaluate, per_step), None

    new_epochs: list[int] = []
    with progress_bar(f"training on {experiment.data}", shown=shown) as show:

        def on_epoch(epoch: int) -> None:
            new_epochs.append(epoch)
            show((epoch + 1) / experiment.protocol.epochs)

        trained = task.fit(experiment.seeds[0], prepare=prepare, on_epoch=on_epoch, group=group, checkpoint=saved)
    if not group.is_first:
        return {}, trained.network
    described = {
        "data": experiment.data,
        "graph": graph_title(experiment.graph, experiment.k),
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "network": experiment.model,
        "parts": division.parts,
        "cut_share": cut,
        "parts_per_batch": division.per_batch,
        "batches_per_step": per_step,
        "processes": group.size,
        **({} if device.type == "cpu" else {"device": str(device)}),
    }
    return {**described, **_scores(task, trained), "new_epochs": len(new_epochs)}, trained.network


def _scores(task: Classification, trained: Trained) -> dict[str, Any]:
    metrics, score = task.score(trained), "roc_auc" if task.data.several_labels else "accuracy"
    return {
        **{name: metrics[name] for name in (f"val_{score}", f"test_{score}")},
        "epochs": len(trained.result.history.train_loss),
        "best_epoch": trained.result.best_epoch + 1,
        "seconds": round(trained.result.seconds, 2),
        "peak_bytes": measured_peak(),
    }


def _print(summary: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"command": command_line(), **summary}, indent=2, allow_nan=False))
        return
    score = "roc_auc" if "test_roc_auc" in summary else "accuracy"
    name = "ROC-AUC" if score == "roc_auc" else "accuracy"
    new_epochs, epochs = summary["new_epochs"], f"{summary['epochs']:,}, the best {summary['best_epoch']:,}"
    if not new_epochs:
        epochs += "; nothing was trained, because the run in the checkpoint is finished"
    elif new_epochs < summary["epochs"]:
        epochs += f"; resumed after {summary['epochs'] - new_epochs:,}"
    peak = summary["peak_bytes"]
    print_facts(
        {
            "data": summary["data"],
            "graph": f"{summary['graph']}: {summary['nodes']:,} nodes, {summary['edges']:,} edges",
            "network": summary["network"],
            "clusters": f"{summary['parts']:,}, {100 * summary['cut_share']:.1f} % of the edge weight is between them",
            "clusters per batch": f"{summary['parts_per_batch']:,}",
            "batches per step": f"{summary['batches_per_step']:,}",
            "processes": f"{summary['processes']:,}",
            "device": summary.get("device"),
            "epochs": epochs,
            f"validation {name}": f"{100 * summary[f'val_{score}']:.2f} %",
            f"test {name}": f"{100 * summary[f'test_{score}']:.2f} %",
            "time": duration(summary["seconds"]),
            "peak memory": None if peak is None else f"{size_text(peak)} (first process)",
            "checkpoint": summary["checkpoint"],
            "model": summary["model"],
        }
    )
