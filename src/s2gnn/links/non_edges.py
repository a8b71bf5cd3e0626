"""Sampling of non-edges without enumerating them."""

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.graphs import Graph


class NonEdges:
    """Uniform sampling of the non-edges i < j of a graph, by rank.

    Pairs are numbered row by row: (0, 1), (0, 2), …, (1, 2), …. The non-edge of rank r is preceded by r other non-edges
    and by every edge that at most r non-edges precede. A draw is therefore a binary search among the edges, without
    rejection, however dense the graph is.

    Args:
        graph: a graph on N nodes.

    Attributes:
        count: the number of non-edges, N (N − 1) / 2 − E.
    """

    def __init__(self, graph: Graph) -> None:
        n = graph.n_nodes
        rows = np.arange(n, dtype=np.int64)
        self._starts = rows * (n - 1) - rows * (rows - 1) // 2  # the number of the pair (i, i + 1)
        pairs, _ = graph.to_edge_list()
        numbers = np.sort(self._starts[pairs[:, 0]] + pairs[:, 1] - pairs[:, 0] - 1)
        self._non_edges_before = numbers - np.arange(len(numbers))
        self.count = n * (n - 1) // 2 - len(numbers)

    def draw(self, size: int, generator: np.random.Generator, *, distinct: bool = True) -> NDArray[np.int64]:
        """Return random pairs (size, 2) with i < j, in random order.

        Args:
            size: number of pairs.
            generator: random number generator.
            distinct: sample without replacement; sampling with replacement is faster.
        """
        if size > self.count if distinct else size > 0 and self.count == 0:
            raise InputError(
                f"{size} pairs without an edge are wanted, but the graph has {self.count}: it is too dense, "
                "ask for fewer"
            )
        if distinct:
            ranks = generator.choice(self.count, size, replace=False)
        else:
            ranks = generator.integers(self.count, size=size) if size else np.empty(0, dtype=np.int64)
        numbers = ranks + np.searchsorted(self._non_edges_before, ranks, side="right")
        rows = np.searchsorted(self._starts, numbers, side="right") - 1
        return np.stack([rows, rows + 1 + numbers - self._starts[rows]], axis=1)
