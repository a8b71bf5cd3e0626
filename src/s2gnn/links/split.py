"""Edges held out of a graph, and what is left of it: the only graph that a model may see."""

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
        positive: (P, 2), joined in the whole graph.
        negative: (Q, 2), joined nowhere in it.
    """

    positive: NDArray[np.int64]
    negative: NDArray[np.int64]

    @property
    def together(self) -> NDArray[np.int64]:
        """The edges, then the pairs without one, (P + Q, 2)."""
        return np.concatenate([self.positive, self.negative])


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """The edges of a graph in three parts.

    Attributes:
        graph: all N nodes with the training edges and their weights. Whatever a model is given of the graph, an
            operator, a diffusion or weights, must be made from this one.
        val: validation edges, and as many pairs without an edge.
        test: test edges, and as many pairs without an edge, none of which is in `val`.
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

    The pairs without an edge that go with them depend on nothing but the graph and the seed: every model is judged on
    the same. A node may lose all its edges; it stays in the graph.

    Args:
        graph: N nodes, E edges.
        seed: at least 0; draws the edges and the pairs without an edge.
        val: share of the edges; the default is that of the first work on graph auto-encoders.
        test: share of the edges.
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
