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
from s2gnn.operators.edge_factors import EdgeFactors, entry_factors, scalings, shift_entries, sign_of
from s2gnn.operators.graph_operator import HadamardOperator
from s2gnn.operators.powers import HadamardPowers
from s2gnn.operators.shifts import ROUNDING, Shift, check_shift
from s2gnn.operators.sobolev import check_alpha, check_dtype, epsilon_number

_NUMPY = {torch.float16: np.float32, torch.bfloat16: np.float32, torch.float32: np.float32}


class EdgeFacts(NamedTuple):
    """What has to be known of the values of edges, see `EdgeOperator.facts`.

    Attributes:
        valid: whether the weights are not negative, and their sums over incoming edges finite.
        symmetric: whether every edge has a reverse of the same weight, up to rounding.
        identical: whether all S_ρ are the same, because every entry of A + εI is zero or the same number.
    """

    valid: bool
    symmetric: bool
    identical: bool


class EdgeMessages(NamedTuple):
    """All S_ρ as what flows along each edge and what each node keeps.

    Attributes:
        along: S_ρ(i, j) of every edge j → i, in the order of `edge_index`, (E, α); of repeated edges their share by
            weight, of self-loops zero.
        own: S_ρ(i, i), (N, α).
    """

    along: Tensor
    own: Tensor


