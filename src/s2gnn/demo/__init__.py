"""`s2gnn demo`: S2GNNClassifier and scikit-learn's methods on a table with ten labels per class, and a picture."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.manifold import TSNE

from s2gnn.estimator import S2GNNClassifier
from s2gnn.experiments.figures.leaderboard import CLASSIFIERS, Draw, answer, draw_known
from s2gnn.experiments.user_tables import load_encoded
from s2gnn.pictures import PALETTE, bare, save_png
from s2gnn.render import Block, Cell, Table

# On this table of the leaderboard, the lead over other methods is close to the median of all its tables.
TABLE, CLASSES = "wine", ("Barolo", "Grignolino", "Barbera")
LABELS_PER_CLASS = 10
OURS = "S2GNNClassifier"
METHODS = (
    OURS, "logistic regression", "random forest", "regression + forest", "SVC", "self-training", "k-NN",
    "label spreading",
)  # fmt: skip
FIRST_SEED = 100  # other draws than those of the leaderboard


@dataclass
class Score:
    """Accuracy on the unlabelled rows and time of one method, a number for each draw."""

    accuracy: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


@dataclass
class Comparison:
    """The scores of all methods, and the first draw for the picture.

    Attributes:
        scores: by method, in the order of `METHODS`.
        drawn: the table of the first draw, labelled rows first.
        classifier: S2GNNClassifier, fitted on it.
    """

    scores: dict[str, Score]
    drawn: Draw
    classifier: S2GNNClassifier

    def ranked(self) -> list[tuple[str, Score]]:
        """Methods and scores, the highest mean accuracy first."""
        return sorted(self.scores.items(), key=lambda item: -float(np.mean(item[1].accuracy)))

    def table(self) -> Table:
        """The scores, best method first, and the draws on which S2GNNClassifier is ahead of each and behind it."""
        ours = np.array(self.scores[OURS].accuracy)
        cells = []
        for method, score in self.ranked():
            lead = ours - score.accuracy
            against = "" if method == OURS else f"{np.sum(lead > 0)} : {np.sum(lead < 0)}"
            numbers = (f"{100 * np.mean(score.accuracy):.1f}", against, f"{np.mean(score.seconds):.2f}")
            cells.append((Cell(method), *map(Cell, numbers)))
        n_draws = len(ours)
        return Table(
            f"Wines of three cultivars: {self.drawn.known} of {len(self.drawn.y)} labelled, accuracy on the others",
            ("method", "accuracy (%)", f"{OURS} ahead : behind", "seconds"),
            (Block("", tuple(cells)),),
            (
                f"Mean over {n_draws} draw{'' if n_draws == 1 else 's'} of {LABELS_PER_CLASS} labels per class. Every "
                "method has its defaults and the same standardised columns. One table proves little: on the 53 tables "
                "of s2gnn study show leaderboard, the lead is similar in the median, and on some it is behind.",
            ),
        )


def compare(n_seeds: int, on_start: Callable[[str, int], None], on_done: Callable[[], None]) -> Comparison:
    """Run every method on `n_seeds` draws of the labelled rows.

    Args:
        n_seeds: number of draws.
        on_start: called with the method and the number of the draw before each run.
        on_done: called after each run.
    """
    X, y = load_encoded(TABLE)
    scores = {method: Score() for method in METHODS}
    fitted: list[tuple[Draw, S2GNNClassifier]] = []
    for number in range(n_seeds):
        drawn = draw_known(X, y, LABELS_PER_CLASS, FIRST_SEED + number)
        for method, score in scores.items():
            on_start(method, number)
            start, estimator = time.perf_counter(), CLASSIFIERS[method](number)
            predicted, _ = answer(estimator, drawn)
            score.seconds.append(time.perf_counter() - start)
            score.accuracy.append(float(np.mean(predicted == drawn.y[drawn.known :])))
            if method == OURS:
                fitted.append((drawn, estimator))
            on_done()
    return Comparison(scores, *fitted[0])


def draw(comparison: Comparison, path: Path, footnote: str) -> None:
    """Write the picture to `path` as PNG."""
    figure = Figure(figsize=(12, 5.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.35, 1])
    _draw_graph(left, comparison)
    _draw_scores(right, comparison)
    figure.supxlabel(footnote, x=0.995, ha="right", fontsize=7, color="0.45")
    save_png(figure, path)


def _draw_graph(axes: Axes, comparison: Comparison) -> None:
    (X, y, n_known), graph = comparison.drawn, comparison.classifier.graph_
    position = TSNE(init="pca", random_state=0).fit_transform(X)  # (N, 2)
    across, up = position.T
    pairs, _ = graph.to_edge_list()
    axes.add_collection(LineCollection(list(position[pairs]), colors="0.85", linewidths=0.5, zorder=1))
    predicted, labelled = comparison.classifier.transduction_, np.arange(len(y)) < n_known
    for label, (name, colour) in enumerate(zip(CLASSES, PALETTE[2:], strict=False)):
        rows = predicted == label
        axes.scatter(across[rows], up[rows], s=26, color=colour, linewidths=0, zorder=2, label=name)
    axes.scatter(
        across[labelled], up[labelled], s=70, facecolors="none", edgecolors="black", linewidths=1.1, zorder=3,
        label=f"labelled: {n_known}",
    )  # fmt: skip
    wrong: NDArray[np.bool_] = ~labelled & (predicted != y)
    axes.scatter(
        across[wrong], up[wrong], s=48, marker="x", color="black", linewidths=1.3, zorder=4,
        label=f"wrong: {wrong.sum()} of {(~labelled).sum()} unlabelled",
    )  # fmt: skip
    axes.legend(loc="best", frameon=False, fontsize=9)
    axes.set_title(
        f"{len(y)} wines and their graph ({graph.n_edges:,} edges), coloured by the prediction of\n"
        f"{OURS} from {n_known} labels, first draw (positions by t-SNE of 13 columns)",
        fontsize=10,
    )
    axes.set_axis_off()


def _draw_scores(axes: Axes, comparison: Comparison) -> None:
    ranked = comparison.ranked()[::-1]
    for place, (method, score) in enumerate(ranked):
        colour = PALETTE[0] if method == OURS else "0.55"
        shift = np.linspace(-0.22, 0.22, len(score.accuracy)) if len(score.accuracy) > 1 else 0.0
        accuracy, mean = 100 * np.array(score.accuracy), 100 * np.mean(score.accuracy)
        axes.scatter(accuracy, place + shift, s=14, color=colour, alpha=0.45, linewidths=0)
        axes.plot([mean, mean], [place - 0.32, place + 0.32], color=colour, linewidth=2.5)
    labels = [f"{method}  {100 * np.mean(score.accuracy):.1f}" for method, score in ranked]
    axes.set_yticks(range(len(ranked)), labels)
    axes.set_xlabel("accuracy on unlabelled rows (%)")
    n_draws = len(ranked[0][1].accuracy)
    axes.set_title(
        f"{LABELS_PER_CLASS} labels per class: a point for each of {n_draws} draws, a line at the mean", fontsize=10
    )
    bare(axes)
