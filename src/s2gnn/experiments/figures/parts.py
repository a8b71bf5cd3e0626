"""The paper's first future direction, S2-GNN in the setting of Cluster-GCN: accuracy and memory of mini-batches."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Literal, NamedTuple

import pandas as pd
import torch
from matplotlib.figure import Figure

from s2gnn.data.splits import TEST_SEEDS
from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.experiment import Experiment, make_experiment
from s2gnn.experiments.figures.parts_figure import draw_batches
from s2gnn.experiments.hyperparameters import Value
from s2gnn.experiments.measured import Content, MeasuredStudy, Measurement, Row, block, grouped
from s2gnn.experiments.protocols import BUDGETS, FAIR_CITATION, Budget
from s2gnn.experiments.table import chosen_values
from s2gnn.experiments.tasks import Classification, Prepared
from s2gnn.graphs import Graph, cut_share, partition
from s2gnn.learning import predict_logits
from s2gnn.learning.metrics import bootstrap_confidence
from s2gnn.nn import GraphNetwork
from s2gnn.nn.parts import Clusters, DegreesName, EvaluateName, InParts, NodeBatches
from s2gnn.operators import kernel
from s2gnn.render import Table
from s2gnn.resources import forget_peak, in_own_process, peak_bytes, settled_bytes

DATA = ("pubmed", "citeseer", "cora")
TABLE = "table3"
WARM_UP = 5  # epochs of a short run that loads libraries before memory is measured
OURS = "S2-GNN"


@dataclass(frozen=True)
class Division:
    """How a network is trained.

    Attributes:
        batches: the full graph, clusters by METIS, random clusters, or sampled neighbours.
        parts: number of clusters.
        per_batch: clusters in a batch; training nodes in a batch where neighbours are sampled.
        degrees: see `InParts`.
        evaluate: see `InParts`.
        sizes: neighbours sampled at each hop.
    """

    batches: Literal["whole", "metis", "random", "sampled"]
    parts: int = 1
    per_batch: int = 1
    degrees: DegreesName = "whole"
    evaluate: EvaluateName = "whole"
    sizes: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """The batches in a few words."""
        if self.batches == "whole":
            return "full graph"
        if self.batches == "sampled":
            sizes = " and ".join(dict.fromkeys(map(str, self.sizes)))
            return f"{self.per_batch} nodes per batch, {sizes} neighbours per hop"
        return f"{self.parts} {'random ' if self.batches == 'random' else ''}clusters, {self.per_batch} per batch"

    @property
    def full_title(self) -> str:
        """The batches and their degrees in a few words."""
        degrees = "full-graph" if self.degrees == "whole" else "batch"
        return self.title if self.batches == "whole" else f"{self.title}, {degrees} degrees"

    def batches_of(self, graph: Graph) -> tuple[NodeBatches | None, float]:
        """Return the batches of a graph, `None` for the full graph, and the share of edge weight between clusters."""
        if self.batches == "whole":
            return None, 0.0
        if self.batches == "sampled":
            from s2gnn.nn.neighbour_sampling import Sampled  # needs PyG

            return Sampled(graph, self.sizes, self.per_batch), 0.0
        clusters = partition(graph, self.parts, self.batches)
        return Clusters(clusters, self.per_batch), cut_share(graph, clusters)


FULL = Division("whole")
FEW = Division("metis", 10)
MANY = Division("metis", 50, 5)
MANY_ALONE = replace(MANY, degrees="part", evaluate="parts")


class Network(NamedTuple):
    """A network with the hyperparameters of Table III, except for `changes`, and how it is trained."""

    title: str
    model: str
    divisions: tuple[Division, ...]
    changes: Mapping[str, Value] = MappingProxyType({})


NETWORKS = (
    # With α = 1, as in Table III, the memory would be that of one power; and the outputs of a linear fusion are sums of
    # ReLUs, of which those for one class can die in batches that have few nodes of it.
    Network(
        OURS,
        "s2gnn",
        (
            FULL,
            FEW,
            replace(FEW, degrees="part", evaluate="parts"),
            MANY,
            MANY_ALONE,
            Division("metis", 50, 1, "part", "parts"),
            Division("random", 10, 1, "part", "parts"),
            Division("sampled", 1, 20, "whole", sizes=(10, 10)),
        ),
        {"alpha": 4, "fusion": "mlp"},
    ),
    Network("S2-GNN of Table III", "s2gnn", (FULL, MANY_ALONE)),
    # Its original mini-batches: a batch is normalised by itself, and the evaluation uses the full graph.
    Network("ClusterGCN", "clustergcn", (FULL, replace(MANY, degrees="part"))),
    Network("GCN", "gcn", (FULL, replace(MANY, degrees="part"))),
)


def run_division(experiment: Experiment, division: Division, threads: int) -> Row:
    """Train the first seed of `experiment` and measure it in this process, which should do nothing else.

    The test accuracy is that on the full graph. Memory is the peak of the resident memory above that of the process
    with graph and features, while the network is prepared, trained and validated.
    """
    torch.set_num_threads(threads)
    protocol, seed = experiment.protocol, experiment.seeds[0]
    task = Classification(experiment)
    x, graph = task.data.x, task.graph
    assert isinstance(graph, Graph)
    batches, cut = division.batches_of(graph)

    def prepare(network: GraphNetwork) -> Prepared:
        if batches is None:
            return network.prepare(x, graph)
        return InParts(network, x, graph, batches, division.degrees, division.evaluate), None

    short = replace(experiment, protocol=replace(protocol, epochs=min(WARM_UP, protocol.epochs)))
    task.with_experiment(short).fit(seed, prepare=prepare)
    before = settled_bytes()
    forget_peak()
    trained = task.fit(seed, prepare=prepare)
    peak = peak_bytes() - before
    network = trained.network
    assert network is not None
    on_full_graph = partial(predict_logits, network, *network.prepare(x, graph))
    scores = task.score(replace(trained, predict=on_full_graph))
    return {
        "test_accuracy": scores["test_accuracy"],
        "val_accuracy": scores["val_accuracy"],
        "bytes": peak,
        "seconds": trained.result.seconds,
        "epochs": len(trained.result.history.train_loss),
        "cut": cut,
    }


def _settings(budget: Budget) -> Row:
    forget_peak()  # raises on a system where peaks cannot be measured
    return {
        "budget": budget.name,
        "seeds": budget.seeds,
        "epochs": budget.epochs,
        "patience": budget.patience,
        "protocol": FAIR_CITATION.name,
        "threads": torch.get_num_threads(),
        "kernel": kernel.chosen(),
    }


def _measure(at: Measurement) -> Iterator[Row]:
    """Yield a row for each network and division; every run has a separate process."""
    protocol = BUDGETS[at.settings["budget"]].limit(FAIR_CITATION)
    for network in NETWORKS:
        values = {**chosen_values(TABLE, at.data, network.model), **network.changes}
        for division in network.divisions:
            runs: list[Row] = []
            for seed in TEST_SEEDS[: at.settings["seeds"]]:
                at.report(f"{at.data}, {network.title}, {division.title}: seed {len(runs) + 1}")
                experiment = make_experiment(at.data, network.model, protocol, changes=values, seeds=(seed,))
                run = in_own_process(run_division, experiment, division, at.settings["threads"])
                runs.append({"seed": seed, **run})
            yield {
                "network": network.title,
                "model": network.model,
                "division": asdict(division),
                "hyperparameters": asdict(experiment.hyperparameters),
                "runs": runs,
            }


def _rows(content: Content) -> list[Row]:
    """Return the rows with means over runs: accuracy and cut in %, memory in MiB."""
    names = {one.name for one in fields(Division)}
    rows = []
    for row in content["rows"]:
        runs = pd.DataFrame(row["runs"])
        rows.append(
            {
                "data": row["data"],
                "network": row["network"],
                "model": row["model"],
                "division": Division(**{name: value for name, value in row["division"].items() if name in names}),
                "score": bootstrap_confidence(100 * runs["test_accuracy"]),
                "cut": 100 * runs["cut"].mean(),
                "mib": runs["bytes"].mean() / 2**20,
                "seconds": (runs["seconds"] / runs["epochs"]).mean(),
                "epochs": runs["epochs"].mean(),
            }
        )
    return rows


def _tabulate(content: Content) -> Table:
    """Return a block for each data set, a row for each network and division."""
    header = (
        "network",
        "batches",
        "degrees in",
        "evaluated on",
        "weight cut (%)",
        "test accuracy (%)",
        "peak memory (MiB)",
        "seconds per epoch",
        "epochs",
    )
    data = grouped(_rows(content), "data")
    patience = "" if content["patience"] is None else f", stopped after {content['patience']} without a better score"
    ours = next(row["hyperparameters"]["model"] for row in content["rows"] if row["network"] == OURS)
    note = (
        f"Means over {content['seeds']} of the paper's test seeds, ± the 95 % half-width; at most {content['epochs']} "
        f"epochs{patience} (protocol {content['protocol']}), hyperparameters as in Table III, except α = "
        f"{ours['alpha']} and the {ours['fusion']} fusion of {OURS}. Accuracy on the test nodes of the full graph. "
        "Memory: the peak of the resident memory above that of the process with graph and features, while the network "
        "is prepared, trained and validated; every run has a separate process. "
        f"Threads: {content['threads']}, kernel: {content['kernel']}."
    )
    blocks = tuple(block(display_name(name), map(_texts, rows)) for name, rows in data.items())
    return Table("", header, blocks, (*(_finding(name, rows) for name, rows in data.items()), note))


def _texts(row: Row) -> tuple[str, ...]:
    division, score = row["division"], row["score"]
    return (
        row["network"],
        division.title,
        "–" if division.batches == "whole" else {"whole": "full graph", "part": "batch"}[division.degrees],
        {"whole": "full graph", "parts": "clusters"}[division.evaluate],
        f"{row['cut']:.1f}" if division.batches in ("metis", "random") else "–",
        f"{score.mean:.2f} ± {score.half_width:.2f}",
        f"{row['mib']:,.0f}",
        f"{row['seconds']:.3f}",
        f"{row['epochs']:.0f}",
    )


def _finding(data: str, rows: list[Row]) -> str:
    """Compare S2-GNN with mini-batches with S2-GNN on the full graph, and the most accurate of all."""
    full, *batched = (row for row in rows if row["network"] == OURS)
    best, least = max(batched, key=_accuracy), min(batched, key=lambda row: float(row["mib"]))
    top = max(rows, key=_accuracy)
    return (
        f"{display_name(data)}: S2-GNN reaches {_cost(full)} on the full graph. Its most accurate mini-batches "
        f"({best['division'].full_title}) reach {_cost(best)}, those with the lowest memory "
        f"({least['division'].full_title}) {_cost(least)}. The most accurate row is {top['network']}, "
        f"{top['division'].full_title}."
    )


def _accuracy(row: Row) -> float:
    return float(row["score"].mean)


def _cost(row: Row) -> str:
    return f"{_accuracy(row):.2f} % with {row['mib']:,.0f} MiB"


def _draw(content: Content) -> Figure:
    return draw_batches(grouped(_rows(content), "data"))


STUDY = MeasuredStudy(
    "parts",
    "Accuracy and memory of mini-batch training",
    "the paper's first future direction",
    DATA,
    _measure,
    _tabulate,
    _draw,
    _settings,
    budgeted=True,
    usual=("pubmed",),
)
