"""LinkCell: a cell whose model predicts links, and how its seeds are trained and scored."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import torch

from s2gnn.data import Dataset, load_dataset
from s2gnn.data.catalogue import Kind, entry
from s2gnn.data.construction import diffused
from s2gnn.data.splits import TEST_SEEDS
from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.learning.hyperparameters import Value
from s2gnn.learning.many import computing_with, threads_per_run
from s2gnn.learning.protocol import FAIR, Protocol
from s2gnn.learning.seeding import seeded
from s2gnn.links import DecoderName, LinkPredictor, LinkSplit, fit_links, score_links, split_links
from s2gnn.studies.cell import Cell, make_cell
from s2gnn.studies.run import ScoredRun, scored_runs

# The training edges as they are, or their diffusion.
LinkGraph = Literal["given", "diffusion"]


@dataclass(frozen=True)
class LinkCell(Cell):
    """A cell of link prediction: its `model` is the encoder.

    Attributes:
        decoder: name of the decoder.
        channels: width of the embeddings.
    """

    decoder: DecoderName = "dot"
    channels: int = 16

    @property
    def title(self) -> str:
        """The cell in a few words."""
        return f"{self.data} {self.graph} {self.model}, {self.decoder} decoder"

    @property
    def config(self) -> dict[str, Any]:
        """All but the seeds; the task tells it from a cell of node classification."""
        return {**super().config, "task": "links"}

    def new_predictor(self, in_channels: int) -> LinkPredictor:
        """A model of this cell for features of this width."""
        return LinkPredictor(self.new_model(in_channels, self.channels), self.decoder, self.channels)


def make_link_cell(
    data: str,
    model: str,
    graph: Kind,
    decoder: DecoderName,
    *,
    protocol: Protocol = FAIR,
    changes: Mapping[str, Value] | None = None,
    channels: int = 16,
    seeds: int | tuple[int, ...] = TEST_SEEDS,
) -> LinkCell:
    """A cell of link prediction, checked; see `make_cell`."""
    if graph not in get_args(LinkGraph):
        raise InputError(
            f"the kind of graph is {graph!r}, but it must be one of {', '.join(get_args(LinkGraph))}: links are "
            "predicted in a given graph"
        )
    if entry(data).task == "graphs":
        raise InputError(f"{data} has many graphs, but links are predicted in one: choose a citation network")
    made = make_cell(data, model, protocol, graph=graph, changes=changes, seeds=seeds)
    common = {field.name: getattr(made, field.name) for field in fields(made)}
    cell = LinkCell(**common, decoder=decoder, channels=channels)
    with torch.device("meta"):
        cell.new_predictor(entry(data).features)
    return cell


def operator_graph(split: LinkSplit, kind: Kind) -> Graph:
    """What the encoder propagates on: the training edges, or a diffusion of these and of no others."""
    return diffused(split.graph) if kind == "diffusion" else split.graph


@scored_runs.register
def _(
    cell: LinkCell, seeds: Iterable[int], jobs: int = 1, threads: int | None = None
) -> Generator[ScoredRun, None, None]:
    """Each seed has a split, hence an operator, of its own; several processes take several cells, see `run_jobs`."""
    if jobs != 1:
        raise InputError(f"jobs is {jobs}, but the seeds of a cell of link prediction are trained one by one")
    dataset = load_dataset(cell.data)
    with computing_with(threads_per_run(1, threads)):
        for seed in seeds:
            yield _scored(cell, dataset, seed)


def _scored(cell: LinkCell, dataset: Dataset, seed: int) -> ScoredRun:
    if dataset.graph is None:
        raise InputError(f"{dataset.name} has no given graph, but links are predicted in one")
    split = split_links(dataset.graph, seed)
    with seeded(seed):
        model = cell.new_predictor(dataset.x.shape[1])
    x, op = model.prepare(dataset.x, operator_graph(split, cell.graph))
    chosen = cell.hyperparameters
    config = replace(cell.protocol.fit_config(chosen.lr, chosen.weight_decay), monitor="auc")
    result = fit_links(model, x, op, split, config=config, seed=seed)
    scores = score_links(model, x, op, split.test)
    metrics = {
        "test_roc_auc": scores.roc_auc,
        "test_average_precision": scores.average_precision,
        **{f"test_hits@{k}": share for k, share in scores.hits.items()},
        "val_roc_auc": result.history.val_auc[result.best_epoch],
        "epoch": result.best_epoch,
    }
    return ScoredRun(seed, metrics, result.seconds)
