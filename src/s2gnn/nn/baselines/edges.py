"""Differentiable functions on the edges of a graph: scores of pairs, and sums over neighbours weighted by a softmax.

Attention computes a score for each edge and head, (heads, E), and sums the neighbours' signals with it. The native
kernels process one node at a time and allocate no array of edges times channels, unlike plain torch and message passing
by gather and scatter.
"""

import copy
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from s2gnn.graphs import Graph
from s2gnn.graphs.graph import LARGEST_INT32_POINTER
from s2gnn.graphs.measures import closed_neighbourhoods
from s2gnn.graphs.selection import Selection
from s2gnn.operators import GraphOperator, kernel
from s2gnn.operators.autograd import apply


class NodePairs(GraphOperator):
    """Ordered pairs (i, j), with (j, i) for each of them, in CSR form; a pair (i, i) is a self-loop.

    Args:
        codes: i · N + j of every pair, sorted, without repetition, (E,).
        n_nodes: N.
        graph_sizes: number of nodes (G,) of each graph of a disjoint union, in which no pair crosses graphs; `None` for
            a single graph.

    Attributes:
        rows: i of every pair, (E,) int64; the node that attends.
        columns: j of every pair, (E,) int64; the neighbour attended to.
        reverse: position of the pair (j, i), (E,) int64.
    """

    def __init__(self, codes: Tensor, n_nodes: int, graph_sizes: Tensor | None = None) -> None:
        self.codes = codes
        self.n_nodes = n_nodes
        self.graph_sizes = graph_sizes
        self.rows = codes // n_nodes
        self.columns = codes - self.rows * n_nodes
        self.reverse = torch.argsort(self.columns * n_nodes + self.rows)
        degrees = torch.bincount(self.rows, minlength=n_nodes)
        self.offsets = torch.cat([degrees.new_zeros(1), degrees.cumsum(0)])
        fits = len(codes) <= LARGEST_INT32_POINTER
        self._csr = tuple(part.to(torch.int32) for part in (self.offsets, self.columns, self.reverse) if fits)

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, graph: Graph, *, self_loops: bool, device: torch.device) -> "NodePairs":
        """Return the edges of `graph` in both directions, and a self-loop at every node if wanted."""
        pattern = closed_neighbourhoods(graph) if self_loops else graph.to_scipy()
        pattern.sort_indices()
        rows, columns = (torch.from_numpy(axis.astype("int64")) for axis in pattern.tocoo().coords)
        return cls((rows * graph.n_nodes + columns).to(device), graph.n_nodes)

    def selected(self, selection: Selection) -> "NodePairs":
        """Return the pairs of some nodes."""
        stored, n = selection.stored(self.offsets.cpu().numpy(), self.columns.cpu().numpy()), len(selection.nodes)
        rows = np.repeat(np.arange(n), np.diff(stored.indptr))
        return NodePairs(torch.from_numpy(rows * n + stored.columns).to(self.codes.device), n)

    def to(self, device: torch.device | str) -> "NodePairs":
        """Return the same pairs on another device."""
        sizes = None if self.graph_sizes is None else self.graph_sizes.to(device)
        return NodePairs(self.codes.to(device), self.n_nodes, sizes)

    def within_graphs(self, sizes: Tensor) -> "NodePairs":
        """Return the same pairs, with the number of nodes (G,) of each graph of a disjoint union."""
        pairs = copy.copy(self)
        pairs.graph_sizes = sizes
        return pairs

    def dot(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x_iᵀ y_j of every pair (heads, E), of signals x and y (N, heads, C)."""
        x, y = _of_one_type(x, y)
        if self._native(x) is None:
            return (x.index_select(0, self.rows) * y.index_select(0, self.columns)).sum(-1).T
        return apply(_Dot, x, y, self)

    def additive(self, x: Tensor, y: Tensor, a: Tensor, slope: float) -> Tensor:
        """Return aᵀ LeakyReLU(x_i + y_j) of every pair (heads, E), of x and y (N, heads, C) and a (heads, C)."""
        x, y, a = _of_one_type(x, y, a)
        if self._native(x) is None:
            z = x.index_select(0, self.rows) + y.index_select(0, self.columns)
            return (a * F.leaky_relu(z, slope)).sum(-1).T
        return apply(_Additive, x, y, a, slope, self)

    def attend(self, scores: Tensor, v: Tensor) -> Tensor:
        """Return Σ_j p_ij v_j with p_i = softmax_j s_ij, mean over heads: s (heads, E), v (N, heads, C) → (N, C)."""
        scores, v = _of_one_type(scores, v)
        if self._native(v) is not None:
            return apply(_Attend, scores, v, self)
        none = scores.new_zeros(len(scores), self.n_nodes)
        rows = self.rows.expand_as(scores)
        largest = none.scatter_reduce(1, rows, scores.detach(), "amax", include_self=False)
        shares = (scores - largest.index_select(1, self.rows)).exp()
        shares = shares / none.index_add(1, self.rows, shares).index_select(1, self.rows)
        terms = (shares.T[..., None] * v.index_select(0, self.columns)).mean(1)  # (E, C)
        return v.new_zeros(self.n_nodes, v.shape[2]).index_add(0, self.rows, terms)

    def _native(self, x: Tensor) -> tuple[ModuleType, str] | None:
        """Return the native module and variant to use for signals like `x`; `None` for plain torch."""
        return kernel.native_variant(x.device.type) if self._csr else None

    def run(self, name: str, *arguments: Tensor | float, out: tuple[Tensor, ...]) -> None:
        """Fill the tensors `out` with a native function of the pairs."""
        native = self._native(out[0])
        assert native is not None
        module, variant = native
        arrays = (kernel.array(a.contiguous()) if isinstance(a, Tensor) else a for a in arguments)
        pattern = map(kernel.array, self._csr)
        getattr(module, name)(variant, *pattern, torch.get_num_threads(), *arrays, *map(kernel.array, out))


def _of_one_type(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return the tensors as float32 or float64; under autocast some are of a smaller type."""
    dtype = torch.float64 if any(tensor.dtype == torch.float64 for tensor in tensors) else torch.float32
    return tuple(tensor.to(dtype) for tensor in tensors)


def _check_first_derivative() -> None:
    """Raise in a backward pass that is to be differentiated again."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            "the native attention kernels have first derivatives only: for second derivatives, compute within "
            's2gnn.operators.kernel.use("torch")'
        )


def _sum(pairs: NodePairs, values: Tensor, y: Tensor, *, reverse: bool = False) -> Tensor:
    """Return Σ_j v_ij y_j, or Σ_j v_ji y_j, of every node and head, (N, heads, C)."""
    out = torch.empty_like(y, memory_format=torch.contiguous_format)
    pairs.run("sum", reverse, values, y, out=(out,))
    return out


class _Dot(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, pairs: NodePairs) -> Tensor:
        ctx.save_for_backward(x, y)
        ctx.pairs = pairs
        out = x.new_empty(x.shape[1], len(pairs))
        pairs.run("dot", x, y, out=(out,))
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        _check_first_derivative()
        x, y = ctx.saved_tensors
        return _sum(ctx.pairs, grad, y), _sum(ctx.pairs, grad, x, reverse=True), None


class _Additive(torch.autograd.Function):
    """The sums x_i + y_j are computed again in the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, a: Tensor, slope: float, pairs: NodePairs) -> Tensor:
        ctx.save_for_backward(x, y, a)
        ctx.slope, ctx.pairs = slope, pairs
        out = x.new_empty(x.shape[1], len(pairs))
        pairs.run("additive", slope, x, y, a, out=(out,))
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        _check_first_derivative()
        x, y, a = ctx.saved_tensors
        grad_x, grad_y = x.new_empty(x.shape), y.new_empty(y.shape)
        grad_a = a.new_empty(torch.get_num_threads(), *a.shape)
        ctx.pairs.run("additive_backward", ctx.slope, x, y, a, grad, out=(grad_x, grad_y, grad_a))
        return grad_x, grad_y, grad_a.sum(0), None, None


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, v: Tensor, pairs: NodePairs) -> Tensor:
        shares, out = scores.new_empty(scores.shape), v.new_empty(len(v), v.shape[2])
        pairs.run("attend", scores, v, out=(shares, out))
        ctx.save_for_backward(shares, v)
        ctx.pairs = pairs
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        _check_first_derivative()
        shares, v = ctx.saved_tensors
        grad_scores, grad_v = shares.new_empty(shares.shape), v.new_empty(v.shape)
        ctx.pairs.run("attend_backward", shares, v, grad, out=(grad_scores, grad_v))
        return grad_scores, grad_v, None
