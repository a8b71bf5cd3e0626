"""Simulated labelling: how many labels a strategy saves compared with labelling rows at random."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import isotonic_regression
from sklearn.linear_model import LogisticRegression

from s2gnn.experiments.measured import Content, MeasuredStudy, Measurement, Row, block, grouped
from s2gnn.experiments.user_tables import load_encoded
from s2gnn.labelling.rounds import RoundClassifier
from s2gnn.labelling.strategies import STRATEGIES, margins, suggest
from s2gnn.pictures import PALETTE, add_legend, name_rows, panel_grid
from s2gnn.render import Table

# The tables of up to 2,000 rows.
TABLES = (
    "anneal", "authorship", "beps", "blood_transfusion", "brown_yeast", "chowdary", "credit_german", "cylinder_bands",
    "dhfr", "glaucoma", "hepatitis", "libras", "mfeat_fourier", "musk", "oil_spill", "orange_juice", "promoters",
    "scat", "sonar", "tae", "tic_tac_toe", "vehicle", "vote", "wifi", "yeast",
)  # fmt: skip
DRAWS = (0, 1, 2, 3, 4)
START = 2  # labels of each class
MOST = 100  # labels, but at most half of the rows that may be labelled
FINE, COARSE = 5, 10  # labels a round, as in `s2gnn label`; more of them from 40 labels on, to save time
MANY = 40
LARGE_LOSS = 0.01  # of the area
DEFAULT = "S2-GNN: auto"


class Pool(NamedTuple):
    """A table whose rows are labelled step by step."""

    X: NDArray[np.float64]  # (N, M)
    y: NDArray[np.int64]  # (N,)
    tested: NDArray[np.int64]  # the rows on which the accuracy is measured, which are never labelled
    open: NDArray[np.int64]  # the rows that may be labelled


# Given labelled rows and a number of further rows: the classes predicted for the tested rows, and rows to label next.
Method = Callable[[Pool, NDArray[np.int64], int, int], tuple[NDArray[np.int64], NDArray[np.int64]]]


def _s2gnn(pool: Pool, labelled: NDArray[np.int64], n: int, draw: int, strategy: Any) -> Any:
    """Return the classifier and a strategy of `s2gnn label`; no labels are hidden, so that a round is one fit."""
    y = np.full(len(pool.y), -1)
    y[labelled] = pool.y[labelled]
    fitted = RoundClassifier(random_state=draw, scale=False).fit(pool.X, y)
    predicted = fitted.transduction_[pool.tested]
    if strategy == "random":
        return predicted, _at_random(pool, labelled, n, draw)
    return predicted, suggest(fitted, n, strategy=strategy, without=pool.tested)


def _sklearn(
    pool: Pool, labelled: NDArray[np.int64], n: int, draw: int, make: Callable[[int], Any], *, margin: bool
) -> Any:
    """Return a classifier of scikit-learn, and the rows with the smallest margins or any."""
    fitted = make(draw).fit(pool.X[labelled], pool.y[labelled])
    predicted = fitted.predict(pool.X[pool.tested])
    if not margin:
        return predicted, _at_random(pool, labelled, n, draw)
    rows = np.setdiff1d(pool.open, labelled)
    return predicted, rows[np.argsort(margins(fitted.predict_proba(pool.X[rows])), kind="stable")[:n]]


def _at_random(pool: Pool, labelled: NDArray[np.int64], n: int, draw: int) -> NDArray[np.int64]:
    return np.random.default_rng([draw, len(labelled)]).permutation(np.setdiff1d(pool.open, labelled))[:n]


CLASSIFIERS: Mapping[str, Callable[[int], Any]] = {
    "logistic regression": lambda _: LogisticRegression(),
    "random forest": lambda seed: RandomForestClassifier(random_state=seed),
}
METHODS: Mapping[str, Method] = {
    **{f"S2-GNN: {name}": partial(_s2gnn, strategy=name) for name in STRATEGIES},
    **{
        f"{name}: {'margin' if margin else 'random'}": partial(_sklearn, make=make, margin=margin)
        for name, make in CLASSIFIERS.items()
        for margin in (True, False)
    },
}


def draw_pool(X: NDArray[np.float64], y: NDArray[np.int64], draw: int) -> tuple[Pool, NDArray[np.int64]]:
    """Return a third of the rows to test on, the others to label, and the first labelled rows: two of each class."""
    rng = np.random.default_rng(draw)
    order = rng.permutation(len(y))
    tested, rows = np.sort(order[: len(y) // 3]), order[len(y) // 3 :]
    start = np.concatenate([rows[y[rows] == label][:START] for label in np.unique(y)])
    return Pool(X, y, tested, np.sort(rows)), start


def labels_of_rounds(first: int, most: int) -> list[int]:
    """Return the number of labels in each round, from the `first` to the last with the `most` labels."""
    rounds = [first]
    while rounds[-1] < most:
        rounds.append(min(rounds[-1] + (FINE if rounds[-1] < MANY else COARSE), most))
    return rounds


def learning_curve(method: Method, pool: Pool, start: NDArray[np.int64], draw: int) -> tuple[list[int], list[float]]:
    """Return the number of labels and the accuracy in each round, with up to 100 labels or half of the pool."""
    rounds = labels_of_rounds(len(start), min(MOST, len(pool.open) // 2))
    labelled, accuracies = start, []
    for wanted in [*rounds[1:], rounds[-1] + 1]:  # what the last round would choose is not used
        predicted, chosen = method(pool, labelled, wanted - len(labelled), draw)
        accuracies.append(float(np.mean(predicted == pool.y[pool.tested])))
        labelled = np.concatenate([labelled, chosen])
    return rounds, accuracies


def _measure(at: Measurement) -> Iterator[Row]:
    X, y = load_encoded(at.data)
    start, curves = time.perf_counter(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the defaults
        for draw in DRAWS:
            curves.append(learning_curve(METHODS[at.model], *draw_pool(X, y, draw), draw))
    yield {
        "rows": len(y),
        "labels": [labels for labels, _ in curves],
        "accuracies": [accuracies for _, accuracies in curves],
        "seconds": time.perf_counter() - start,
    }


def area(labels: NDArray[np.float64], accuracies: NDArray[np.float64]) -> float:
    """Return the mean height of a learning curve."""
    span = labels[-1] - labels[0]
    return float(np.trapezoid(accuracies, labels) / span) if span else float(accuracies[0])


def labels_needed(labels: NDArray[np.float64], accuracies: NDArray[np.float64], wanted: float) -> float:
    """Return the number of labels at which a learning curve first reaches an accuracy; infinite if it never does."""
    reached = np.flatnonzero(accuracies >= wanted)
    if not len(reached):
        return np.inf
    last = slice(max(reached[0] - 1, 0), reached[0] + 1)
    return float(np.interp(wanted, accuracies[last], labels[last]))


def _mean_curve(row: Row) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean numbers of labels and accuracies over draws; a class that is rare in the pool starts with fewer."""
    labels = np.unique(np.concatenate(row["labels"]))
    labels = labels[(labels >= max(map(min, row["labels"]))) & (labels <= min(map(max, row["labels"])))]
    curves = [np.interp(labels, *each) for each in zip(row["labels"], row["accuracies"], strict=True)]
    return labels, np.mean(curves, axis=0)


