"""`s2gnn demo`: S2-GNN and four other methods on handwritten digits, given a tenth of the labels, and a picture."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.model_selection import train_test_split
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from s2gnn.analysis import branch_shares
from s2gnn.estimator.training import Objective, train_ensemble
from s2gnn.graphs import Graph, knn_graph
from s2gnn.learning import FitConfig
from s2gnn.nn import S2GNN, GraphNetwork, make_model
from s2gnn.pictures import bare, save_png
from s2gnn.render import Block, Cell, Table
from s2gnn.report.figures import draw_branches

LABELLED = 0.1
PIXELS, CLASSES = 64, 10
# k, alpha, epsilon, dropout and epochs were chosen for S2-GNN with label draws of seeds from 100 on, which the demo
# never uses; width, learning rate and weight decay are defaults.
K, ALPHA, EPSILON, HIDDEN, DROPOUT = 10, 4, 0.2, 64, 0.7
# No labels are spared for validation: every network trains for a fixed number of epochs.
TRAINING = FitConfig(lr=0.01, weight_decay=5e-4, epochs=200, patience=None)
NETWORKS: dict[str, Callable[[], GraphNetwork]] = {
    "S2-GNN": partial(S2GNN, PIXELS, HIDDEN, CLASSES, alpha=ALPHA, epsilon=EPSILON, dropout=DROPOUT),
    "GCN": partial(make_model, "gcn", PIXELS, CLASSES, hidden_channels=HIDDEN, dropout=DROPOUT),
    "MLP": partial(make_model, "mlp", PIXELS, CLASSES, hidden_channels=HIDDEN, dropout=DROPOUT),
}
METHODS = (*NETWORKS, "SVM", "LabelSpreading")
# Paul Tol's muted scheme, distinguishable with colour-blindness, plus a dark brown for the tenth class.
COLOURS = (
    "#332288", "#88CCEE", "#44AA99", "#117733", "#999933",
    "#DDCC77", "#CC6677", "#882255", "#AA4499", "#661100",
)  # fmt: skip
EDGES_DRAWN = 4000


@dataclass
class Score:
    """Accuracy on the unlabelled digits and training time of one method, a number for each seed."""

    accuracy: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


@dataclass
class Comparison:
    """The scores of all methods, and the S2-GNN of the first seed for the picture.

    Attributes:
        X: pixels of the digits, scaled to [0, 1], (N, 64).
        y: the digits, (N,).
        graph: their k-NN graph.
        graph_seconds: time to build it.
        scores: by method, in the order of `METHODS`.
        model: the S2-GNN trained with the first seed.
        predicted: its class for every digit, (N,).
        labelled: the digits whose labels it saw.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    graph: Graph
    graph_seconds: float
    scores: dict[str, Score]
    model: S2GNN
    predicted: NDArray[np.int64]
    labelled: NDArray[np.int64]

    def table(self) -> Table:
        """The scores, best method first."""
        rows = [
            (method, 100 * np.mean(score.accuracy), 100 * np.std(score.accuracy), np.mean(score.seconds))
            for method, score in self.scores.items()
        ]
        ranked = sorted(rows, key=lambda row: -row[1])
        cells = [(Cell(method), *(Cell(f"{number:.2f}") for number in numbers)) for method, *numbers in ranked]
        return Table(
            f"Handwritten digits: {len(self.labelled)} of {len(self.y):,} labelled, accuracy on the rest",
            ("method", "accuracy (%)", "± std over seeds", "seconds per seed"),
            (Block("", tuple(cells)),),
            (
                "S2-GNN, GCN and MLP share width, learning rate, dropout and epochs. Dropout, epochs, the graph's k "
                "and S2-GNN's alpha and epsilon were chosen for S2-GNN on other draws of the labels. SVM and "
                "LabelSpreading use scikit-learn's defaults. Building the graph of S2-GNN and GCN took "
                f"{self.graph_seconds:.2f} s, which is not included.",
            ),
        )


