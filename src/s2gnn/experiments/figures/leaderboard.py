"""The leaderboard: S2GNNClassifier and S2GNNRegressor next to scikit-learn on many tables with few known targets."""

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC, SVR

from s2gnn.estimator import S2GNNClassifier, S2GNNRegressor
from s2gnn.estimator.blending import fit_temperature, tempered
from s2gnn.experiments.measured import Content, MeasuredStudy, Measurement, Row, block, grouped
from s2gnn.experiments.user_tables import CLASSIFICATION, REGRESSION, load_encoded
from s2gnn.render import Cell, Table

LABELS_PER_CLASS = (5, 10, 25)
KNOWN_VALUES = 50
DRAWS = (0, 1, 2, 3, 4)
MOST_ROWS = 2_000  # rows beyond the labelled ones, drawn again with the labels
BINS = 10  # of the expected calibration error
LARGE_LOSS = 0.03  # of an accuracy or R²
SIMULATIONS = 20  # of perfectly calibrated predictions
RECALIBRATIONS = 5  # each on other labels
RECALIBRATION_SPREAD = 0.5  # of temperatures: of those tried, it leaves the smallest calibration error
CALIBRATION = {  # line of the table: field of a row
    "calibration error": "calibration_error",
    "of perfectly calibrated probabilities": "calibration_floor",
    "after temperature scaling": "recalibrated_error",
}
REFERENCES = {"S2GNNClassifier": ("logistic regression", "random forest"), "S2GNNRegressor": ("ridge", "random forest")}


def _mean_of_two(seed: int) -> VotingClassifier:
    members = [("linear", LogisticRegression()), ("forest", RandomForestClassifier(random_state=seed))]
    return VotingClassifier(members, voting="soft")


# Estimators from a seed. All see the same encoded columns.
CLASSIFIERS: Mapping[str, Callable[[int], Any]] = {
    "S2GNNClassifier": lambda seed: S2GNNClassifier(random_state=seed, scale=False),
    "logistic regression": lambda _: LogisticRegression(),
    "SVC": lambda _: SVC(),
    "random forest": lambda seed: RandomForestClassifier(random_state=seed),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "k-NN": lambda _: KNeighborsClassifier(),
    "MLP": lambda seed: MLPClassifier(random_state=seed),
    "label spreading": lambda _: LabelSpreading(),
    "self-training": lambda _: SelfTrainingClassifier(LogisticRegression()),
    "regression + forest": _mean_of_two,
}
REGRESSORS: Mapping[str, Callable[[int], Any]] = {
    "S2GNNRegressor": lambda seed: S2GNNRegressor(random_state=seed, scale=False),
    "ridge": lambda _: Ridge(),
    "SVR": lambda _: SVR(),
    "kernel ridge": lambda _: KernelRidge(kernel="rbf"),
    "k-NN": lambda _: KNeighborsRegressor(),
    "random forest": lambda seed: RandomForestRegressor(random_state=seed),
    "boosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
}
TRANSDUCTIVE = (S2GNNClassifier, S2GNNRegressor, LabelSpreading, SelfTrainingClassifier)


class Draw(NamedTuple):
    """A table with few known targets: the labelled rows come first."""

    X: NDArray[np.float64]  # (N, M)
    y: NDArray[Any]  # classes 0..C−1 or values, (N,)
    known: int  # the number of labelled rows


# Chooses the labelled rows from the targets (N,), a budget and a random generator.
Choice = Callable[[NDArray[Any], int, np.random.Generator], NDArray[np.int64]]


