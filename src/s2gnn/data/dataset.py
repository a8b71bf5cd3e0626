"""Data sets: `Dataset` for the rows of a table or graph, `GraphCollection` for many graphs."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.graphs import DisjointUnion, Graph


@dataclass(frozen=True, eq=False)
class Dataset:
    """A preprocessed data set for node classification.

    Attributes:
        name: the name in `load_dataset`.
        x: features (N, M), a float64 array or, for bags of words, a SciPy CSR array.
        y: classes 0..C-1 (N,), or several labels of 0 and 1 (N, L).
        class_names: the C classes or L labels in the order of `y`.
        graph: the given graph on the N rows; `None` if a graph must be built from `x`.
        source: the source of the data.
        labelled: (N,), false for rows without a label, where `y` is 0 and meaningless.
    """

    name: str
    x: Any
    y: NDArray[np.int64]
    class_names: tuple[str, ...]
    graph: Graph | None
    source: str
    labelled: NDArray[np.bool_]

    def __post_init__(self) -> None:
        n = self.x.shape[0]
        if len(self.y) != n or self.labelled.shape != (n,) or (self.graph is not None and self.graph.n_nodes != n):
            nodes = "no graph" if self.graph is None else f"a graph of {self.graph.n_nodes} nodes"
            raise InputError(
                f"{self.name} has {n} rows, {len(self.y)} labels, {len(self.labelled)} marks and {nodes}: "
                "all must agree"
            )

    @property
    def several_labels(self) -> bool:
        """Whether a row may have several labels, so that `y` is (N, L)."""
        return self.y.ndim == 2

    def restricted(self, rows: NDArray[np.int64], graph: Graph | None) -> "Dataset":
        """Return the data set of the chosen `rows` (n,) only, with their `graph`."""
        return replace(self, x=self.x[rows], y=self.y[rows], labelled=self.labelled[rows], graph=graph)


@dataclass(frozen=True, eq=False)
class GraphCollection:
    """A data set of G graphs with N nodes in total.

    Attributes:
        name: the name in `load_collection`.
        union: the disjoint union of the graphs.
        x: features of the nodes (N, M), float64.
        y: the class of every graph, 0..C-1, (G,).
        class_names: the C classes in the order of `y`.
        source: the source of the data.
    """

    name: str
    union: DisjointUnion
    x: NDArray[np.float64]
    y: NDArray[np.int64]
    class_names: tuple[str, ...]
    source: str

    def __post_init__(self) -> None:
        nodes, graphs = self.union.graph.n_nodes, self.union.n_graphs
        if len(self.x) != nodes or len(self.y) != graphs:
            raise InputError(
                f"{self.name} has {graphs} graphs with {nodes} nodes, but {len(self.y)} labels and {len(self.x)} rows "
                "of features: all must agree"
            )

    @property
    def several_labels(self) -> bool:
        """False: a graph has one class."""
        return False

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """All true: every graph has a class, (G,)."""
        return np.ones(len(self.y), dtype=bool)
