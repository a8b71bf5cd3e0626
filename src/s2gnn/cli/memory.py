"""Memory and time of `s2gnn fit` and `s2gnn predict`: estimates before they start, and the measured peak."""

import sys
from typing import Any

from s2gnn.estimator import TableModel
from s2gnn.estimator.members import VALUES_AT_ONCE
from s2gnn.estimator.training import number_of_networks
from s2gnn.resources import available_bytes, peak_bytes

# Bytes: libraries not loaded yet, and memory that they do not return.
LEAST_OVERHEAD, LARGEST_OVERHEAD = 2**27, 300 * 2**20
EXACT_SEARCH = 50_000  # rows; beyond, neighbours are searched approximately
MEASURABLE = sys.platform != "win32"


def size_text(n_bytes: int) -> str:
    """A number of bytes as text."""
    return f"{n_bytes / 2**30:.1f} GiB" if n_bytes >= 2**29 else f"{max(1, round(n_bytes / 2**20))} MiB"


def measured_peak() -> int | None:
    """The peak memory of this process so far, in bytes; `None` where the system does not report it."""
    return peak_bytes() if MEASURABLE else None


def expected_text(further: int) -> str:
    """The expected peak memory if `further` bytes are allocated, and how much is available."""
    expected = f"expected peak memory {size_text(further + (measured_peak() or 0))}"
    if sys.platform != "linux":
        return expected
    available = available_bytes()
    if further > available:
        return f"{expected}, but only {size_text(available)} more is available: use fewer columns or rows"
    return f"{expected} ({size_text(available)} more is available)"


def training_bytes(n: int, n_features: int, estimator: Any) -> int:
    """An upper estimate of the memory that fitting needs besides the table, in bytes."""
    p = estimator.get_params()
    width = max(n_features, p["hidden_channels"])
    # As given, scaled, as scores, weighted, as the networks see them, centred for the search, what the search keeps.
    features = 7 * 8 * n_features
    graph = 3 * 16 * 3 * p["k"]
    layers = 4 * 4 * (p["alpha"] + 1) * width * p["num_layers"]  # in and out of every branch, and the gradient
    states = (
        4
        * number_of_networks(p["n_networks"], n, alone=p["network"] == "s2gnn")
        * p["hidden_channels"]
        * (p["num_layers"] - 1)
    )
    return int(n * (features + graph + layers + states) + LEAST_OVERHEAD + min(n * 2**15, LARGEST_OVERHEAD))


def training_seconds(n: int, n_features: int, n_labelled: int, passes: int, *, searched: bool) -> float:
    """An estimate of the processor time of fitting a k-NN or a given graph, in seconds on one core.

    Fitted to nine tables of 300 to 45,000 rows, 10 to 100 columns and 30 to 2,000 labels, and one of 100,000 rows.

    Args:
        n: number of rows.
        n_features: number of features.
        n_labelled: number of labelled rows.
        passes: how often the members are learned: from all labels, and once for each hidden fold.
        searched: whether neighbours are searched in each pass.
    """
    search = 1e-10 * n_features * n**2 if n <= EXACT_SEARCH else 6e-6 * n_features * n
    return passes * (0.25 + 1.2e-4 * n + 4.6e-4 * n_labelled + (search if searched else 0.0))


def prediction_bytes(rows: int, model: TableModel) -> int:
    """An upper estimate of the memory that predicting needs besides the table and the model, in bytes."""
    n, n_features = model.estimator.graph_.n_nodes, model.encoder.n_features
    features = 3 * 8 * n_features * (rows + n)  # encoded, and centred for the search on both sides
    return int(features + 6 * 8 * VALUES_AT_ONCE)