def _compared(content: Content) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Return by method and table the area, its lead over random, and the labels needed per label of random.

    Random is that of the same classifier. The accuracy to reach is the one it ends with. Labels are counted on curves
    made monotone by isotonic regression, so that chance in a single round does not decide.
    """
    found: dict[str, dict[str, tuple[float, float, float]]] = {}
    for data, rows in grouped(content["rows"], "data").items():
        curves = {row["model"]: _mean_curve(row) for row in rows}
        for model, curve in curves.items():
            random = curves.get(f"{model.split(':')[0]}: random")
            if random is None:
                continue
            (labels, rising), (of_random, rising_random) = ((n, isotonic_regression(a)) for n, a in (curve, random))
            wanted = float(rising_random[-1])
            share = labels_needed(labels, rising, wanted) / labels_needed(of_random, rising_random, wanted)
            found.setdefault(model, {})[data] = (area(*curve), area(*curve) - area(*random), share)
    return found


def _together(compared: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the methods that are measured on most of the tables, and the tables that all of them have."""
    most = max(map(len, compared.values()), default=0)
    methods = [name for name in METHODS if 2 * len(compared.get(name, ())) > most]
    return methods, [data for data in TABLES if methods and all(data in compared[name] for name in methods)]


def _tabulate(content: Content) -> Table:
    """Return a summary of the tables that the methods have in common; then the lead on every table, folded."""
    compared = _compared(content)
    methods, common = _together(compared)
    blocks, findings = [], []
    if common:
        found = np.array([[compared[name][data] for data in common] for name in methods])  # (methods, tables, 3)
        areas, leads, shares = np.moveaxis(found, 2, 0)
        summary = {
            "area under the learning curve (%)": [f"{100 * one.mean():.1f}" for one in areas],
            "points above random": [f"{100 * one.mean():+.1f}" for one in leads],
            "the same on the worst table": [f"{100 * one.min():+.1f}" for one in leads],
            "tables more than a point below random": [str(np.sum(one < -LARGE_LOSS)) for one in leads],
            "labels needed, compared with random's, median": [_percent(float(np.median(one))) for one in shares],
        }
        every = [[data, *(f"{100 * lead:+.1f}" for lead in leads[:, i])] for i, data in enumerate(common)]
        blocks = [
            block(
                "1 table" if len(common) == 1 else f"{len(common)} tables",
                [[name, *texts] for name, texts in summary.items()],
            ),
            block("Points above random: every table", every, folded=True),
        ]
        if DEFAULT in methods:
            ours = methods.index(DEFAULT)
            findings = [
                f"{DEFAULT}, the default: {100 * leads[ours].mean():+.1f} points compared with labelling rows at "
                f"random, {100 * leads[ours].min():+.1f} on the worst table; labels needed: "
                f"{_percent(float(np.median(shares[ours])))} of random's in the median."
            ]
    notes = (
        *findings,
        f"Mean over {len(content['draws'])} draws, from {content['start']} labels of each class to {content['most']} "
        f"labels, at most half of the rows that may be labelled; trained again after every {FINE} labels, from {MANY} "
        f"labels on after every {COARSE}. Area: the mean height of the learning curve on a third of the rows, which is "
        "never labelled. Random is that of the same classifier; labels needed are those for the accuracy that it ends "
        "with, on curves made monotone by isotonic regression.",
    )
    return Table("", ("", *methods), tuple(blocks), notes)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if np.isfinite(share) else "not reached"


