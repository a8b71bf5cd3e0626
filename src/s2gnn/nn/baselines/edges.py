"""Differentiable functions on the edges of a graph: scores of pairs, softmax over neighbours, weighted sums.

Attention computes a number for each edge and head, (heads, E), and sums the neighbours' signals with it. On CSR
matrices both are products that never make an array of edges times channels, on which a layer by gather and scatter
spends its time.
"""

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from s2gnn.graphs import Graph
from s2gnn.graphs.measures import closed_neighbourhoods
from s2gnn.graphs.selection import Selection
from s2gnn.operators import GraphOperator
from s2gnn.operators.autograd import apply

# Edges times channels that `additive_scores` holds at once: what fits into the cache of a core.
VALUES_AT_ONCE = 2**18


class NodePairs(GraphOperator):
    """Ordered pairs (i, j), with (j, i) for each of them, in CSR form; a pair (i, i) is a self-loop.

    Args:
        codes: i · N + j of every pair, sorted, without repetition, (E,).
        n_nodes: N.
        graph_sizes: the number of nodes (G,) of each graph of a disjoint union, whose pairs are of nodes of one graph;
            `None` for a single graph.

    Attributes:
        rows: i of every pair, (E,) int64; the node that attends.
        columns: j of every pair, (E,) int64; the neighbour attended to.
        reverse: where the pair (j, i) stands, (E,) int64.
    """

    def __init__(self, codes: Tensor, n_nodes: int, graph_sizes: Tensor | None = None) -> None:
        self.codes = codes
        self.n_nodes = n_nodes
        self.graph_sizes = graph_sizes
        self.rows, self.columns = codes // n_nodes, codes % n_nodes
        self.reverse = torch.argsort(self.columns * n_nodes + self.rows)
        self.offsets = torch.searchsorted(self.rows, torch.arange(n_nodes + 1, device=codes.device))
        small = torch.int32 if len(codes) < 2**31 else torch.int64
        self._indptr, self._indices = self.offsets.to(small), self.columns.to(small)

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, graph: Graph, *, self_loops: bool, device: torch.device) -> "NodePairs":
        """The edges of `graph` in both directions, and a self-loop at every node if wanted."""
        pattern = closed_neighbourhoods(graph) if self_loops else graph.to_scipy()
        pattern.sort_indices()
        rows, columns = (torch.from_numpy(axis.astype("int64")) for axis in pattern.tocoo().coords)
        return cls((rows * graph.n_nodes + columns).to(device), graph.n_nodes)

    def selected(self, selection: Selection) -> "NodePairs":
        """The pairs of some nodes."""
        stored, n = selection.stored(self.offsets.cpu().numpy(), self.columns.cpu().numpy()), len(selection.nodes)
        rows = np.repeat(np.arange(n), np.diff(stored.indptr))
        return NodePairs(torch.from_numpy(rows * n + stored.columns).to(self.codes.device), n)

    def within_graphs(self, sizes: Tensor) -> "NodePairs":
        """The same pairs, with the number of nodes (G,) of each graph of a disjoint union."""
        pairs = copy.copy(self)
        pairs.graph_sizes = sizes
        return pairs

    def csr(self, values: Tensor) -> Tensor:
        """The sparse matrix (N, N) with `values` (E,) at the pairs."""
        return torch.sparse_csr_tensor(
            self._indptr, self._indices, values, size=(self.n_nodes,) * 2, check_invariants=False
        )

    def dot(self, x: Tensor, y: Tensor) -> Tensor:
        """x_iᵀ y_j of every pair (heads, E), of signals x and y (heads, N, C)."""
        return apply(_Dot, x, y, self)

    def sum(self, values: Tensor, y: Tensor) -> Tensor:
        """Σ_j v_ij y_j of every node (heads, N, C), of values (heads, E) and signals y (heads, N, C)."""
        return apply(_Sum, values, y, self)

    def softmax(self, scores: Tensor) -> Tensor:
        """exp(s_ij) / Σ_k exp(s_ik) of every pair (heads, E), of scores (heads, E)."""
        return apply(_Softmax, scores, self)

    def of_rows(self, values: Tensor) -> Tensor:
        """v_i of every pair (heads, E), of values (heads, N)."""
        return apply(_OfEnds, values, self, False)

    def of_columns(self, values: Tensor) -> Tensor:
        """v_j of every pair (heads, E), of values (heads, N)."""
        return apply(_OfEnds, values, self, True)

    def additive_scores(self, x: Tensor, y: Tensor, a: Tensor, slope: float) -> Tensor:
        """aᵀ LeakyReLU(x_i + y_j) of every pair (heads, E), of x and y (heads, N, C) and a (heads, C)."""
        return apply(_AdditiveScores, x, y, a, slope, self)


