"""`s2gnn train`."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray

from s2gnn.cli import BAD_INPUT, FAILED
from s2gnn.cli.memory import measured_peak, size_text
from s2gnn.cli.output import AsJson, check_folder_writable, check_writable, command_line, duration
from s2gnn.cli.values import assignment
from s2gnn.data.catalogue import Kind, entry, graph_title
from s2gnn.data.dataset import Dataset
from s2gnn.data.splits import CITATION_NETWORKS, Split
from s2gnn.errors import InputError, LostProcessError
from s2gnn.graphs import Graph, cut_share, partition
from s2gnn.learning import Checkpoint, FitResult, Group, fit, joined_group, predict_logits, seeded
from s2gnn.learning.group import TOLD, is_launched
from s2gnn.learning.metrics import accuracy, mean_roc_auc
from s2gnn.learning.protocol import FAIR, FAIR_CITATION
from s2gnn.nn import MODELS, S2GNN, Clusters, GraphNetwork, InParts, save_model
from s2gnn.nn.checkpoint import DESCRIPTION, WEIGHTS
from s2gnn.nn.parts import DegreesName, EvaluateName
from s2gnn.progress import progress_bar
from s2gnn.studies import Cell, make_cell
from s2gnn.studies.run import dataset_of, split_of

app = typer.Typer()

INDENT = 22  # of what is said, beside its name


@dataclass(frozen=True)
class _Division:
    """How the graph is divided."""

    parts: int
    per_batch: int
    batches_per_step: int
    degrees: DegreesName
    evaluate: EvaluateName


@app.command()
def train(
    data: Annotated[str, typer.Argument(help="A data set of nodes, see s2gnn data list.")],
    parts: Annotated[int, typer.Option(min=1, help="Parts that METIS divides the graph into.")] = 1,
    per_batch: Annotated[int, typer.Option("--parts-per-batch", min=1, help="Parts that are seen at once.")] = 1,
    batches_per_step: Annotated[
        int | None,
        typer.Option(
            min=1, help="Batches whose gradients are added up for a step; as many as there are processes if left out."
        ),
    ] = None,
    degrees: Annotated[DegreesName, typer.Option(help="Degrees of the whole graph, or of the part.")] = "whole",
    evaluate: Annotated[EvaluateName, typer.Option(help="Validate on the whole graph at once, or in parts.")] = "whole",
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}.")] = "s2gnn",
    graph: Annotated[
        Kind | None, typer.Option(help="Kind of the graph; that of the paper's Table I if left out.")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="A hyperparameter, as NAME=VALUE; may be repeated.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="At most so many.")] = 500,
    patience: Annotated[int, typer.Option(min=1, help="Stop after so many without a better validation score.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Of the split, the weights and the batches.")] = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="A file (.safetensors) to save the run in; if it is there, the run goes on from it."),
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Epochs between two times that the run is saved.")] = 10,
    wait: Annotated[
        int,
        typer.Option(min=1, help="Minutes that a process waits for the others, as while the first validates."),
    ] = 30,
    out: Annotated[Path | None, typer.Option(help="The folder to write the trained S2-GNN into.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train one network on a data set, in parts of its graph, by one process or by several under torchrun.

    Interrupted in any way, the same command goes on from the checkpoint. The result depends on the batches of a step
    and not on the number of processes.

    Examples: [bold]s2gnn train pubmed --parts 50 --parts-per-batch 5 --checkpoint run.safetensors[/bold]

    [bold]torchrun --nproc-per-node 2 --no-python s2gnn train pubmed --parts 50 --parts-per-batch 5
    --checkpoint run.safetensors --out model/[/bold]
    """
    if out is not None and model != "s2gnn":
        raise InputError(f"--out keeps an S2-GNN, but the model is {model}: leave it out")
    if entry(data).task == "graphs":
        raise InputError(f"{data} has many graphs, but s2gnn train is for the nodes of one: s2gnn study run has both")
    if per_batch > parts:
        raise InputError(f"--parts-per-batch is {per_batch}, but there are {parts} parts: take at most as many")
    protocol = FAIR_CITATION if data in CITATION_NETWORKS else FAIR
    cell = make_cell(data, model, protocol, graph=graph, changes=dict(map(assignment, changes or ())), seeds=(seed,))
    with _ended_by_the_launcher(), joined_group(timedelta(minutes=wait)) as group:
        division = _Division(parts, per_batch, batches_per_step or group.size, degrees, evaluate)
        cell = replace(cell, protocol=replace(cell.protocol, epochs=epochs, patience=patience))
        saved = None if checkpoint is None else Checkpoint(checkpoint, every, _settings(cell))
        try:
            group.from_first(partial(_check_targets, checkpoint, out))
            summary, network = _train(cell, division, group, saved, shown=group.is_first and not as_json)
        except LostProcessError as error:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # this process ends by itself, when it has said why
            raise LostProcessError(f"{error}: {_what_is_left(saved, group)}") from error
        except TOLD as error:  # all processes have it, and the first says so
            if group.is_first:
                if is_launched():  # torchrun may end it because another is gone, but not before it has spoken
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
                raise
            raise typer.Exit(BAD_INPUT if isinstance(error, InputError) else FAILED) from error
        except KeyboardInterrupt:
            if group.is_first:
                print(f"s2gnn: interrupted: {_what_is_left(saved, group)}", file=sys.stderr)
            raise
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
    """Say what happened when torchrun ends this process, which it does when another of the run has ended."""
    if not is_launched():
        yield
        return

    def end(*_: Any) -> None:
        raise LostProcessError("this process was told to end, as when another process of the run has ended")

    handler = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is end:
            signal.signal(signal.SIGTERM, handler)


