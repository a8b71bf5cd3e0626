"""GraphCollection: many graphs with a class each, as every part of the package takes them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.graphs import DisjointUnion


@dataclass(frozen=True, eq=False)
class GraphCollection:
    """A data set of G graphs with N nodes in all.

    Attributes:
        name: as in `load_collection`.
        union: the graphs, as their disjoint union.
        x: features of the nodes (N, M), float64.
        y: the class of every graph, 0..C-1, (G,).
        class_names: the C classes in the order of `y`.
        source: where the data came from, in words.
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
        """No: a graph has one class."""
        return False

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Whether a graph has a class, which all have, (G,)."""
        return np.ones(len(self.y), dtype=bool)
