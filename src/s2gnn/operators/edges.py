"""EdgeOperator: S_1, …, S_α of a list of directed edges."""

import copy
import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from s2gnn.devices import widest_float
from s2gnn.errors import InputError
from s2gnn.graphs.selection import Selection
from s2gnn.graphs.validation import relative_rounding
from s2gnn.operators.directed_pattern import DirectedPattern, directed_pattern
from s2gnn.operators.edge_factors import edge_factors, scalings, shift_entries, sign_of
from s2gnn.operators.graph_operator import HadamardOperator
from s2gnn.operators.powers import HadamardPowers
from s2gnn.operators.shifts import ROUNDING, Shift, check_shift
from s2gnn.operators.sobolev import check_alpha, check_dtype, epsilon_number


class EdgeFacts(NamedTuple):
    """Properties of edge values, see `EdgeOperator.facts`.

    Attributes:
        valid: whether the weights are non-negative, and no sum of them can overflow.
        symmetric: whether every edge has a reverse of the same weight.
        identical: whether all S_ρ are the same, because every entry of A + εI is zero or the same number.
    """

    valid: bool
    symmetric: bool
    identical: bool


class EdgeMessages(NamedTuple):
    """The entries of all S_ρ, for message passing.

    Attributes:
        along: S_ρ(i, j) of every edge j → i, in the order of `edge_index`, (E, α); divided by weight among repeated
            edges, and zero for self-loops.
        own: S_ρ(i, i), (N, α).
    """

    along: Tensor
    own: Tensor