def _dot(edges: NodePairs, x: Tensor, y: Tensor) -> Tensor:
    zeros = edges.csr(x.new_zeros(len(edges)))
    pairs = zip(x.contiguous(), y.contiguous(), strict=True)
    return torch.stack([torch.sparse.sampled_addmm(zeros, one, other.T).values() for one, other in pairs])


def _sum(edges: NodePairs, values: Tensor, y: Tensor) -> Tensor:
    heads = zip(values.contiguous(), y.contiguous(), strict=True)
    return torch.stack([edges.csr(value) @ signal for value, signal in heads])


def _row_sums(edges: NodePairs, values: Tensor) -> Tensor:
    """Σ_j v_ij of every node (heads, N)."""
    ones = values.new_ones(edges.n_nodes, 1)
    return torch.stack([(edges.csr(value) @ ones)[:, 0] for value in values.contiguous()])


class _Dot(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, edges: NodePairs) -> Tensor:
        ctx.save_for_backward(x, y)
        ctx.edges = edges
        return _dot(edges, x, y)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        x, y = ctx.saved_tensors
        return _sum(ctx.edges, grad, y), _sum(ctx.edges, grad.index_select(1, ctx.edges.reverse), x), None


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, y: Tensor, edges: NodePairs) -> Tensor:
        ctx.save_for_backward(values, y)
        ctx.edges = edges
        return _sum(edges, values, y)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        values, y = ctx.saved_tensors
        return _dot(ctx.edges, grad, y), _sum(ctx.edges, values.index_select(1, ctx.edges.reverse), grad), None


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, edges: NodePairs) -> Tensor:
        largest = torch.stack([torch.segment_reduce(s, "max", offsets=edges.offsets) for s in scores.contiguous()])
        shares = torch.exp(scores - largest.index_select(1, edges.rows))
        shares = shares / _row_sums(edges, shares).index_select(1, edges.rows)
        ctx.save_for_backward(shares)
        ctx.edges = edges
        return shares

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (shares,) = ctx.saved_tensors
        weighted = shares * grad
        return weighted - shares * _row_sums(ctx.edges, weighted).index_select(1, ctx.edges.rows), None


class _OfEnds(torch.autograd.Function):
    """The values of the first or of the second nodes of all pairs; the gradient is a sum over the pairs of a node."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, edges: NodePairs, second: bool) -> Tensor:
        ctx.edges, ctx.second = edges, second
        return values.index_select(1, edges.columns if second else edges.rows)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        by_first = grad.index_select(1, ctx.edges.reverse) if ctx.second else grad
        return _row_sums(ctx.edges, by_first), None, None


class _AdditiveScores(torch.autograd.Function):
    """No product gives these: the edges are taken in pieces, and their sums x_i + y_j made again going backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, a: Tensor, slope: float, edges: NodePairs) -> Tensor:
        ctx.save_for_backward(x, y, a)
        ctx.slope, ctx.edges = slope, edges
        scores = x.new_empty(len(x), len(edges))
        for head in range(len(x)):
            for part, rows, columns in _pieces(edges, x.shape[2]):
                z = x[head].index_select(0, rows).add_(y[head].index_select(0, columns))
                scores[head, part] = torch.nn.functional.leaky_relu_(z, slope) @ a[head]
        return scores

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        x, y, a = ctx.saved_tensors
        grad_x, grad_y, grad_a = torch.zeros_like(x), torch.zeros_like(y), torch.zeros_like(a)
        for head in range(len(x)):
            for part, rows, columns in _pieces(ctx.edges, x.shape[2]):
                z = x[head].index_select(0, rows).add_(y[head].index_select(0, columns))
                slopes = torch.where(z > 0, 1.0, ctx.slope).to(z)
                g = grad[head, part]
                grad_a[head] += g @ (z * slopes)
                slopes.mul_(g[:, None]).mul_(a[head])
                grad_x[head].index_add_(0, rows, slopes)
                grad_y[head].index_add_(0, columns, slopes)
        return grad_x, grad_y, grad_a, None, None


def _pieces(edges: NodePairs, channels: int) -> list[tuple[slice, Tensor, Tensor]]:
    step = max(1, VALUES_AT_ONCE // channels)
    parts = [slice(start, start + step) for start in range(0, len(edges), step)]
    return [(part, edges.rows[part], edges.columns[part]) for part in parts]