def _draw(content: Content) -> Figure:
    """Draw the mean lead over random by number of labels on the left, and the labels that each table needs."""
    figure, (left, right), _ = panel_grid(2, 2, 3.4)
    curves = {(row["model"], row["data"]): _mean_curve(row) for row in content["rows"]}
    grid = np.arange(10, MOST + 1)
    compared = _compared(content)
    methods, common = _together(compared)
    strategies = [name for name in methods if name.startswith("S2-GNN") and not name.endswith("random")]
    for place, name in enumerate(strategies):
        leads = [
            np.interp(grid, *curves[name, data], np.nan, np.nan)
            - np.interp(grid, *curves["S2-GNN: random", data], np.nan, np.nan)
            for data in common
        ]
        mean, width = 100 * np.ma.masked_invalid(leads).mean(axis=0), 2.2 if name == DEFAULT else 1.2
        left.plot(grid, mean, color=PALETTE[place], linewidth=width, label=name)
    left.axhline(0, color="0.6", linewidth=0.8, label="S2-GNN: random")
    left.set_xlabel("labels")
    left.set_ylabel("points of accuracy above random")
    needed = sorted((share, data) for data, (_, _, share) in compared.get(DEFAULT, {}).items())
    most = 1.5  # beyond, or never reached, dots are on the edge
    if needed:  # an empty line that is not clipped has no extent, so that nothing could be laid out
        right.plot([min(share, most) for share, _ in needed], range(len(needed)), "o", color=PALETTE[0], clip_on=False)
    right.axvline(1, color="0.6", linewidth=0.8)
    right.set_xlim(0, most)
    right.set_xticks([0, 0.5, 1, most], ["0", "50 %", "100 %", "150 %\nor more"])
    name_rows(right, [data for _, data in needed])
    right.set_xlabel(f"labels needed by {DEFAULT}, compared with random")
    add_legend(figure, None, left.lines)
    return figure


ACTIVE_LEARNING = MeasuredStudy(
    "active-learning",
    "Simulated labelling: accuracy by number of labels",
    "not in the paper",
    TABLES,
    _measure,
    _tabulate,
    _draw,
    settings=lambda _: {"draws": DRAWS, "start": START, "most": MOST, "rounds": (FINE, COARSE)},
    models=tuple(METHODS),
)
