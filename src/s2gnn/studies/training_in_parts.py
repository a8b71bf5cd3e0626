"""The paper's first future direction, S2-GNN in the setting of Cluster-GCN: what training in parts costs and spares."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal

import torch

from s2gnn.data.splits import TEST_SEEDS, dataset_split
from s2gnn.graphs import Graph, cut_share, partition
from s2gnn.learning import fit, predict_logits, seeded
from s2gnn.learning.hyperparameters import Value
from s2gnn.learning.metrics import accuracy
from s2gnn.learning.protocol import FAIR_CITATION
from s2gnn.nn.parts import Clusters, DegreesName, EvaluateName, InParts, NodeBatches
from s2gnn.operators import kernel
from s2gnn.resources import forget_peak, in_own_process, peak_bytes, settled_bytes
from s2gnn.studies.budget import BUDGETS, Budget
from s2gnn.studies.cell import Cell, make_cell
from s2gnn.studies.measured import Measure, MeasuredStudy, Report
from s2gnn.studies.run import dataset_of
from s2gnn.studies.table import chosen_values
from s2gnn.studies.training_in_parts_view import OURS, draw_parts, lay_out_parts

DATA = ("pubmed", "citeseer", "cora")
TABLE = "table3"
TRIED = 5  # epochs of the small run that loads libraries before memory is looked at


@dataclass(frozen=True)
class Division:
    """How a network is trained.

    Attributes:
        title: for people.
        batches: the whole graph, parts of METIS, parts at random, or sampled neighbours.
        parts: how many.
        per_batch: of them in a batch; training nodes in a batch where neighbours are sampled.
        degrees: see `InParts`.
        evaluate: see `InParts`.
        sizes: neighbours sampled at each hop.
    """

    title: str
    batches: Literal["whole", "metis", "random", "sampled"]
    parts: int = 1
    per_batch: int = 1
    degrees: DegreesName = "whole"
    evaluate: EvaluateName = "whole"
    sizes: tuple[int, ...] = ()

    def of(self, graph: Graph) -> tuple[NodeBatches | None, float]:
        """The batches of a graph, `None` for the whole, and the share of the edges' weight between parts."""
        if self.batches == "whole":
            return None, 0.0
        if self.batches == "sampled":
            from s2gnn.nn.neighbour_sampling import Sampled  # needs PyG

            return Sampled(graph, self.sizes, self.per_batch), 0.0
        of_node = partition(graph, self.parts, self.batches)
        return Clusters(of_node, self.per_batch), cut_share(graph, of_node)


WHOLE = Division("whole graph", "whole")
FEW = Division("10 parts, 1 at a time", "metis", 10)
MANY = Division("50 parts, 5 at a time", "metis", 50, 5)
MANY_ALONE = replace(MANY, degrees="part", evaluate="parts")


@dataclass(frozen=True)
class Network:
    """A network with the hyperparameters of Table III, but for `changes`.

    Attributes:
        title: for people.
        model: its name.
        divisions: how it is trained.
        changes: of hyperparameters.
    """

    title: str
    model: str
    divisions: tuple[Division, ...]
    changes: Mapping[str, Value] = field(default_factory=dict)


NETWORKS = (
    # With α = 1, as in Table III, the memory would be that of one power; and the outputs of a linear fusion are sums of
    # ReLUs, of which those for one class can die in batches that have few nodes of it.
    Network(
        OURS,
        "s2gnn",
        (
            WHOLE,
            FEW,
            replace(FEW, degrees="part", evaluate="parts"),
            MANY,
            MANY_ALONE,
            Division("50 parts, 1 at a time", "metis", 50, 1, "part", "parts"),
            Division("10 random parts, 1 at a time", "random", 10, 1, "part", "parts"),
            Division("neighbours of 20 nodes, 10 a hop", "sampled", 1, 20, "whole", sizes=(10, 10)),
        ),
        {"alpha": 4, "fusion": "mlp"},
    ),
    Network("S2-GNN of Table III", "s2gnn", (WHOLE, MANY_ALONE)),
    # Its own mini-batches: a batch is normalised by itself, and the evaluation sees the whole graph.
    Network("ClusterGCN", "clustergcn", (WHOLE, replace(MANY, degrees="part"))),
    Network("GCN", "gcn", (WHOLE, replace(MANY, degrees="part"))),
)


