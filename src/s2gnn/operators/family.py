"""SobolevFamily: the operators of one graph as functions of ε and of the edge weights, to learn either."""

import copy

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.graphs.selection import Selection
from s2gnn.operators.edge_factors import EdgeFactors, EdgePattern, edge_factors, scalings, weighted_products
from s2gnn.operators.graph_operator import BranchOperator, GraphOperator
from s2gnn.operators.propagation import HadamardPowers, gather_cost
from s2gnn.operators.shifts import Shift, check_shift
from s2gnn.operators.sobolev import check_alpha, check_dtype, check_epsilon, check_graph


class SobolevFamily(GraphOperator):
    r"""S_1, …, S_α of one graph for any ε, and for any weights of its edges.

    .. math::
        S_\rho(\epsilon) = P_\rho + C_\rho B^{(\rho)} C_\rho

    with B made of the edges alone, and diagonal matrices :math:`P_\rho` and :math:`C_\rho` that depend on ε: so `at`
    costs O(α N) and its products what those of a `SobolevOperator` do. With `with_weights` the edges have gradients,
    one for each undirected pair, in O(α E) for features of a given width. No dense matrix is made.

    A network with `epsilon="learn"` is called with a family in place of an operator, as `S2GNN.prepare` gives it; every
    other network takes one too, and fills in its own ε.

    Args:
        graph: the weighted graph, N nodes.
        alpha: highest power, at least 1.
        shift: see `SobolevOperator`.
        dtype: torch.float32 or torch.float64, in which products are computed; factors are formed in float64.
        device: where.

    Example:
        >>> graph = Graph.from_edge_list([(0, 1), (1, 2)], weights=[0.5, 2.0])
        >>> family = SobolevFamily(graph, alpha=2)
        >>> epsilon = torch.tensor(1.0, requires_grad=True)
        >>> family.at(epsilon).propagate(torch.ones(3, 1)).sum().backward()
        >>> bool(epsilon.grad != 0)
        True
    """

    def __init__(
        self,
        graph: Graph,
        alpha: int = 4,
        shift: Shift = "adjacency",
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        check_graph(graph)
        check_alpha(alpha)
        check_shift(shift)
        check_dtype(dtype)
        self.graph = graph
        self.n_nodes = graph.n_nodes
        self.alpha = int(alpha)
        self.shift: Shift = shift
        self.dtype = dtype
        self.pattern = EdgePattern.of(graph, device)
        self.device = self.pattern.rows.device
        self._use(torch.tensor(graph.to_edge_list()[1], device=device))

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Tensor,
        edge_weight: ArrayLike | Tensor | None,
        n_nodes: int,
        alpha: int = 4,
        shift: Shift = "adjacency",
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> "SobolevFamily":
        """The family of PyG's `edge_index` (2, E) and `edge_weight` (E,), whose gradient it keeps.

        The weight of a pair is the mean of its two directions, which must agree, and the sum over repeated edges, so
        that the gradients of all entries that name a pair add up to the derivative by its weight. Self-loops are
        dropped. A weight of zero that has a gradient stays an edge.
        """
        options = {"sum_duplicates": True, "drop_self_loops": True}
        graph = Graph.from_edge_index(edge_index, edge_weight, n_nodes, **options)
        if not isinstance(edge_weight, Tensor) or not edge_weight.requires_grad:
            return cls(graph, alpha, shift, dtype=dtype, device=device)
        family = cls(
            Graph.from_edge_index(edge_index, None, n_nodes, **options), alpha, shift, dtype=dtype, device=device
        )
        ends = edge_index.detach().cpu().numpy().astype(np.int64)
        low, high = ends.min(axis=0), ends.max(axis=0)
        known, _ = family.graph.to_edge_list()
        kept = torch.tensor(np.flatnonzero(low < high), device=device)
        pairs = np.searchsorted(known[:, 0] * n_nodes + known[:, 1], (low * n_nodes + high)[low < high])
        halves = edge_weight.to(device, torch.float64)[kept] / 2
        weights = halves.new_zeros(family.graph.n_edges).index_add(0, torch.tensor(pairs, device=device), halves)
        return family.with_weights(weights)

    def with_weights(self, weights: Tensor) -> "SobolevFamily":
        """The family with other weights (n_edges,) ≥ 0 of the same edges, in the order of `Graph.to_edge_list`.

        One number for each undirected pair, so that A stays symmetric; their gradient is that of both entries of A.
        """
        if not isinstance(weights, Tensor) or weights.shape != (self.graph.n_edges,):
            found = tuple(weights.shape) if isinstance(weights, Tensor) else type(weights).__name__
            raise InputError(
                f"the weights are {found}, expected a tensor ({self.graph.n_edges},): one for each undirected pair, in "
                "the order of graph.to_edge_list()"
            )
        values = weights.detach()
        wrong = ~(torch.isfinite(values) & (values >= 0))
        if wrong.any():
            position = int(wrong.nonzero()[0])
            raise InputError(
                f"weights[{position}] is {float(values[position]):g}, but weights are finite and not negative: learn "
                "their logarithms and pass the exponentials"
            )
        other = copy.copy(self)
        other._use(weights.to(self.device, torch.float64))
        return other

    def selected(self, selection: Selection) -> "SobolevFamily":
        """The family of the rows and columns of some nodes; nothing is normalised again."""
        stored = selection.stored(self.graph.indptr, self.graph.indices)
        entries, nodes = (torch.from_numpy(places).to(self.device) for places in (stored.entries, selection.nodes))
        all_of = self._factors
        other = copy.copy(self)
        other.graph = stored.of_graph(self.graph)
        other.n_nodes = other.graph.n_nodes
        other.pattern = EdgePattern.of(other.graph, self.device)
        other._take(
            EdgeFactors(all_of.b[entries], all_of.q[nodes], all_of.largest[nodes], all_of.diagonal[nodes], all_of.sign)
        )
        return other

    def _use(self, weights: Tensor) -> None:
        self._take(edge_factors(self.pattern, weights, self.alpha, self.shift))

    def _take(self, factors: EdgeFactors) -> None:
        self._factors = factors
        b = factors.b.to(self.dtype)
        c, t = b.new_ones(self.n_nodes, self.alpha), b.new_zeros(self.n_nodes)
        self.powers = HadamardPowers(self.pattern.indptr, self.pattern.indices, b, c, t, factors.sign)

    def at(self, epsilon: float | Tensor) -> "DifferentiableOperator":
        """The operators at ε ≥ 0, a number or a scalar tensor, which may have a gradient."""
        if isinstance(epsilon, Tensor) and epsilon.ndim:
            raise InputError(f"epsilon has shape {tuple(epsilon.shape)}, but it must be one number, a scalar tensor")
        number = float(epsilon.detach()) if isinstance(epsilon, Tensor) else epsilon
        check_epsilon(number)
        value = torch.as_tensor(epsilon, dtype=torch.float64, device=self.device)
        c, p = (scale.to(self.dtype) for scale in scalings(self._factors, value))
        identity = torch.ones_like(c[:, :1])
        scale = torch.cat([identity, c], dim=1)
        own = torch.cat([torch.zeros_like(identity), p], dim=1)
        return DifferentiableOperator(self, float(number), scale[..., None], own[..., None])

    def gather_cost(self, width: int, *, branches: bool) -> float:
        """The cost of the sparse products of one member, see `BranchOperator.gather_cost`."""
        return gather_cost(self.powers, self.alpha, self.device.type, width, branches=branches)

    def __repr__(self) -> str:
        return f"SobolevFamily({self.graph!r}, alpha={self.alpha}, shift={self.shift!r}, dtype={self.dtype})"


class DifferentiableOperator(BranchOperator):
    """S_1, …, S_α of a `SobolevFamily` at one ε, with products that have gradients by ε and by the edge weights.

    Made by `SobolevFamily.at`; layers take it in place of a `SobolevOperator`.

    Attributes:
        family: what it is one of.
        epsilon: the value of ε.
    """

    def __init__(self, family: SobolevFamily, epsilon: float, scale: Tensor, own: Tensor) -> None:
        self.family = family
        self.epsilon = epsilon
        self.n_nodes, self.alpha, self.shift = family.n_nodes, family.alpha, family.shift
        self.dtype, self.device = family.dtype, family.device
        self.powers = family.powers
        self._scale, self._own = scale, own  # (N, alpha + 1, 1), branch 0 being the identity

    def propagate_branches(self, h: Tensor) -> Tensor:
        """S_ρ h_ρ, one input for each ρ = 0..α, differentiable: h (N, α + 1, F) → (N, α + 1, F)."""
        h = self.signal(h, branches=True)
        neighbours = weighted_products(self.powers, self.family.pattern, self._scale * h)
        return self._scale * neighbours + self._own * h

    @property
    def is_constant(self) -> bool:
        """False: the operators change with ε and with the edge weights."""
        return False

    def gather_cost(self, width: int, *, branches: bool) -> float:
        """The cost of the sparse products with one signal (N, width), or with one for each of the α `branches`."""
        return self.family.gather_cost(width, branches=branches)

    def selected(self, selection: Selection) -> "DifferentiableOperator":
        """The rows and columns of some nodes, as an operator on these; nothing is normalised again."""
        nodes = torch.from_numpy(selection.nodes).to(self.device)
        return DifferentiableOperator(
            self.family.selected(selection), self.epsilon, self._scale[nodes], self._own[nodes]
        )

    def __repr__(self) -> str:
        return f"DifferentiableOperator({self.family!r}, epsilon={self.epsilon:g})"
