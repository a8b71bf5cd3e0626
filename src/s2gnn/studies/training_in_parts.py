"""The paper's first future direction, S2-GNN in the setting of Cluster-GCN: what training in parts costs and spares."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import mean
from typing import Any, Literal

import torch
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from s2gnn.data.splits import TEST_SEEDS, dataset_split
from s2gnn.graphs import Graph, cut_share, partition
from s2gnn.layout import Block, Entry, Layout
from s2gnn.learning import fit, predict_logits, seeded
from s2gnn.learning.metrics import accuracy, bootstrap_confidence
from s2gnn.learning.protocol import FAIR_CITATION
from s2gnn.nn.parts import Clusters, DegreesName, EvaluateName, InParts, NodeBatches
from s2gnn.operators import kernel
from s2gnn.pictures import PALETTE, bare
from s2gnn.resources import forget_peak, in_own_process, peak_bytes, settled_bytes
from s2gnn.studies.budget import BUDGETS, Budget
from s2gnn.studies.cell import Cell, make_cell
from s2gnn.studies.measured import Measure, MeasuredStudy, Report
from s2gnn.studies.run import dataset_of
from s2gnn.studies.table import chosen_values

DATA = ("pubmed", "citeseer", "cora")
TABLE = "table3"
MODELS = {"s2gnn": "S2-GNN", "clustergcn": "ClusterGCN", "gcn": "GCN"}
MIB = 2**20
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
DIVISIONS: Mapping[str, tuple[Division, ...]] = {
    "s2gnn": (
        WHOLE,
        FEW,
        replace(FEW, degrees="part", evaluate="parts"),
        MANY,
        replace(MANY, degrees="part", evaluate="parts"),
        Division("50 parts, 1 at a time", "metis", 50, 1, "part", "parts"),
        Division("10 random parts, 1 at a time", "random", 10, 1, "part", "parts"),
        Division("neighbours of 20 nodes, 10 a hop", "sampled", 1, 20, "whole", sizes=(10, 10)),
    ),
    # Its own mini-batches: a batch is normalised by itself, and the evaluation sees the whole graph.
    "clustergcn": (WHOLE, replace(MANY, degrees="part")),
    "gcn": (WHOLE, replace(MANY, degrees="part")),
}


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
            x, op = network.prepare(dataset.x, graph)  # type: ignore[operator]
        else:
            x, op = InParts(network, dataset.x, graph, batches, division.degrees, division.evaluate), None
        shorter = replace(config, epochs=epochs)
        return fit(network, x, op, dataset.y, split.train, split.val, config=shorter, seed=seed)

    trained(min(TRIED, config.epochs))
    before = settled_bytes()
    forget_peak()
    result = trained(config.epochs)
    peak = peak_bytes() - before
    logits = predict_logits(network, *network.prepare(dataset.x, graph))  # type: ignore[operator]
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
    for name in data or DATA[:1]:
        for model, division in _places():
            values = chosen_values(TABLE, name, model)
            runs: list[dict[str, Any]] = []
            for seed in TEST_SEEDS[: budget.seeds]:
                report(f"{name}, {MODELS[model]}, {division.title}: seed {len(runs) + 1} of {budget.seeds}")
                cell = make_cell(name, model, protocol, changes=values, seeds=(seed,))
                found = in_own_process(run_division, cell, division, torch.get_num_threads())
                runs.append({"seed": seed, **asdict(found)})
            chosen = asdict(cell.hyperparameters)
            rows.append(
                {"data": name, "model": model, "division": asdict(division), "hyperparameters": chosen, "runs": runs}
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


def _places() -> Iterator[tuple[str, Division]]:
    for model, divisions in DIVISIONS.items():
        for division in divisions:
            yield model, division


def _by_data(content: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in content["rows"]:
        found.setdefault(row["data"], []).append(row)
    return found


def _means(row: Mapping[str, Any], name: str) -> float:
    return float(mean(run[name] for run in row["runs"]))


def _layout(content: Mapping[str, Any]) -> Layout:
    header = (
        "network",
        "batches",
        "degrees of",
        "evaluated on",
        "weight cut (%)",
        "test accuracy (%)",
        "peak memory (MiB)",
        "seconds an epoch",
        "epochs",
    )
    blocks = tuple(Block(data, tuple(map(_line, rows))) for data, rows in _by_data(content).items())
    patience = "" if content["patience"] is None else f", stopped after {content['patience']} without a better score"
    note = (
        f"Means over {content['seeds']} of the paper's test seeds, ± the 95 % half-width; at most {content['epochs']} "
        f"epochs{patience} (protocol {content['protocol']}), hyperparameters as in Table III. Accuracy on the test "
        "nodes of the whole graph. Memory: the peak of the resident memory above that of the process with graph and "
        "features in it, while the network is prepared, trained and validated; every run has a process of its own. "
        f"Threads: {content['threads']}, kernel: {content['kernel']}."
    )
    return Layout("", header, blocks, (*_findings(content), note))


def _line(row: Mapping[str, Any]) -> tuple[Entry, ...]:
    division = row["division"]
    score = bootstrap_confidence([run["test_accuracy"] for run in row["runs"]])
    divided = division["batches"] != "whole"
    texts = (
        MODELS[row["model"]],
        division["title"],
        division["degrees"] if divided else "–",
        f"the {division['evaluate']}" if division["evaluate"] == "whole" else "parts",
        f"{100 * _means(row, 'cut'):.1f}" if division["batches"] in ("metis", "random") else "–",
        f"{100 * score.mean:.2f} ± {100 * score.half_width:.2f}",
        f"{_means(row, 'bytes') / MIB:,.0f}",
        f"{mean(run['seconds'] / run['epochs'] for run in row['runs']):.3f}",
        f"{_means(row, 'epochs'):.0f}",
    )
    return tuple(map(Entry, texts))


def _findings(content: Mapping[str, Any]) -> tuple[str, ...]:
    """For each data set: S2-GNN in parts beside S2-GNN on the whole graph, and the most accurate of all."""
    sentences = []
    for data, rows in _by_data(content).items():
        ours = [row for row in rows if row["model"] == "s2gnn"]
        whole, *divided = ours
        least = min(divided, key=lambda row: _means(row, "bytes"))
        best = max(divided, key=lambda row: _means(row, "test_accuracy"))
        top = max(rows, key=lambda row: _means(row, "test_accuracy"))
        sentences.append(
            f"{data}: S2-GNN on the whole graph has {_score(whole)} and takes {_mib(whole)}. The most accurate in "
            f"parts ({_title(best)}) has {_score(best)} and takes {_mib(best)}; the least memory, {_mib(least)}, take "
            f"{_title(least)}, with {_score(least)}. Of all rows the most accurate is {MODELS[top['model']]}, "
            f"{_title(top)}."
        )
    return tuple(sentences)


def _score(row: Mapping[str, Any]) -> str:
    return f"{100 * _means(row, 'test_accuracy'):.2f} %"


def _mib(row: Mapping[str, Any]) -> str:
    return f"{_means(row, 'bytes') / MIB:,.0f} MiB"


def _title(row: Mapping[str, Any]) -> str:
    division = row["division"]
    degrees = f", degrees of the {division['degrees']}" if division["batches"] != "whole" else ""
    return f"{division['title']}{degrees}"


_MARKERS = {"whole": "*", "metis": "o", "random": "x", "sampled": "^"}


def _draw(content: Mapping[str, Any]) -> Figure:
    """Accuracy over memory, a panel for each data set; colours for networks, marks for the kind of batch."""
    data = _by_data(content)
    figure = Figure(figsize=(7.2, 3.8 * len(data)), layout="constrained")
    colours = dict(zip(MODELS, ("black", PALETTE[4], PALETTE[2]), strict=True))
    for axes, (name, rows) in zip(figure.subplots(len(data), 1, squeeze=False)[:, 0], data.items(), strict=True):
        for number, row in enumerate(rows, 1):
            division = row["division"]
            filled = division["degrees"] == "whole" or division["batches"] == "random"
            place = _means(row, "bytes") / MIB, 100 * _means(row, "test_accuracy")
            colour = colours[row["model"]]
            axes.plot(
                *place,
                _MARKERS[division["batches"]],
                color=colour,
                markerfacecolor=colour if filled else "white",
                markersize=11 if division["batches"] == "whole" else 7,
                linestyle="none",
                label=f"{number}  {MODELS[row['model']]}, {_title(row)}",
            )
            axes.annotate(str(number), place, xytext=(5, 4), textcoords="offset points", fontsize=8)
        axes.set(xlabel="peak memory of training (MiB)", ylabel="test accuracy (%)", title=name, xscale="log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.margins(0.12)
        axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
        bare(axes)
    return figure


STUDY = MeasuredStudy(
    "parts",
    "Accuracy against memory of training in parts",
    "the paper's first future direction",
    DATA,
    measure_within(BUDGETS["quick"]),
    _layout,
    _draw,
    measure_within,
)
