"""The warning that all Hadamard powers of a given graph are the same operator: once per fit, not once per operator."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from s2gnn.errors import IdenticalBranchesWarning
from s2gnn.graphs import Graph
from s2gnn.operators.shifts import hadamard_factors


def warn_if_identical(graph: Graph, alpha: int, epsilon: float) -> None:
    """Warn the caller of `fit` if the powers of the graph of the rows coincide."""
    if alpha > 1 and hadamard_factors(graph, alpha, epsilon, "adjacency").identical:
        warnings.warn(
            f"all edges of the graph have the same weight, so that its {alpha} Hadamard powers are the same operator; "
            "weights would let S2-GNN tell strong edges from weak ones: add a column of weights to a list of edges, or "
            "compute them with s2gnn.graphs.weights",
            IdenticalBranchesWarning,
            stacklevel=4,
        )


@contextmanager
def no_warning() -> Iterator[None]:
    """Build operators without that warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdenticalBranchesWarning)
        yield