def _what_is_left(saved: Checkpoint | None, group: Group) -> str:
    if saved is None:
        return "nothing is left of the run; with --checkpoint FILE it could be gone on with"
    if saved.path.is_file():
        return f"the same command goes on from {saved.path}, after epoch {saved.epochs()}"
    if group.is_first:
        return f"it was over before {saved.path} was written for the first time"
    # It may be on the disk of another machine.
    return f"the same command goes on from {saved.path} where the first process ran, if it was saved by then"


def _settings(cell: Cell) -> dict[str, Any]:
    """What a run depends on beside the arguments of `fit`; it may go on with another number of processes."""
    return {"data": cell.data, "graph": cell.graph, "model": cell.model, **cell.hyperparameters.model}


def _train(
    cell: Cell, division: _Division, group: Group, saved: Checkpoint | None, *, shown: bool
) -> tuple[dict[str, Any], GraphNetwork]:
    dataset, graph = group.everywhere(partial(dataset_of, cell))
    if division.parts > graph.n_nodes:
        raise InputError(f"--parts is {division.parts}, but the graph of {cell.data} has {graph.n_nodes} nodes")
    seed, split = cell.seeds[0], split_of(cell, dataset, cell.seeds[0])
    of_node = group.from_first(lambda: partition(graph, division.parts, seed=0))
    with seeded(seed):
        network = cell.new_model(dataset.x.shape[1], len(dataset.class_names))
    x = InParts(
        network,
        dataset.x,
        graph,
        Clusters(of_node, division.per_batch),
        division.degrees,
        division.evaluate,
        division.batches_per_step,
    )
    chosen = cell.hyperparameters
    config = cell.protocol.fit_config(chosen.lr, chosen.weight_decay, several_labels=dataset.several_labels)
    with progress_bar(f"training on {cell.data}", shown=shown) as show:
        result = fit(
            network,
            x,
            None,
            dataset.y,
            split.train,
            split.val,
            config=config,
            seed=seed,
            on_epoch=lambda epoch: show((epoch + 1) / config.epochs),
            group=group,
            checkpoint=saved,
        )
    if not group.is_first:
        return {}, network
    scores = _scores(dataset, split, predict_logits(network, x, None), result)
    return {**_described(cell, division, group, graph, of_node), **scores}, network


def _described(
    cell: Cell, division: _Division, group: Group, graph: Graph, of_node: NDArray[np.int64]
) -> dict[str, Any]:
    return {
        "data": cell.data,
        "graph": graph_title(cell.graph, cell.k),
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "network": cell.model,
        "parts": division.parts,
        "cut_share": cut_share(graph, of_node),
        "parts_per_batch": division.per_batch,
        "batches_per_step": division.batches_per_step,
        "processes": group.size,
    }


def _scores(dataset: Dataset, split: Split, logits: torch.Tensor, result: FitResult) -> dict[str, Any]:
    history, epoch = result.history, result.best_epoch
    y, found = dataset.y[split.test], logits[split.test].numpy()
    if dataset.several_labels:
        scores = {"val_roc_auc": history.val_auc[epoch], "test_roc_auc": mean_roc_auc(y, found)}
    else:
        scores = {"val_accuracy": history.val_accuracy[epoch], "test_accuracy": accuracy(y, found.argmax(axis=1))}
    return {
        **scores,
        "epochs": len(history.train_loss),
        "best_epoch": epoch + 1,
        "seconds": round(result.seconds, 2),
        "peak_bytes": measured_peak(),
    }


def _print(summary: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"command": command_line(), **summary}, indent=2, allow_nan=False))
        return
    score = "roc_auc" if "test_roc_auc" in summary else "accuracy"
    name = "ROC-AUC" if score == "roc_auc" else "accuracy"
    rows = [
        ("data", summary["data"]),
        ("graph", f"{summary['graph']}: {summary['nodes']:,} nodes, {summary['edges']:,} edges"),
        ("network", summary["network"]),
        ("parts", f"{summary['parts']:,}, with {summary['cut_share']:.1%} of the edges' weight between them"),
        ("parts in a batch", f"{summary['parts_per_batch']:,}"),
        ("batches in a step", f"{summary['batches_per_step']:,}"),
        ("processes", f"{summary['processes']:,}"),
        ("epochs", f"{summary['epochs']:,}, the best {summary['best_epoch']:,}"),
        (f"validation {name}", f"{100 * summary[f'val_{score}']:.2f} %"),
        (f"test {name}", f"{100 * summary[f'test_{score}']:.2f} %"),
        ("time", duration(summary["seconds"])),
    ]
    if summary["peak_bytes"] is not None:
        rows.append(("memory", f"{size_text(summary['peak_bytes'])} at most, of the first process"))
    rows += [(name, summary[name]) for name in ("checkpoint", "model") if summary[name] is not None]
    for name, text in rows:
        print(f"{name:{INDENT}s}{text}")
