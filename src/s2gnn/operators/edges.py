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

_NUMPY = {torch.float16: np.float32, torch.bfloat16: np.float32, torch.float32: np.float32}


class EdgeFacts(NamedTuple):
    """Properties of edge values, see `EdgeOperator.facts`.

    Attributes:
        valid: whether the weights are non-negative, and their sums over incoming edges finite.
        symmetric: whether every edge has a reverse of the same weight, up to rounding.
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
        known_directed: skip the search for reverse edges, because the graph is known to be directed.
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
        known_directed: bool = False,
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
        summed = self._listed.new_zeros(pattern.reverse.shape[0]).index_add(0, pattern.place, self._listed)
        if known_directed:
            self._symmetric, self._weights = torch.tensor(False, device=self.device), summed
        else:
            other = summed.index_select(0, pattern.reverse)
            self._symmetric = pattern.is_symmetric & _agree(summed, other, edge_weight)
            # The mean of both directions, so that an undirected graph has a symmetric gradient, as a `SobolevFamily`.
            self._weights = torch.where(self._symmetric, (summed + other) / 2, summed)
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
        weights, listed = self._weights.detach(), self._listed.detach()
        if not len(weights):
            return EdgeFacts(valid=True, symmetric=True, identical=False)
        sums = weights.new_zeros(self.n_nodes).index_add(0, self.edge_index[1].long(), listed)
        extremes = weights.where(weights > 0, math.inf).amin(), weights.amax()
        conditions = sums.isfinite().all() & valid, self._symmetric
        found = torch.stack([*extremes, *(condition.to(weights.dtype) for condition in conditions)])
        smallest, largest, are_valid, are_symmetric = found.tolist()
        alike = largest > 0 and largest - smallest <= ROUNDING * largest
        identical = alike and min(self.epsilon, abs(self.epsilon - largest)) <= ROUNDING
        return EdgeFacts(bool(are_valid), bool(are_symmetric), identical and self.shift == "adjacency")

    def require_symmetry(self) -> None:
        """Raise a RuntimeError unless the edges are symmetric; in compiled code at run time."""
        remedy = "symmetrise it, or build the layer with directed=True"
        torch._assert_async(self._symmetric, f"the graph is not symmetric, but the layer has directed=False: {remedy}")

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


def _agree(weights: Tensor, other: Tensor, given: Tensor | None) -> Tensor:
    """Return whether the two directions (E,) of edges agree, up to rounding in the dtype of `given`; a tensor ()."""
    rounding = relative_rounding(_NUMPY.get(given.dtype, np.float64)) if given is not None else 0.0
    return ((weights - other).abs() <= rounding * torch.maximum(weights, other)).all()