class EdgeOperator(HadamardOperator):
    r"""S_1, …, S_α of the directed edges j → i that `edge_index` lists, normalised as PyG's `gcn_norm` does.

    .. math::
        S_\rho = D_\rho^{-1/2} (A + \epsilon I)^{(\rho)} D_\rho^{-1/2}

    with :math:`A_{ij}` the weight of the edge j → i, and :math:`D_\rho` the sums over incoming edges on both sides.
    Where both directions of every edge are listed with the same weight, this is `SobolevOperator`; otherwise S_ρ is not
    symmetric, its entries are not bounded, and its spectral radius can be larger than 1. Degrees of the other shifts
    are sums over incoming edges too.

    The operator is built by torch functions whose results have sizes known beforehand, so that `torch.compile`,
    `torch.export`, `torch.func` and gradients by the weights and by ε work. Repeated edges are added up, self-loops
    dropped.

    Args:
        edge_index: (2, E), sources and targets in 0..N−1.
        edge_weight: (E,), finite and not negative; default: ones. Values are not checked here.
        n_nodes: N.
        alpha: highest power.
        epsilon: weight of the identity, a number or a scalar tensor, which may have a gradient.
        shift: see `SobolevOperator`.
        normalize: whether to divide by the degrees; otherwise S_ρ = (A + εI)^(ρ).
        dtype: torch.float32 or torch.float64, in which products are computed; factors are formed in float64, on a
            device that has it.

    Attributes:
        edge_index: (2, E), as given.
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
        key, self._order = torch.sort(targets * n_nodes + sources, stable=True)
        # Entry (i, j) of row i is the edge j → i.
        self._rows, self._columns = targets.index_select(0, self._order), sources.index_select(0, self._order)
        reverse_key, reverse = torch.sort(self._columns * n_nodes + self._rows, stable=True)
        first = key.diff(prepend=key.new_full((1,), -1)) != 0  # of the edges that are listed repeatedly
        self._group = first.cumsum(0) - 1
        exact = widest_float(self.device)
        weights = torch.ones(key.shape[0], dtype=exact, device=self.device)
        if edge_weight is not None:
            weights = edge_weight.to(self.device, exact).index_select(0, self._order)
        self._listed = weights * (self._rows != self._columns)
        summed = self._of_group(self._listed) * first  # zero for the other edges of a group: none is dropped
        self._symmetric = _is_symmetric(summed, reverse, key == reverse_key, edge_weight)
        # The mean of both directions, so that an undirected graph has a symmetric gradient, as a `SobolevFamily` has.
        mean = (summed + summed.index_select(0, reverse)) / 2
        self._weights = torch.where(self._symmetric, mean, summed)
        self.powers = self._powers(self._weights, reverse, epsilon, normalize)

    def _of_group(self, values: Tensor) -> Tensor:
        """The sums over repeated edges (E,) of values (E,) of sorted edges, for each of them."""
        return torch.zeros_like(values).index_add(0, self._group, values).index_select(0, self._group)

    def _powers(self, weights: Tensor, reverse: Tensor, epsilon: float | Tensor, normalize: bool) -> HadamardPowers:
        n, rows, columns, sign = self.n_nodes, self._rows, self._columns, sign_of(self.shift)
        value = torch.as_tensor(epsilon, dtype=weights.dtype, device=self.device)
        entries, diagonal = shift_entries(weights, rows, columns, n, self.shift)
        if normalize:
            b, q, largest = entry_factors(entries, rows, columns, n, self.alpha)
            c, own = scalings(EdgeFactors(b, q, largest, diagonal, sign), value)
        else:
            rho = torch.arange(1, self.alpha + 1, device=self.device)
            b, own = entries, (diagonal + value)[:, None] ** rho
            c = torch.ones_like(own)
        b, c, own = (factor.to(self.dtype) for factor in (b, c, own))
        # Each pattern with that of the transposes, see HadamardPowers.
        indptr = torch.cat([_indptr(rows, n), _indptr(columns, n)])
        indices = torch.cat([columns, rows.index_select(0, reverse), reverse])
        return HadamardPowers(indptr.int(), indices.int(), b, c, own, sign)

    @property
    def is_constant(self) -> bool:
        """Whether neither ε nor the weights have derivatives."""
        return not self.powers.are_learned

    def facts(self, valid: Tensor) -> EdgeFacts:
        """What the values of the edges are, by one transfer of a few numbers from the device.

        Args:
            valid: whether indices and weights are, as far as is known before, a boolean tensor ().
        """
        weights, listed = self._weights.detach(), self._listed.detach()
        if not len(weights):
            return EdgeFacts(valid=True, symmetric=True, identical=False)
        sums = weights.new_zeros(self.n_nodes).index_add(0, self._rows, listed)
        extremes = weights.where(weights > 0, math.inf).amin(), weights.amax()
        conditions = valid & sums.isfinite().all(), self._symmetric
        found = torch.stack([*extremes, *(condition.to(weights.dtype) for condition in conditions)])
        smallest, largest, are_valid, are_symmetric = found.tolist()
        alike = largest > 0 and largest - smallest <= ROUNDING * largest
        identical = alike and min(self.epsilon, abs(self.epsilon - largest)) <= ROUNDING
        return EdgeFacts(bool(are_valid), bool(are_symmetric), identical and self.shift == "adjacency")

    def as_undirected(self) -> "EdgeOperator":
        """The same operator of symmetric edges without the pattern of the transposes, which is the same one."""
        undirected, (indptr, indices) = copy.copy(self), self.powers.csr()
        undirected.powers = self.powers._replace(indptr=indptr, indices=indices)
        return undirected

    def messages(self) -> EdgeMessages:
        """The entries of all S_ρ, one row for each edge of `edge_index`, differentiable."""
        b, c, own = self.powers.b, self.powers.c, self.powers.t
        total = self._of_group(self._listed)
        share = (self._listed / total.where(total > 0, 1.0)).to(b.dtype)
        rho = torch.arange(1, self.alpha + 1, device=self.device)
        powers = (self.powers.sign * self._of_group(b))[:, None] ** rho
        along = share[:, None] * powers * c.index_select(0, self._rows) * c.index_select(0, self._columns)
        return EdgeMessages(torch.zeros_like(along).index_copy(0, self._order, along), own)

    def selected(self, selection: Selection) -> "EdgeOperator":
        """Not available: select the edges of the nodes, and build an operator of these."""
        raise InputError(
            f"an EdgeOperator of {self.n_nodes} nodes has no part of {len(selection.nodes)}: build one from the edges "
            "of these nodes, for instance with torch_geometric.utils.subgraph"
        )

    def __repr__(self) -> str:
        edges = len(self.powers.b)
        return f"EdgeOperator({self.n_nodes} nodes, {edges} edges, alpha={self.alpha}, epsilon={self.epsilon:g})"


def _indptr(rows: Tensor, n: int) -> Tensor:
    """The row pointers (N + 1,) of entries in these rows (E,)."""
    counts = rows.new_zeros(n + 1).index_add(0, rows + 1, torch.ones_like(rows))
    return counts.cumsum(0)


def _is_symmetric(weights: Tensor, reverse: Tensor, mirrored: Tensor, given: Tensor | None) -> Tensor:
    """Whether the graph is undirected up to rounding, a boolean tensor ().

    Args:
        weights: of the edges sorted by row and column, (E,).
        reverse: the order by column and row, (E,).
        mirrored: whether the entries at a place in both orders are those of the two directions of one edge, (E,).
        given: the weights as passed in, whose type says what rounding is.
    """
    other = weights.index_select(0, reverse)
    rounding = relative_rounding(_NUMPY.get(given.dtype, np.float64)) if given is not None else 0.0
    agree = (weights - other).abs() <= rounding * torch.maximum(weights, other)
    return (mirrored & agree).all()
