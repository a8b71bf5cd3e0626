"""SobolevFamily: the operators of a graph as differentiable functions of ε and of the edge weights."""

import copy
import math

import torch
from torch import Tensor

from s2gnn.devices import widest_float
from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.graphs.selection import Selection
from s2gnn.operators.edge_factors import EdgeFactors, EdgePattern, edge_factors, scalings
from s2gnn.operators.graph_operator import GraphOperator, HadamardOperator
from s2gnn.operators.powers import HadamardPowers
from s2gnn.operators.propagation import gather_cost
from s2gnn.operators.shifts import Shift, check_shift
from s2gnn.operators.sobolev import check_alpha, check_dtype, check_graph, epsilon_number


class SobolevFamily(GraphOperator):
    r"""S_1, …, S_α of one graph for any ε, and for any weights of its edges.

    .. math::
        S_\rho(\epsilon) = P_\rho + C_\rho B^{(\rho)} C_\rho

    B only depends on the edges; the diagonal matrices :math:`P_\rho` and :math:`C_\rho` depend on ε. So `at` costs O(α
    N), and products cost the same as with a `SobolevOperator`. `with_weights` adds gradients of the edge weights, one
    for each undirected pair, in O(α E) for features of a given width. No dense matrix is formed.

    A network with `epsilon="learn"` takes a family instead of an operator, see `S2GNN.prepare`; other networks accept
    one too and evaluate it at their ε.

    Args:
        graph: weighted graph on N nodes.
        alpha: highest power, at least 1.
        shift: see `SobolevOperator`.
        weights: edge weights (n_edges,), see `with_weights`; default: the graph's.
        dtype: dtype of the products, torch.float32 or torch.float64; factors are computed in float64.
        device: device of the products.

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
        weights: Tensor | None = None,
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
        self.device = self.pattern.pairs.device
        self._use(torch.tensor(graph.to_edge_list()[1]) if weights is None else weights)

    def with_weights(self, weights: Tensor) -> "SobolevFamily":
        """Return the family with other weights (n_edges,) ≥ 0 of the same edges, in the order of `Graph.to_edge_list`.

        There is one weight for each undirected pair, which keeps A symmetric; its gradient is the sum over both
        entries.
        """
        other = copy.copy(self)
        other._use(weights)
        return other

    def to(self, device: torch.device | str) -> "SobolevFamily":
        """Return the same family on another device; gradients flow back to the original weights."""
        moved = copy.copy(self)
        moved.pattern, factors = self.pattern.to(device), self._factors
        b, q, largest, diagonal = (x.to(device) for x in (factors.b, factors.q, factors.largest, factors.diagonal))
        moved._factors = EdgeFactors(b, q, largest, diagonal, factors.sign)
        moved.device = moved.pattern.pairs.device
        return moved

    def selected(self, selection: Selection) -> "SobolevFamily":
        """Return the family restricted to the rows and columns of some nodes, without renormalisation."""
        stored = selection.stored(self.graph.indptr, self.graph.indices)
        entries, nodes = (torch.from_numpy(places).to(self.device) for places in (stored.entries, selection.nodes))
        all_of = self._factors
        other = copy.copy(self)
        other.graph = stored.of_graph(self.graph)
        other.n_nodes = other.graph.n_nodes
        other.pattern = EdgePattern.of(other.graph, self.device)
        other._factors = EdgeFactors(
            all_of.b[entries], all_of.q[nodes], all_of.largest[nodes], all_of.diagonal[nodes], all_of.sign
        )
        return other

    def _use(self, weights: Tensor) -> None:
        if not isinstance(weights, Tensor) or weights.shape != (self.graph.n_edges,):
            found = tuple(weights.shape) if isinstance(weights, Tensor) else type(weights).__name__
            raise InputError(
                f"the weights are {found}, expected a tensor ({self.graph.n_edges},): one for each undirected pair, in "
                "the order of graph.to_edge_list()"
            )
        values = weights.detach()
        if len(values) and not (values.min() >= 0 and values.max() < math.inf):
            position = int((~(torch.isfinite(values) & (values >= 0))).nonzero()[0])
            raise InputError(
                f"weights[{position}] is {float(values[position]):g}, but weights are finite and not negative: learn "
                "their logarithms and pass the exponentials"
            )
        on_device = weights.to(self.device, widest_float(self.device))
        self._factors = edge_factors(self.pattern, on_device, self.alpha, self.shift, self.dtype)

    def at(self, epsilon: float | Tensor) -> "DifferentiableOperator":
        """Return the operators at ε ≥ 0, a number or a scalar tensor, which may require a gradient."""
        if isinstance(epsilon, Tensor) and epsilon.ndim:
            raise InputError(f"epsilon has shape {tuple(epsilon.shape)}, but it must be one number, a scalar tensor")
        number = epsilon_number(epsilon)
        value = torch.as_tensor(epsilon, dtype=self._factors.q.dtype, device=self.device)
        c, p = (scale.to(self.dtype) for scale in scalings(self._factors, value))
        factors = self.pattern.pointers, self.pattern.indices, self._factors.b, c, p, self._factors.sign
        return DifferentiableOperator(self, number, HadamardPowers(*factors))

    def gather_cost(self, width: int, *, branches: bool) -> float:
        """Return the cost of the sparse products of one member, see `BranchOperator.gather_cost`."""
        return gather_cost(self._factors.b, self.alpha, self.device.type, width, branches=branches)

    def __repr__(self) -> str:
        return f"SobolevFamily({self.graph!r}, alpha={self.alpha}, shift={self.shift!r}, dtype={self.dtype})"


class DifferentiableOperator(HadamardOperator):
    """S_1, …, S_α of a `SobolevFamily` at one ε, differentiable with respect to ε and the edge weights.

    It is returned by `SobolevFamily.at`; layers accept it like a `SobolevOperator`.

    Attributes:
        family: the family of the operator.
        epsilon: value of ε; NaN inside `torch.compile` and transforms of `torch.func`, where it has no concrete value.
    """

    def __init__(self, family: SobolevFamily, epsilon: float, powers: HadamardPowers) -> None:
        self.family = family
        self.epsilon = epsilon
        self.n_nodes, self.alpha, self.shift = family.n_nodes, family.alpha, family.shift
        self.dtype, self.device = family.dtype, family.device
        self.powers = powers

    @property
    def is_constant(self) -> bool:
        """False: the operators change with ε and with the edge weights."""
        return False

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "DifferentiableOperator":
        """Return the same operator, and its family, on another device."""
        powers = self.powers.to(device, non_blocking=non_blocking)
        return DifferentiableOperator(self.family.to(device), self.epsilon, powers)

    def selected(self, selection: Selection) -> "DifferentiableOperator":
        """Return the operator restricted to the rows and columns of some nodes, without renormalisation."""
        family, nodes = self.family.selected(selection), torch.from_numpy(selection.nodes).to(self.device)
        csr = family.pattern.pointers, family.pattern.indices
        powers = HadamardPowers(*csr, family._factors.b, self.powers.c[nodes], self.powers.t[nodes], self.powers.sign)
        return DifferentiableOperator(family, self.epsilon, powers)

    def __repr__(self) -> str:
        return f"DifferentiableOperator({self.family!r}, epsilon={self.epsilon:g})"
