"""What few known values are worth: S2GNNRegressor with its defaults beside scikit-learn's methods with theirs."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_wine,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from s2gnn.data import load_dataset
from s2gnn.estimator import S2GNNRegressor
from s2gnn.learning.metrics import bootstrap_confidence
from s2gnn.render import Block, Cell, Table
from s2gnn.studies.few_labels import ranks
from s2gnn.studies.measured import MeasuredStudy, Report

KNOWN = 50
# The defaults of the estimator were chosen on draws from 100 on.
DRAWS = (0, 1, 2, 3, 4)

Samples = tuple[NDArray[np.float64], NDArray[np.float64]]


def _column(table: Any, name: str) -> Samples:
    """One column of a table that comes with scikit-learn, from all others."""
    place = list(table.feature_names).index(name)
    return np.delete(table.data, place, axis=1), table.data[:, place]


def _histology() -> Samples:
    features = np.asarray(load_dataset("cancer-b").x, dtype=np.float64)
    return features[:, 1:], features[:, 0]


DATA: Mapping[str, Callable[[], Samples]] = MappingProxyType(
    {
        "diabetes": lambda: load_diabetes(return_X_y=True),
        "wine alcohol": lambda: _column(load_wine(), "alcohol"),
        "breast cancer texture": lambda: _column(load_breast_cancer(), "mean texture"),
        "cancer-b texture": _histology,
        "friedman1": lambda: make_friedman1(1000, noise=1.0, random_state=0),
        "friedman2": lambda: make_friedman2(1000, noise=100.0, random_state=0),
        "friedman3": lambda: make_friedman3(1000, noise=0.1, random_state=0),
    }
)
METHODS: Mapping[str, Callable[[int], Any]] = MappingProxyType(
    {
        "S2GNNRegressor": lambda draw: S2GNNRegressor(random_state=draw),
        "KNeighborsRegressor": lambda _: KNeighborsRegressor(),
        "Ridge": lambda _: Ridge(),
        "SVR": lambda _: SVR(),
        "KernelRidge (RBF)": lambda _: KernelRidge(kernel="rbf"),
    }
)


@dataclass(frozen=True)
class FewValuesRow:
    """A table: by method R² on the rows whose value is hidden, one number for each draw, and all seconds."""

    data: str
    rows: int
    columns: int
    scores: dict[str, list[float]]
    seconds: dict[str, float]


def draw_values(y: NDArray[np.float64], draw: int) -> NDArray[np.float64]:
    """`y` (N,) at 50 rows, drawn from the seed `draw`, and NaN elsewhere."""
    known = np.random.default_rng(draw).choice(len(y), KNOWN, replace=False)
    partial = np.full(len(y), np.nan)
    partial[known] = y[known]
    return partial


def measure(data: str, draws: tuple[int, ...]) -> FewValuesRow:
    """Run every method on every draw of values."""
    X, y = DATA[data]()
    scores: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    for method in METHODS:
        start = time.perf_counter()
        scores[method] = [_score(method, X, y, draw) for draw in draws]
        seconds[method] = time.perf_counter() - start
    return FewValuesRow(data, X.shape[0], X.shape[1], scores, seconds)


def _score(method: str, X: NDArray[np.float64], y: NDArray[np.float64], draw: int) -> float:
    """R² of a method on hidden values; all but the estimator, which does so itself, get standardised columns."""
    partial = draw_values(y, draw)
    hidden = np.isnan(partial)
    model = METHODS[method](draw)
    if method == "S2GNNRegressor":
        predicted = model.fit(X, partial).transduction_
    else:
        scaled = StandardScaler().fit_transform(X)
        standardised = TransformedTargetRegressor(model, transformer=StandardScaler())
        predicted = standardised.fit(scaled[~hidden], y[~hidden]).predict(scaled)
    return float(r2_score(y[hidden], predicted[hidden]))


def _measure(data: Sequence[str] | None, report: Report) -> dict[str, Any]:
    rows = []
    for name in data or tuple(DATA):
        report(name)
        rows.append(asdict(measure(name, DRAWS)))
    return {"known": KNOWN, "draws": DRAWS, "defaults": S2GNNRegressor().get_params(), "rows": rows}


def _layout(content: Mapping[str, Any]) -> Table:
    """One row for each table, and the mean over them."""
    rows = [FewValuesRow(**row) for row in content["rows"]]
    lines = [_line(row) for row in rows]
    means = [float(np.mean([np.mean(row.scores[method]) for row in rows])) for method in METHODS]
    lines.append((Cell("mean"), *map(Cell, (f"{mean:.3f}" for mean in means), ranks(means))))
    note = (
        f"Mean over {len(content['draws'])} draws of {content['known']} rows whose value is known ± 95 % half-width, "
        "on the other rows. Every method has its defaults and sees standardised columns and values. Alcohol and "
        "texture are columns of their tables, predicted from the others."
    )
    return Table("", ("table", *METHODS), (Block("", tuple(lines)),), (note,))


def _line(row: FewValuesRow) -> tuple[Cell, ...]:
    scores = [bootstrap_confidence(row.scores[method]) for method in METHODS]
    texts = (f"{score.mean:.3f} ± {score.half_width:.3f}" for score in scores)
    return Cell(f"{row.data} ({row.rows:,} × {row.columns})"), *map(Cell, texts, ranks([s.mean for s in scores]))


STUDY = MeasuredStudy("few-values", "R² with 50 known values", "not in the paper", tuple(DATA), _measure, _layout)