def compare(n_seeds: int, on_start: Callable[[str, int], None], on_done: Callable[[], None]) -> Comparison:
    """Run every method on `n_seeds` draws of the labelled digits.

    Args:
        n_seeds: number of draws; seed s draws the labels and the initial weights.
        on_start: called with the method and the seed before each run.
        on_done: called after each run.
    """
    images, y = load_digits(return_X_y=True)
    X, start = images / 16, time.perf_counter()
    graph = knn_graph(X, k=K)
    graph_seconds = time.perf_counter() - start
    scores = {method: Score() for method in METHODS}
    first: tuple[S2GNN, NDArray[np.int64], NDArray[np.int64]] | None = None
    for seed in range(n_seeds):
        labelled, hidden = train_test_split(np.arange(len(y)), train_size=LABELLED, stratify=y, random_state=seed)
        for method, score in scores.items():
            on_start(method, seed)
            start = time.perf_counter()
            if method == "SVM":
                predicted = SVC().fit(X[labelled], y[labelled]).predict(X)
            elif method == "LabelSpreading":
                partly = np.full_like(y, -1)
                partly[labelled] = y[labelled]
                predicted = LabelSpreading().fit(X, partly).transduction_
            else:
                objective = Objective(y, labelled, CLASSES)
                trained = train_ensemble(
                    NETWORKS[method],
                    lambda network: network.prepare(X, graph),
                    objective,
                    TRAINING,
                    seeds=[seed],
                    validation_fraction=None,
                )
                predicted, network = trained.logits[0].argmax(axis=1), trained.networks[0]
                if first is None and isinstance(network, S2GNN):
                    first = network, predicted, labelled
            score.seconds.append(time.perf_counter() - start)
            score.accuracy.append(float(np.mean(predicted[hidden] == y[hidden])))
            on_done()
    assert first is not None
    return Comparison(X, y, graph, graph_seconds, scores, *first)


def draw(comparison: Comparison, path: Path, footnote: str) -> None:
    """Write the picture to `path` as PNG."""
    figure = Figure(figsize=(12, 6.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.7, 1])
    _draw_graph(left, comparison)
    _draw_branches(right, comparison.model)
    figure.supxlabel(footnote, x=0.995, ha="right", fontsize=7, color="0.45")
    save_png(figure, path)


def _draw_graph(axes: Axes, comparison: Comparison) -> None:
    position = TSNE(init="pca", random_state=0).fit_transform(comparison.X)  # (N, 2)
    pairs, _ = comparison.graph.to_edge_list()
    drawn = np.random.default_rng(0).permutation(len(pairs))[:EDGES_DRAWN]
    axes.add_collection(LineCollection(list(position[pairs[drawn]]), colors="0.8", linewidths=0.25, zorder=1))
    for digit, colour in enumerate(COLOURS):
        members = comparison.predicted == digit
        axes.scatter(position[members, 0], position[members, 1], s=9, color=colour, linewidths=0, zorder=2)
        axes.annotate(
            str(digit),
            np.median(position[members], axis=0),
            ha="center",
            va="center",
            fontsize=15,
            weight="bold",
            zorder=4,
            bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": colour, "alpha": 0.85},
        )
    hidden = ~np.isin(np.arange(len(comparison.y)), comparison.labelled)
    wrong = hidden & (comparison.predicted != comparison.y)
    axes.scatter(
        position[wrong, 0], position[wrong, 1], s=42, marker="x", color="black", linewidths=1.1, zorder=3,
        label=f"wrong: {wrong.sum()} of {hidden.sum():,} unlabelled",
    )  # fmt: skip
    axes.legend(loc="lower left", frameon=False)
    axes.set_title(
        f"k-NN graph of {len(comparison.y):,} handwritten digits (t-SNE), coloured by S2-GNN's prediction\n"
        f"from {len(comparison.labelled)} labels, first seed; {len(drawn):,} of {len(pairs):,} edges drawn",
        fontsize=10,
    )
    axes.set_axis_off()


def _draw_branches(axes: Axes, model: S2GNN) -> None:
    draw_branches(axes, branch_shares(model), ("0\n(no graph)", "1\n(GCN-like)"))
    axes.set_xlabel("Hadamard power ρ of the branch")
    axes.set_ylabel("share of the fusion weights (%)")
    axes.set_title("learned weight of each branch", fontsize=10)
    axes.legend(frameon=False, loc="upper right", ncols=3)
    bare(axes)
