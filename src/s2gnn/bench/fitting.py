"""Time and memory of fitting `S2GNNClassifier` on growing tables, compared with the estimates of `s2gnn fit`."""

import os
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification

from s2gnn.bench.record import Row
from s2gnn.estimator import S2GNNClassifier
from s2gnn.estimator.evaluation import number_of_folds
from s2gnn.estimator.expected import training_bytes, training_seconds
from s2gnn.estimator.transductive import FOLDS
from s2gnn.resources import in_own_process, peak_bytes

SIZES = ((2_000, 30, 200), (20_000, 20, 1_000), (100_000, 20, 1_000), (1_000_000, 20, 1_000))  # rows, columns, labels


def time_fits(most: int) -> Iterator[Row]:
    """Measure every size of at most `most` rows, each in a separate process."""
    for rows, columns, labels in SIZES:
        if rows <= most:
            yield in_own_process(time_fit, rows, columns, labels)


def random_table(rows: int, columns: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return columns (rows, columns) and four classes (rows,) that depend on half of them; 5 % are exchanged."""
    X, y = make_classification(
        rows, columns, n_informative=columns // 2, n_classes=4, n_clusters_per_class=1, flip_y=0.05, random_state=0
    )
    return X, y


def time_fit(rows: int, columns: int, labels: int) -> Row:
    """Fit a random table of four classes, with evaluation on hidden labels and calibration, in this process."""
    X, y = random_table(rows, columns)
    known = np.where(np.arange(rows) < labels, y, -1)
    classifier, before = S2GNNClassifier(random_state=0), peak_bytes()
    wall, start = time.perf_counter(), _processor_seconds()
    classifier.fit(X, known)
    return {
        "rows": rows,
        "columns": columns,
        "labels": labels,
        "seconds": time.perf_counter() - wall,
        "processor_seconds": _processor_seconds() - start,
        "peak_bytes": peak_bytes(),
        "expected_bytes": before + training_bytes(rows, columns, classifier),
        "accuracy": float(np.mean((classifier.transduction_ == y)[labels:])),
    }


def estimated_seconds(row: Row) -> float:
    """Return the processor time that `s2gnn fit` announces for a measured table."""
    rows = row["rows"]
    return training_seconds(rows, row["columns"], row["labels"], 1 + number_of_folds(FOLDS, rows), searched=True)


def _processor_seconds() -> float:
    used = os.times()
    return used.user + used.system