@dataclass(frozen=True)
class Trained:
    """What one run gave and took.

    Attributes:
        test_accuracy: on the whole graph.
        val_accuracy: of the epoch that was kept, seen as the division evaluates.
        bytes: the peak of the resident memory above that of the process with graph and features in it, while the
            network was prepared, trained and validated.
        seconds: of training.
        epochs: of training.
        cut: the share of the edges' weight between parts.
    """

    test_accuracy: float
    val_accuracy: float
    bytes: int
    seconds: float
    epochs: int
    cut: float


def run_division(cell: Cell, division: Division, threads: int) -> Trained:
    """Train the first seed of `cell` and measure it in this process, which should be one of its own."""
    torch.set_num_threads(threads)
    dataset, graph = dataset_of(cell)
    seed = cell.seeds[0]
    split = dataset_split(dataset, seed)
    with seeded(seed):
        network = cell.new_model(dataset.x.shape[1], len(dataset.class_names))
    batches, cut = division.of(graph)
    chosen = cell.hyperparameters
    config = cell.protocol.fit_config(chosen.lr, chosen.weight_decay)

    def trained(epochs: int) -> Any:
        x: Any
        if batches is None:
            x, op = network.prepare(dataset.x, graph)
        else:
            x, op = InParts(network, dataset.x, graph, batches, division.degrees, division.evaluate), None
        shorter = replace(config, epochs=epochs)
        return fit(network, x, op, dataset.y, split.train, split.val, config=shorter, seed=seed)

    trained(min(TRIED, config.epochs))
    before = settled_bytes()
    forget_peak()
    result = trained(config.epochs)
    peak = peak_bytes() - before
    logits = predict_logits(network, *network.prepare(dataset.x, graph))
    return Trained(
        accuracy(dataset.y[split.test], logits[split.test].numpy().argmax(axis=1)),
        result.history.val_accuracy[result.best_epoch],
        peak,
        result.seconds,
        len(result.history.train_loss),
        cut,
    )


def measure_within(budget: Budget) -> Measure:
    """Measure with as many seeds and epochs as `budget` allows."""
    return partial(_measure, budget=budget)


def _measure(data: Sequence[str] | None, report: Report, budget: Budget) -> dict[str, Any]:
    forget_peak()  # refuses a system on which peaks cannot be measured
    protocol = replace(FAIR_CITATION, epochs=budget.epochs, patience=budget.patience)
    rows = []
    for name in data or DATA:
        for network, division in _places():
            values = {**chosen_values(TABLE, name, network.model), **network.changes}
            runs: list[dict[str, Any]] = []
            for seed in TEST_SEEDS[: budget.seeds]:
                report(f"{name}, {network.title}, {division.title}: seed {len(runs) + 1} of {budget.seeds}")
                cell = make_cell(name, network.model, protocol, changes=values, seeds=(seed,))
                found = in_own_process(run_division, cell, division, torch.get_num_threads())
                runs.append({"seed": seed, **asdict(found)})
            rows.append(
                {
                    "data": name,
                    "network": network.title,
                    "model": network.model,
                    "division": asdict(division),
                    "hyperparameters": asdict(cell.hyperparameters),
                    "runs": runs,
                }
            )
    return {
        "budget": budget.name,
        "seeds": budget.seeds,
        "epochs": budget.epochs,
        "patience": budget.patience,
        "protocol": FAIR_CITATION.name,
        "threads": torch.get_num_threads(),
        "kernel": kernel.chosen(),
        "rows": rows,
    }


def _places() -> Iterator[tuple[Network, Division]]:
    for network in NETWORKS:
        for division in network.divisions:
            yield network, division


STUDY = MeasuredStudy(
    "parts",
    "Accuracy against memory of training in parts",
    "the paper's first future direction",
    DATA,
    measure_within(BUDGETS["quick"]),
    lay_out_parts,
    draw_parts,
    measure_within,
    usual=("pubmed",),
)