class EdgeOperator(HadamardOperator):
    r"""S_1, …, S_α of directed edges j → i, normalised like PyG's `gcn_norm`.

    .. math::
        S_\rho = D_\rho^{-1/2} (A + \epsilon I)^{(\rho)} D_\rho^{-1/2}

    with :math:`A_{ij}` the weight of the edge j → i, and :math:`D_\rho` the sums over incoming edges on both sides. If
    both directions of every edge are listed with the same weight, this equals `SobolevOperator`; otherwise S_ρ is not
    symmetric, its entries are not bounded, and its spectral radius can exceed 1. The other shifts also use sums over
    incoming edges as degrees.

    The operator is built by torch functions with static output sizes, which supports `torch.compile`, `torch.export`,
    `torch.func`, and gradients of the weights and of ε. Repeated edges are summed, self-loops dropped.

    Args:
        edge_index: sources and targets in 0..N−1, (2, E).
        edge_weight: finite, non-negative weights (E,), which are not checked here; default: ones.
        n_nodes: number of nodes N.
        alpha: highest power.
        epsilon: weight of the identity, a number or a scalar tensor, which may require a gradient.
        shift: see `SobolevOperator`.
        normalize: whether to normalise by degrees; otherwise S_ρ = (A + εI)^(ρ).
        dtype: dtype of the products, torch.float32 or torch.float64; factors are computed in float64 if the device
            supports it.

    Attributes:
        edge_index: the argument `edge_index` (2, E).
    """

    def __init__(
        self,
        edge_index: Tensor,
        edge_weight: Tensor | None,
        n_nodes: int,
        alpha: int = 4,
        epsilon: float | Tensor = 1.0,
        shift: Shift = "adjacency",
        *,
        normalize: bool = True,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        check_alpha(alpha)
        check_shift(shift)
        check_dtype(dtype)
        self.n_nodes, self.alpha, self.shift, self.dtype = n_nodes, int(alpha), shift, dtype
        self.epsilon = epsilon_number(epsilon)
        self.edge_index, self.device = edge_index, edge_index.device
        sources, targets = edge_index.long().unbind(0)
        exact = widest_float(self.device)
        self._listed = (sources != targets).to(exact)  # the weights as listed, those of self-loops zero
        if edge_weight is not None:
            self._listed = self._listed * edge_weight.to(self.device)
        pattern = directed_pattern(sources, targets, n_nodes)
        self._place = pattern.place
        self._weights = self._listed.new_zeros(pattern.reverse.shape[0]).index_add(0, pattern.place, self._listed)
        self.powers = self._powers(pattern, epsilon, normalize)

    def _powers(self, pattern: DirectedPattern, epsilon: float | Tensor, normalize: bool) -> HadamardPowers:
        value = torch.as_tensor(epsilon, dtype=self._weights.dtype, device=self.device)
        if normalize:
            factors = edge_factors(pattern.entries, self._weights, self.alpha, self.shift, self.dtype)
            b, (c, own) = factors.b, scalings(factors, value)
        else:
            b, diagonal = shift_entries(self._weights, *pattern.entries.positions(), self.n_nodes, self.shift)
            own = (diagonal + value)[:, None] ** torch.arange(1, self.alpha + 1, device=self.device)
            c = torch.ones_like(own)
        b, c, own = (factor.to(self.dtype) for factor in (b, c, own))
        return HadamardPowers(pattern.indptr, pattern.indices, b, c, own, sign_of(self.shift))

    @property
    def is_constant(self) -> bool:
        """Whether neither ε nor the weights require a gradient."""
        return not self.powers.are_learned

    def facts(self, valid: Tensor | bool = True) -> EdgeFacts:
        """Compute the properties of the edge values, with a single transfer of a few numbers from the device.

        Args:
            valid: whether indices and weights are valid according to earlier checks, a boolean tensor ().
        """
        weights = self._weights.detach()
        if not len(weights):
            return EdgeFacts(valid=True, symmetric=True, identical=False)
        extremes = weights.where(weights > 0, math.inf).amin(), weights.amax()
        conditions = torch.as_tensor(valid, device=self.device), self.are_symmetric()
        found = torch.stack([*extremes, *(condition.to(weights.dtype) for condition in conditions)])
        smallest, largest, are_valid, are_symmetric = found.tolist()
        alike = largest > 0 and largest - smallest <= ROUNDING * largest
        identical = alike and min(self.epsilon, abs(self.epsilon - largest)) <= ROUNDING
        return EdgeFacts(
            valid=bool(are_valid) and math.isfinite(largest * len(weights)),
            symmetric=bool(are_symmetric),
            identical=identical and self.shift == "adjacency",
        )

    def are_symmetric(self, rounding: float = 0.0) -> Tensor:
        """Return whether every edge has a reverse whose weight differs by `rounding` of it at most; a tensor ()."""
        pointers, indices = self.powers.indptr[: 2 * self.n_nodes + 2].view(2, -1), self.powers.indices.view(3, -1)
        weights = self._weights.detach()
        reverse = weights.index_select(0, indices[2])
        agree = (weights - reverse).abs() <= rounding * torch.maximum(weights, reverse)
        return (pointers[0] == pointers[1]).all() & (indices[0] == indices[1]).all() & agree.all()

    def require_symmetry(self) -> None:
        """Raise a RuntimeError unless the edges are symmetric up to rounding; in compiled code at run time."""
        remedy = "symmetrise it, or build the layer with directed=True"
        symmetric = self.are_symmetric(relative_rounding(np.float32))
        torch._assert_async(symmetric, f"the graph is not symmetric, but the layer has directed=False: {remedy}")

    def as_undirected(self) -> "EdgeOperator":
        """Return the same operator of symmetric edges without the separate pattern of the transposes."""
        undirected, (indptr, indices) = copy.copy(self), self.powers.csr()
        undirected.powers = self.powers._replace(indptr=indptr, indices=indices)
        return undirected

    def messages(self) -> EdgeMessages:
        """Return the entries of all S_ρ, one row for each edge of `edge_index`, differentiable."""
        b, c, own = self.powers.b.index_select(0, self._place), self.powers.c, self.powers.t
        total = torch.zeros_like(self._weights).index_add(0, self._place, self._listed).index_select(0, self._place)
        share = (self._listed / total.where(total > 0, 1.0)).to(b.dtype)
        powers = (self.powers.sign * b)[:, None] ** torch.arange(1, self.alpha + 1, device=self.device)
        sources, targets = self.edge_index.long().unbind(0)
        return EdgeMessages(share[:, None] * powers * c.index_select(0, targets) * c.index_select(0, sources), own)

    def selected(self, selection: Selection) -> "EdgeOperator":
        """Raise an error: select the edges of the nodes instead, and build a new operator."""
        raise InputError(
            f"an EdgeOperator of {self.n_nodes} nodes has no part of {len(selection.nodes)}: build one from the edges "
            "of these nodes, for instance with torch_geometric.utils.subgraph"
        )

    def __repr__(self) -> str:
        edges = len(self.powers.b)
        return f"EdgeOperator({self.n_nodes} nodes, {edges} edges, alpha={self.alpha}, epsilon={self.epsilon:g})"
