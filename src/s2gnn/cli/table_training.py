"""How `s2gnn fit` trains: from a table to a fitted model, its scores, and what is said meanwhile."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from s2gnn.cli.memory import expected_text, measured_peak, training_bytes
from s2gnn.data import Table
from s2gnn.estimator import CardScore, ModelCard, S2GNNClassifier, S2GNNRegressor
from s2gnn.estimator.cross_validation import HiddenAnswers, hidden_answers
from s2gnn.estimator.evidence import Evidence
from s2gnn.estimator.scoring import classification_scores, regression_scores
from s2gnn.estimator.table_model import TableModel
from s2gnn.preprocessing import (
    Columns,
    TableEncoder,
    Task,
    choose_columns,
    class_labels,
    quantities,
    read_edges,
    task_of,
)
from s2gnn.progress import progress_bar

# Beyond, only one part of the labels is hidden, because each takes as long as learning itself.
ROWS_FOR_EVERY_FOLD = 20_000


@dataclass(frozen=True)
class Request:
    """What the command line asks for; `None` leaves the choice to the table or to the estimator."""

    label: str
    features: Sequence[str] | None
    task: Task | None
    graph: str | None
    k: int | None
    edges: Path | None
    identifier: str | None
    seed: int
    folds: int


@dataclass(frozen=True)
class Trained:
    """A model and what there is to tell of it.

    Attributes:
        model: fitted.
        columns: what it learned from.
        labelled: the rows that have a label, (N,).
        labels: of these rows, (n,).
        label_counts: how many rows each class has; the least, mean and greatest of quantities.
        graph_kind: of the graph, for people.
        hidden: what was predicted for labels that were hidden; `None` if none was.
        scores: of these predictions.
        seconds: all it took.
        peak: the most memory that the process has had, in bytes; `None` where the system does not tell.
    """

    model: TableModel
    columns: Columns
    labelled: NDArray[np.bool_]
    labels: NDArray[Any]
    label_counts: dict[str, float]
    graph_kind: str
    hidden: HiddenAnswers | None
    scores: tuple[CardScore, ...]
    seconds: float
    peak: int | None


def train(table: Table, request: Request, console: Console) -> Trained:
    """Fit a model on the labelled rows of a table and predict hidden labels."""
    start = time.perf_counter()
    task = request.task or task_of(table, request.label)
    y: NDArray[Any] = (class_labels if task == "classify" else quantities)(table, request.label)
    without = [] if request.identifier is None else [request.identifier]
    columns = choose_columns(table, request.features, label=request.label, without=without)
    given = None if request.edges is None else read_edges(request.edges, table, request.identifier)
    encoder = TableEncoder.fit(table, columns)
    X = encoder.transform(table)
    estimator = _estimator(task, request, verbose=not console.quiet)
    labelled = ~table.missing(request.label)
    console.print(_announcement(X, labelled, estimator), markup=False)
    estimator.fit(X, y, adjacency=given)
    hidden = _hidden_answers(estimator, X, y, request, console) if request.folds >= 2 else None
    estimator.set_params(verbose=False)
    return Trained(
        TableModel(estimator, encoder, request.label, task),
        columns,
        labelled,
        y[labelled],
        _label_counts(y, labelled, task),
        _graph_kind(estimator, request),
        hidden,
        () if hidden is None else _hidden_scores(estimator, y, hidden, task),
        time.perf_counter() - start,
        measured_peak(),
    )


def evidence_of(trained: Trained, table: Table, name: str, card: ModelCard) -> Evidence:
    """What is kept beside a model for its report.

    Args:
        trained: the model.
        table: that it was trained on.
        name: of the table's file.
        card: of the model.
    """
    columns, classes = trained.columns, getattr(trained.model.estimator, "classes_", None)
    return Evidence(
        source=name,
        missing={column: int(table.missing(column).sum()) for column in (*columns.numeric, *columns.categorical)},
        left_out=columns.left_out,
        labelled=np.flatnonzero(trained.labelled),
        targets=trained.labels if classes is None else np.searchsorted(classes, trained.labels),
        hidden=trained.hidden,
        command=card.command or "",
        commit=card.commit,
        versions=card.versions,
    )


def _announcement(X: NDArray[np.float64], labelled: NDArray[np.bool_], estimator: Any) -> str:
    """What is about to be done, and the memory it needs."""
    n, n_features = X.shape
    memory = expected_text(training_bytes(n, n_features, estimator))
    features = "1 feature" if n_features == 1 else f"{n_features:,} features"
    return f"learning from {labelled.sum():,} labels on {n:,} rows with {features}, {memory}"


def _estimator(task: Task, request: Request, *, verbose: bool) -> Any:
    chosen = {"graph": "precomputed" if request.edges else request.graph, "k": request.k}
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    kind = S2GNNClassifier if task == "classify" else S2GNNRegressor
    # The encoder has scaled the features.
    return kind(scale=False, random_state=request.seed, verbose=verbose, **given)


def _hidden_answers(
    estimator: Any, X: NDArray[np.float64], y: NDArray[Any], request: Request, console: Console
) -> HiddenAnswers | None:
    """Predict labels while they are hidden, a part at a time; none if there are too few labels to hide some."""
    evaluated = request.folds if len(X) <= ROWS_FOR_EVERY_FOLD else 1
    console.print(f"hiding {evaluated} of {request.folds} parts of the labels, one by one, and predicting them")
    with progress_bar("predicting hidden labels", shown=not console.quiet and evaluated > 1) as show:
        return hidden_answers(
            estimator.set_params(verbose=not console.quiet and evaluated == 1),
            X,
            y,
            folds=request.folds,
            evaluated=evaluated,
            seed=request.seed,
            on_fold=lambda fold: show((fold + 1) / evaluated),
        )


def _hidden_scores(estimator: Any, y: NDArray[Any], hidden: HiddenAnswers, task: Task) -> tuple[CardScore, ...]:
    how = "predicted from the other labels while they were hidden"
    predicted = hidden.values(getattr(estimator, "classes_", None))
    return (classification_scores if task == "classify" else regression_scores)(y[hidden.rows], predicted, how)


def _label_counts(y: NDArray[Any], labelled: NDArray[np.bool_], task: Task) -> dict[str, float]:
    present = y[labelled]
    if task == "classify":
        classes, counts = np.unique(present.astype(str), return_counts=True)
        return dict(zip(classes.tolist(), counts.tolist(), strict=True))
    return {"least": float(present.min()), "mean": float(present.mean()), "greatest": float(present.max())}


def _graph_kind(estimator: Any, request: Request) -> str:
    if request.edges is not None:
        return f"given by {request.edges}"
    return f"{estimator.graph}, k = {min(estimator.k, estimator.graph_.n_nodes - 1)}"
