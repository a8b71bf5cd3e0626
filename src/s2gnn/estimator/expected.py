"""The memory and time that fitting an estimator is expected to take."""

from typing import Any

from s2gnn.estimator.training import number_of_networks
from s2gnn.graphs.neighbours import EXACT_UP_TO

# Bytes: libraries not loaded yet, and memory that they do not return.
LEAST_OVERHEAD, LARGEST_OVERHEAD = 2**27, 300 * 2**20


def training_bytes(n: int, n_features: int, estimator: Any) -> int:
    """Estimate, from above, the memory that fitting needs in addition to the table, in bytes."""
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
    """Estimate the processor time of fitting with a k-NN or a given graph, in seconds on one core.

    Fitted to nine tables of 300 to 45,000 rows, 10 to 100 columns and 30 to 2,000 labels, and two of 100,000 and
    1,000,000 rows, whose neighbours are searched in about √n cells.

    Args:
        n: number of rows.
        n_features: number of features.
        n_labelled: number of labelled rows.
        passes: how often the members are trained: once on all labels, and once for each hidden fold.
        searched: whether neighbours are searched in each pass.
    """
    search = 1e-10 * n_features * n**2 if n <= EXACT_UP_TO else 1.9e-8 * n_features * n**1.5
    return passes * (0.25 + 1.2e-4 * n + 4.6e-4 * n_labelled + (search if searched else 0.0))
