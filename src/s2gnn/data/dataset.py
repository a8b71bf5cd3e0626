"""Dataset: the rows, labels and given graph of one data set, as every part of the package takes them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.graphs import Graph


@dataclass(frozen=True, eq=False)
class Dataset:
    """One data set, preprocessed.

    Attributes:
        name: as in `load_dataset`.
        x: features (N, M), a float64 array or, for bags of words, a SciPy CSR array.
        y: classes 0..C-1 (N,), or several labels of 0 and 1 (N, L).
        class_names: the C classes or L labels in the order of `y`.
        graph: the given graph on the N rows; `None` where a graph must be built from `x`.
        source: where the data came from, in words.
        labelled: (N,), false where the publisher gives no label; `y` is 0 there and means nothing.
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
        """The chosen `rows` (n,) alone, with their own `graph`."""
        return replace(self, x=self.x[rows], y=self.y[rows], labelled=self.labelled[rows], graph=graph)
