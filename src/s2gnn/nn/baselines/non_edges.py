"""Random pairs of nodes that are no edges, for SuperGAT to tell from edges."""

import math

import torch
from torch import Tensor

from s2gnn.nn.baselines.edges import NodePairs
from s2gnn.nn.pooling import NodeGroups

NON_EDGES_PER_EDGE = 0.5


def non_edges(edges: NodePairs) -> NodePairs:
    """Random pairs that are no edges, both directions of each, about `NON_EDGES_PER_EDGE` for each edge.

    On a disjoint union both nodes of a pair are of one graph, and every graph has about as many pairs as by itself:
    `NON_EDGES_PER_EDGE` for each of its own edges, fewer where nearly all its nodes are joined, none where all are.
    """
    n = edges.n_nodes
    drawn = _of_one_graph(edges) if edges.groups is None else _of_each_graph(edges, edges.groups)
    both = torch.unique(torch.cat([drawn, drawn % n * n + drawn // n]))
    return NodePairs(both, n, edges.groups)


def _of_one_graph(edges: NodePairs) -> Tensor:
    """Codes of half the pairs: of codes drawn among all, those of no edge."""
    n = edges.n_nodes
    share = 1 - len(edges) / n**2
    if share == 0:
        return edges.codes[:0]
    drawn = torch.randint(n**2, (math.ceil(NON_EDGES_PER_EDGE * len(edges) / share / 2),), device=edges.codes.device)
    position = torch.searchsorted(edges.codes, drawn).clamp(max=len(edges) - 1)
    return drawn[edges.codes[position] != drawn]


def _of_each_graph(edges: NodePairs, groups: NodeGroups) -> Tensor:
    """Codes of half the pairs, by their ranks: small graphs are often nearly complete, and nothing is tried in vain.

    The pairs of nodes of one graph are numbered row by row, graph after graph. The non-edge of rank r has r others and
    all edges with at most r non-edges before them before it.
    """
    sizes, graph_of_node = groups.sizes, groups.graph_of_node
    ends = sizes.cumsum(0)
    starts = ends - sizes
    n_edges = edges.offsets[ends] - edges.offsets[starts]  # (G,)
    n_others = sizes**2 - n_edges
    wanted = torch.ceil(NON_EDGES_PER_EDGE / 2 * n_edges).long() * (n_others > 0)
    graph = torch.repeat_interleave(wanted)  # of every draw
    drawn = torch.randint(2**62, graph.shape, device=graph.device) % n_others[graph]
    ranks = (n_others.cumsum(0) - n_others)[graph] + drawn

    widths = sizes[graph_of_node]
    first = widths.cumsum(0) - widths  # the number of the first pair of every row, (N,)
    shifts = first - starts[graph_of_node]  # the number of (i, j) is that of i plus j
    others_before = shifts[edges.rows] + edges.columns - torch.arange(len(edges), device=graph.device)
    numbers = ranks + torch.searchsorted(others_before, ranks, right=True)
    rows = torch.searchsorted(first, numbers, right=True) - 1
    return rows * edges.n_nodes + numbers - shifts[rows]
