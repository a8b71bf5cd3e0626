"""S2GNNClassifier and S2GNNRegressor compared with scikit-learn's estimators: defaults, and few known targets."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC, SVR

from s2gnn.data import load_dataset
from s2gnn.estimator import S2GNNClassifier, S2GNNRegressor
from s2gnn.experiments.measured import Content, MeasuredStudy, Measurement, Row, block
from s2gnn.learning.metrics import bootstrap_confidence
from s2gnn.render import Cell, Table

LABELS_PER_CLASS = 8
KNOWN_VALUES = 50
DRAWS = (0, 1, 2, 3, 4)  # the defaults of the estimators were chosen on draws from 100 on

Samples = tuple[NDArray[np.float64], NDArray[Any]]


def _histology(name: str) -> Samples:
    dataset = load_dataset(name)
    return np.asarray(dataset.x, dtype=np.float64), np.asarray(dataset.y, dtype=np.int64)


def _column(X: NDArray[np.float64], position: int) -> Samples:
    """One column of a table as the target, the others as features."""
    return np.delete(X, position, axis=1), X[:, position]


def _standardised(regressor: Any) -> TransformedTargetRegressor:
    return TransformedTargetRegressor(regressor, transformer=StandardScaler())


# Data sets with few labels, and with few known values.
LABELS: Mapping[str, Callable[[], Samples]] = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "cancer-b": lambda: _histology("cancer-b"),
    "cancer-m": lambda: _histology("cancer-m"),
}
VALUES: Mapping[str, Callable[[], Samples]] = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "wine alcohol": lambda: _column(load_wine().data, 0),
    "breast cancer texture": lambda: _column(load_breast_cancer().data, 1),
    "cancer-b texture": lambda: _column(_histology("cancer-b")[0], 0),
    "friedman1": lambda: make_friedman1(1000, noise=1.0, random_state=0),
    "friedman2": lambda: make_friedman2(1000, noise=100.0, random_state=0),
    "friedman3": lambda: make_friedman3(1000, noise=0.1, random_state=0),
}
# Estimators from a seed.
CLASSIFIERS: Mapping[str, Callable[[int], Any]] = {
    "S2GNNClassifier": lambda seed: S2GNNClassifier(random_state=seed),
    "LabelSpreading": lambda _: LabelSpreading(),
    "SVC": lambda _: SVC(),
    "MLPClassifier": lambda seed: MLPClassifier(random_state=seed),
    "LogisticRegression": lambda _: LogisticRegression(),
}
REGRESSORS: Mapping[str, Callable[[int], Any]] = {
    "S2GNNRegressor": lambda seed: S2GNNRegressor(random_state=seed),
    "KNeighborsRegressor": lambda _: _standardised(KNeighborsRegressor()),
    "Ridge": lambda _: _standardised(Ridge()),
    "SVR": lambda _: _standardised(SVR()),
    "KernelRidge (RBF)": lambda _: _standardised(KernelRidge(kernel="rbf")),
}


def hide_targets(y: NDArray[Any], draw: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """`y` (N,) with all but 8 labels of each class, or 50 values, hidden as −1 or NaN; which are known, (N,)."""
    rng = np.random.default_rng(draw)
    known = np.zeros(len(y), dtype=bool)
    if y.dtype.kind == "f":
        known[rng.choice(len(y), KNOWN_VALUES, replace=False)] = True
        return np.where(known, y, np.nan), known
    for label in np.unique(y):
        known[rng.choice(np.flatnonzero(y == label), LABELS_PER_CLASS, replace=False)] = True
    return np.where(known, y, -1), known


def score_hidden(estimator: Any, X: NDArray[np.float64], y: NDArray[Any], draw: int) -> float:
    """Accuracy, or R², of an estimator on the targets that a draw hides."""
    partly, known = hide_targets(y, draw)
    if isinstance(estimator, S2GNNClassifier | S2GNNRegressor):  # they standardise columns themselves
        predicted = estimator.fit(X, partly).transduction_
    else:
        X = StandardScaler().fit_transform(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of the defaults
            if isinstance(estimator, LabelSpreading):
                predicted = estimator.fit(X, partly).transduction_
            else:
                predicted = estimator.fit(X[known], y[known]).predict(X)
    score = r2_score if y.dtype.kind == "f" else accuracy_score
    return float(score(y[~known], predicted[~known]))


def _measure(
    at: Measurement, samples: Mapping[str, Callable[[], Samples]], estimators: Mapping[str, Callable[[int], Any]]
) -> Iterator[Row]:
    X, y = samples[at.data]()
    scores, seconds = {}, {}
    for name, make in estimators.items():
        at.report(f"{at.data}, {name}")
        start = time.perf_counter()
        scores[name] = [score_hidden(make(draw), X, y, draw) for draw in DRAWS]
        seconds[name] = time.perf_counter() - start
    classes = None if y.dtype.kind == "f" else len(np.unique(y))
    yield {"rows": len(y), "columns": X.shape[1], "classes": classes, "scores": scores, "seconds": seconds}


def _tabulate(content: Content, size: str, factor: int, digits: int, note: str) -> Table:
    """One row for each data set, and the mean over them; the best two of a row are marked."""
    lines: list[list[str | Cell]] = []
    means = []
    for row in content["rows"]:
        scores = row["accuracies"] if "accuracies" in row else row["scores"]  # the former in older records
        found = [bootstrap_confidence(factor * np.array(of)) for of in scores.values()]
        means.append([one.mean for one in found])
        texts = [f"{one.mean:.{digits}f} ± {one.half_width:.{digits}f}" for one in found]
        lines.append([f"{row['data']} ({size.format(**row)})", *_marked(texts, means[-1])])
    mean = np.mean(means, axis=0)
    lines.append(["mean", *_marked([f"{one:.{digits}f}" for one in mean], mean)])
    note = f"Mean over {len(content['draws'])} draws of the {note}"
    return Table("", ("data set", *scores), (block("", lines),), (note,))


def _marked(texts: Sequence[str], scores: Any) -> list[Cell]:
    """Cells of which those with the two highest scores are marked."""
    ranks = pd.Series(scores).rank(method="first", ascending=False)
    return [Cell(text, int(rank) if rank <= 2 else None) for text, rank in zip(texts, ranks, strict=True)]


FEW_LABELS = MeasuredStudy(
    "few-labels",
    f"Accuracy (%) with {LABELS_PER_CLASS} labels per class",
    "not in the paper",
    tuple(LABELS),
    partial(_measure, samples=LABELS, estimators=CLASSIFIERS),
    partial(
        _tabulate,
        size="{rows:,} rows, {classes} classes",
        factor=100,
        digits=1,
        note="labels ± 95 % half-width, on the unlabelled rows. Every estimator has its defaults and gets standardised "
        "columns.",
    ),
    settings=lambda _: {
        "labels_per_class": LABELS_PER_CLASS,
        "draws": DRAWS,
        "defaults": S2GNNClassifier().get_params(),
    },
)
FEW_VALUES = MeasuredStudy(
    "few-values",
    f"R² with {KNOWN_VALUES} known values",
    "not in the paper",
    tuple(VALUES),
    partial(_measure, samples=VALUES, estimators=REGRESSORS),
    partial(
        _tabulate,
        size="{rows:,} × {columns}",
        factor=1,
        digits=3,
        note=f"{KNOWN_VALUES} known values ± 95 % half-width, on the other rows. Every estimator has its defaults and "
        "gets standardised columns and values. Alcohol and texture are columns of their tables, predicted from the "
        "others.",
    ),
    settings=lambda _: {"known": KNOWN_VALUES, "draws": DRAWS, "defaults": S2GNNRegressor().get_params()},
)