def class_by_class(y: NDArray[Any], budget: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Choose `budget` rows of each class, at most half of them, or for values `budget` rows in all."""
    if y.dtype.kind == "f":
        return rng.choice(len(y), min(budget, len(y) // 2), replace=False)
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    return np.concatenate([rng.choice(rows, max(1, min(budget, len(rows) // 2)), replace=False) for rows in members])


def any_rows(y: NDArray[np.int64], budget: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Choose `budget` rows for each class, at most half of all, whatever their class is; again if it is one class."""
    while True:
        known = rng.choice(len(y), min(budget * len(np.unique(y)), len(y) // 2), replace=False)
        if len(np.unique(y[known])) > 1:
            return known


def draw_known(
    X: NDArray[np.float64], y: NDArray[Any], budget: int, draw: int, choice: Choice = class_by_class
) -> Draw:
    """Draw the labelled rows and up to 2,000 other rows. Values are standardised by the known ones."""
    rng = np.random.default_rng([draw, budget])
    known = choice(y, budget, rng)
    others = rng.permutation(np.setdiff1d(np.arange(len(y)), known))[:MOST_ROWS]
    rows = np.concatenate([np.sort(known), others])
    varying = X[rows].std(axis=0) > 0
    if y.dtype.kind == "f":
        y = (y - y[known].mean()) / (y[known].std() or 1.0)
    return Draw(X[rows][:, varying], y[rows], len(known))


def answer(estimator: Any, drawn: Draw) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Return the predictions (U,) for the unlabelled rows, and the probabilities of the classes (U, C), if any."""
    X, y, n = drawn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the defaults
        if isinstance(estimator, TRANSDUCTIVE):
            unknown = np.nan if y.dtype.kind == "f" else -1
            estimator.fit(X, np.where(np.arange(len(y)) < n, y, unknown))
        else:
            estimator.fit(X[:n], y[:n])
        predicted = estimator.predict(X[n:])
        if not hasattr(estimator, "predict_proba"):
            return predicted, None
        probabilities = np.zeros((len(X) - n, y.max() + 1))  # 0 for a class without labels
        probabilities[:, estimator.classes_] = estimator.predict_proba(X[n:])
    # Label spreading has none where no label reaches a row: it guesses.
    return predicted, np.nan_to_num(probabilities, nan=1 / len(estimator.classes_))


def expected_calibration_error(confidence: NDArray[np.float64], correct: NDArray[np.bool_]) -> float:
    """Return the mean over rows (n,) of |accuracy − mean confidence| in their bin; ten bins of equal width."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, correct - confidence, minlength=BINS)
    return float(np.abs(gaps).sum() / len(confidence))


def calibration_floor(confidence: NDArray[np.float64]) -> float:
    """Return the expected calibration error of perfectly calibrated probabilities on the same rows (n,), by simulation.

    Few rows in a bin have an accuracy that differs from their mean confidence by chance alone.
    """
    draws = np.random.default_rng(0).random((SIMULATIONS, len(confidence)))
    return float(np.mean([expected_calibration_error(confidence, draw < confidence) for draw in draws]))


def recalibrated_error(probabilities: NDArray[np.float64], truth: NDArray[np.int64], further: int) -> float:
    """Return the calibration error of the rows (U,) if `further` of them had labels, which set the temperature.

    Shows how well that number of labels can calibrate: mean over several choices of the rows, error on the others.
    """
    rng, errors = np.random.default_rng(0), []
    for _ in range(RECALIBRATIONS):
        order = rng.permutation(len(truth))
        known, others = order[:further], order[further:]
        temperature = fit_temperature(probabilities[known], truth[known], RECALIBRATION_SPREAD)
        calm = tempered(probabilities[others], temperature)
        errors.append(expected_calibration_error(calm.max(axis=1), calm.argmax(axis=1) == truth[others]))
    return float(np.mean(errors))


def _measure(
    at: Measurement, estimators: Mapping[str, Callable[[int], Any]], budgets: Sequence[int], choice: Choice
) -> Iterator[Row]:
    """Yield one row for each number of known targets."""
    X, y = load_encoded(at.data)
    values = y.dtype.kind == "f"
    for budget in budgets:
        scores, calibration, start = list[float](), defaultdict[str, list[float]](list), time.perf_counter()
        for draw in DRAWS:
            drawn = draw_known(X, y, budget, draw, choice)
            truth = drawn.y[drawn.known :]
            predicted, probabilities = answer(estimators[at.model](draw), drawn)
            scores.append(float(r2_score(truth, predicted) if values else np.mean(predicted == truth)))
            if probabilities is not None:
                confidence, further = probabilities.max(axis=1), min(drawn.known, len(truth) // 2)
                calibration["calibration_error"].append(expected_calibration_error(confidence, predicted == truth))
                calibration["calibration_floor"].append(calibration_floor(confidence))
                calibration["recalibrated_error"].append(recalibrated_error(probabilities, truth, further))
        yield {
            "known": budget,
            "rows": len(y),
            "columns": X.shape[1],
            "classes": None if values else len(np.unique(y)),
            "scores": scores,
            **{name: float(np.mean(calibration[name])) if calibration else None for name in CALIBRATION.values()},
            "seconds": time.perf_counter() - start,
        }


def by_table(rows: Sequence[Row], methods: Sequence[str], factor: int) -> dict[str, pd.DataFrame]:
    """Return mean scores × `factor` and measures of calibration at one number of targets, each (tables, methods)."""
    unknown = dict.fromkeys(CALIBRATION.values())  # of records from before a measure was added
    flat = pd.DataFrame([{**unknown, **row, "score": factor * np.mean(row["scores"])} for row in rows])
    return {
        field: flat.pivot(index="data", columns="model", values=field).reindex(columns=list(methods)).astype(float)
        for field in ("score", *CALIBRATION.values())
    }


def _tabulate(content: Content, methods: Sequence[str], heading: str, factor: int, digits: int, note: str) -> Table:
    """Summarise the tables that all methods have at each number of known targets; then list every table, folded."""
    summaries, details = [], []
    for known, rows in grouped(content["rows"], "known").items():
        frames = by_table(rows, methods, factor)
        complete = frames["score"].dropna()
        if len(complete):
            lines = _summary(complete, REFERENCES[methods[0]], LARGE_LOSS * factor, digits)
            for name, field in CALIBRATION.items():
                means = frames[field].loc[complete.index].mean()
                lines += [[name, *_texts(means, 3)]] if means.notna().any() else []
            summaries.append(block(heading.format(known), lines))
        every: list[list[str | Cell]] = [[str(name), *_marked(row, digits)] for name, row in frames["score"].iterrows()]
        details.append(block(f"{heading.format(known)}: every table", every, folded=True))
    notes = (note.format(len(content["draws"]), content["most_rows"]),)
    return Table("", ("", *methods), (*summaries, *details), notes)


def _summary(scores: pd.DataFrame, references: tuple[str, str], large: float, digits: int) -> list[list[str | Cell]]:
    """Return mean ranks, mean scores, and losses against the better of two references; scores: (tables, methods)."""
    losses = scores[list(references)].max(axis=1).to_numpy()[:, None] - scores
    return [
        ["mean rank", *_marked(scores.rank(axis=1, ascending=False).mean(), 2, smallest=True)],
        [f"mean of {len(scores)} tables", *_marked(scores.mean(), digits)],
        [
            f"largest loss against the better of {' and '.join(references)}",
            *_texts(losses.max().clip(lower=0) + 0.0, digits),  # no −0.0
        ],
        [f"tables with a loss of more than {large:.{digits}g}", *_texts((losses > large).sum(), 0)],
    ]


def _texts(numbers: "pd.Series[float]", digits: int) -> list[str]:
    return ["–" if np.isnan(number) else f"{number:.{digits}f}" for number in numbers]


def _marked(scores: "pd.Series[float]", digits: int, *, smallest: bool = False) -> list[Cell]:
    """Return cells of which the best two are marked."""
    ranks = scores.rank(method="first", ascending=smallest)
    texts = _texts(scores, digits)
    return [Cell(text, int(rank) if rank <= 2 else None) for text, rank in zip(texts, ranks, strict=True)]


def _leaderboard(
    name: str,
    title: str,
    data: tuple[str, ...],
    estimators: Mapping[str, Any],
    budgets: tuple[int, ...],
    defaults: Mapping[str, Any],
    choice: Choice = class_by_class,
    **shown: Any,
) -> MeasuredStudy:
    """Return the study of all `estimators` on the tables `data`; `shown` are arguments of `_tabulate`."""
    methods = tuple(estimators)
    return MeasuredStudy(
        name,
        title,
        "not in the paper",
        data,
        partial(_measure, estimators=estimators, budgets=budgets, choice=choice),
        partial(_tabulate, methods=methods, **shown),
        settings=lambda _: {"draws": DRAWS, "most_rows": MOST_ROWS, "defaults": dict(defaults)},
        models=methods,
    )


_CLASSES_NOTE = (
    "Mean over {} draws of the labels, on at most {:,} unlabelled rows of each table. Every method has its "
    "defaults and the same encoded columns. Calibration error: expected calibration error with ten bins, mean over "
    "tables. Even perfectly calibrated probabilities have an error above 0, since bins have few rows. For temperature "
    "scaling, the temperature is fitted to additional labels, as many as the training labels; the error is that of the "
    "remaining rows."
)
LEADERBOARD = _leaderboard(
    "leaderboard",
    "Accuracy (%) with few labels per class",
    (*CLASSIFICATION, "iris", "wine", "breast cancer", "digits"),
    CLASSIFIERS,
    LABELS_PER_CLASS,
    S2GNNClassifier().get_params(),
    heading="{} labels per class",
    factor=100,
    digits=1,
    note=_CLASSES_NOTE,
)
RANDOM_LEADERBOARD = _leaderboard(
    "leaderboard-random",
    "Accuracy (%) with few labels of random rows",
    LEADERBOARD.data,
    CLASSIFIERS,
    (10,),
    S2GNNClassifier().get_params(),
    any_rows,
    heading="{} labels per class on average, of random rows",
    factor=100,
    digits=1,
    note=_CLASSES_NOTE,
)
VALUES_LEADERBOARD = _leaderboard(
    "leaderboard-values",
    f"R² with {KNOWN_VALUES} known values",
    (*REGRESSION, "diabetes"),
    REGRESSORS,
    (KNOWN_VALUES,),
    S2GNNRegressor().get_params(),
    heading="{} known values",
    factor=1,
    digits=3,
    note="Mean over {} draws of the known values, on at most {:,} other rows of each table. Every method has its "
    "defaults and the same encoded columns; values are standardised.",
)
