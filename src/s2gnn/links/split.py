"""Splits of edges into training, validation and test edges."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.links.non_edges import NonEdges


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of nodes to classify, each undirected pair once with i < j.

    Attributes:
        positive: edges of the whole graph, (P, 2).
        negative: non-edges of the whole graph, (Q, 2).
    """

    positive: NDArray[np.int64]
    negative: NDArray[np.int64]

    @property
    def together(self) -> NDArray[np.int64]:
        """The edges followed by the non-edges, (P + Q, 2)."""
        return np.concatenate([self.positive, self.negative])


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """A split of the edges of a graph.

    Attributes:
        graph: all N nodes with the training edges and their weights. Operators, diffusions and edge weights for a model
            must be computed from this graph.
        val: validation edges and the same number of non-edges.
        test: test edges and the same number of non-edges, disjoint from those in `val`.
    """

    graph: Graph
    val: Pairs
    test: Pairs

    @property
    def train(self) -> NDArray[np.int64]:
        """The training edges (E_train, 2), each once with i < j."""
        return self.graph.to_edge_list()[0]


def split_links(graph: Graph, seed: int, *, val: float = 0.05, test: float = 0.1) -> LinkSplit:
    """Hold out int(`val` · E) edges for validation and int(`test` · E) for the test, at random.

    The corresponding non-edges only depend on the graph and the seed, so all models are compared on the same pairs. A
    node that loses all its edges stays in the graph.

    Args:
        graph: a graph with N nodes and E edges.
        seed: random seed of edges and non-edges, at least 0.
        val: share of validation edges; the defaults are those of Kipf and Welling (2016).
        test: share of test edges.
    """
    if not (val > 0 and test > 0 and val + test < 1):
        raise InputError(f"val is {val:g} and test is {test:g}, but they must be positive and leave edges to train on")
    if seed < 0:
        raise InputError(f"seed is {seed}, but it must be at least 0")
    edges, weights = graph.to_edge_list()
    n_val, n_test = int(val * len(edges)), int(test * len(edges))
    if min(n_val, n_test) == 0:
        raise InputError(
            f"{len(edges)} edges are too few to hold out {val:g} and {test:g} of them: {n_val} would validate and "
            f"{n_test} test; raise the shares"
        )
    generator = np.random.default_rng(seed)
    in_test, in_val, in_train = np.split(generator.permutation(len(edges)), [n_test, n_test + n_val])
    negative = NonEdges(graph).draw(n_val + n_test, generator)
    return LinkSplit(
        Graph.from_edge_list(edges[in_train], weights[in_train], graph.n_nodes),
        Pairs(edges[np.sort(in_val)], negative[:n_val]),
        Pairs(edges[np.sort(in_test)], negative[n_val:]),
    )
