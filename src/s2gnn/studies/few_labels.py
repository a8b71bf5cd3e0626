"""What few labels are worth: S2GNNClassifier with its defaults beside scikit-learn's methods with theirs."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from s2gnn.data import load_dataset
from s2gnn.estimator import S2GNNClassifier
from s2gnn.learning.metrics import bootstrap_confidence
from s2gnn.render import Block, Cell, Table
from s2gnn.studies.measured import MeasuredStudy, Report

LABELS_PER_CLASS = 8
# The defaults of the estimator were chosen on draws from 100 on.
DRAWS = (0, 1, 2, 3, 4)

Samples = tuple[NDArray[np.float64], NDArray[np.int64]]


def _histology(name: str) -> Samples:
    dataset = load_dataset(name)
    return np.asarray(dataset.x, dtype=np.float64), np.asarray(dataset.y, dtype=np.int64)


DATA: Mapping[str, Callable[[], Samples]] = MappingProxyType(
    {
        "iris": lambda: load_iris(return_X_y=True),
        "wine": lambda: load_wine(return_X_y=True),
        "breast cancer": lambda: load_breast_cancer(return_X_y=True),
        "digits": lambda: load_digits(return_X_y=True),
        "cancer-b": lambda: _histology("cancer-b"),
        "cancer-m": lambda: _histology("cancer-m"),
    }
)
METHODS: Mapping[str, Callable[[int], Any]] = MappingProxyType(
    {
        "S2GNNClassifier": lambda draw: S2GNNClassifier(random_state=draw),
        "LabelSpreading": lambda _: LabelSpreading(),
        "SVC": lambda _: SVC(),
        "MLPClassifier": lambda draw: MLPClassifier(random_state=draw),
        "LogisticRegression": lambda _: LogisticRegression(),
    }
)


@dataclass(frozen=True)
class FewLabelsRow:
    """A data set: by method the accuracy on the rows without a label, one number for each draw, and all seconds."""

    data: str
    rows: int
    classes: int
    accuracies: dict[str, list[float]]
    seconds: dict[str, float]


def draw_labels(y: NDArray[np.int64], draw: int) -> NDArray[np.int64]:
    """`y` (N,) with 8 labels of each class, drawn from the seed `draw`, and −1 elsewhere."""
    rng = np.random.default_rng(draw)
    partial = np.full(len(y), -1, dtype=np.int64)
    for label in np.unique(y):
        chosen = rng.choice(np.flatnonzero(y == label), LABELS_PER_CLASS, replace=False)
        partial[chosen] = label
    return partial


def measure(data: str, draws: tuple[int, ...]) -> FewLabelsRow:
    """Run every method on every draw of labels."""
    X, y = DATA[data]()
    accuracies: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    for method in METHODS:
        start = time.perf_counter()
        accuracies[method] = [_accuracy(method, X, y, draw) for draw in draws]
        seconds[method] = time.perf_counter() - start
    return FewLabelsRow(data, len(y), len(np.unique(y)), accuracies, seconds)


def _accuracy(method: str, X: NDArray[np.float64], y: NDArray[np.int64], draw: int) -> float:
    """The share of unlabelled rows that a method classifies rightly; all but the estimator get standardised columns."""
    partial = draw_labels(y, draw)
    hidden = partial < 0
    model = METHODS[method](draw)
    if method == "S2GNNClassifier":
        predicted = model.fit(X, partial).transduction_
    else:
        scaled = StandardScaler().fit_transform(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # defaults are defaults
            if method == "LabelSpreading":
                predicted = model.fit(scaled, partial).transduction_
            else:
                predicted = model.fit(scaled[~hidden], partial[~hidden]).predict(scaled)
    return float(np.mean(predicted[hidden] == y[hidden]))


def _measure(data: Sequence[str] | None, report: Report) -> dict[str, Any]:
    rows = []
    for name in data or tuple(DATA):
        report(name)
        rows.append(asdict(measure(name, DRAWS)))
    defaults = S2GNNClassifier().get_params()
    return {"labels_per_class": LABELS_PER_CLASS, "draws": DRAWS, "defaults": defaults, "rows": rows}


def _layout(content: Mapping[str, Any]) -> Table:
    """One row for each data set, and the mean over them."""
    rows = [FewLabelsRow(**row) for row in content["rows"]]
    means = [float(np.mean([np.mean(row.accuracies[method]) for row in rows])) for method in METHODS]
    lines = [_line(f"{row.data} ({row.rows:,} rows, {row.classes} classes)", row) for row in rows]
    lines.append((Cell("mean"), *map(Cell, (f"{100 * mean:.1f}" for mean in means), ranks(means))))
    note = (
        f"Mean over {len(content['draws'])} draws of the labels ± 95 % half-width, on the rows without a label. Every "
        "method has its defaults and sees standardised columns."
    )
    return Table("", ("data set", *METHODS), (Block("", tuple(lines)),), (note,))


def _line(name: str, row: FewLabelsRow) -> tuple[Cell, ...]:
    scores = [bootstrap_confidence(row.accuracies[method]) for method in METHODS]
    texts = (f"{100 * score.mean:.1f} ± {100 * score.half_width:.1f}" for score in scores)
    return Cell(name), *map(Cell, texts, ranks([score.mean for score in scores]))


def ranks(scores: list[float]) -> list[int | None]:
    """1 for the best score and 2 for the second best."""
    order = np.argsort(-np.array(scores), kind="stable").tolist()
    return [place if (place := order.index(position) + 1) <= 2 else None for position in range(len(scores))]


STUDY = MeasuredStudy(
    "few-labels", "Accuracy (%) with 8 labels for each class", "not in the paper", tuple(DATA), _measure, _layout
)
