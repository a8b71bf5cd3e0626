"""SobolevOperator: the α normalised Hadamard powers of a graph."""

import copy
import math
import sys
import warnings
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from s2gnn.errors import IdenticalBranchesWarning, InputError
from s2gnn.graphs import Graph
from s2gnn.graphs.selection import Selection
from s2gnn.graphs.union import DisjointUnion
from s2gnn.operators.autograd import transforming
from s2gnn.operators.graph_operator import HadamardOperator
from s2gnn.operators.powers import HadamardPowers
from s2gnn.operators.shifts import Shift, hadamard_factors, with_diagonal
from s2gnn.ranges import DEPTH, real

_NUMPY: dict[torch.dtype, type[np.floating]] = {torch.float32: np.float32, torch.float64: np.float64}


class SobolevOperator(HadamardOperator):
    r"""The shift operators S_1, …, S_α of the paper, Section IV-C, on one weighted graph.

    .. math::
        S_\rho = D_\rho^{-1/2} (A + \epsilon I)^{(\rho)} D_\rho^{-1/2}

    where :math:`(\cdot)^{(\rho)}` is the element-wise (Hadamard) power and :math:`D_\rho` the diagonal matrix
    of the row sums of absolute values. S_0 is the identity. Every S_ρ has the pattern of A + εI, is
    symmetric, and has spectral radius at most 1. An isolated node keeps its own signal for ε > 0; for ε = 0 its row is
    zero. For ε = 1, S_1 is the operator of GCN.

    The sparsity pattern is stored once for all powers. Build the operator once and pass it to every layer.

    Args:
        graph: weighted graph on N nodes.
        alpha: highest power, at least 1.
        epsilon: weight of the identity, at least 0.
        shift: "adjacency" (the paper's), or "laplacian", "normalized_adjacency", "normalized_laplacian" to replace A by
            L, A_N or Δ.
        dtype: dtype of the products, torch.float32 or torch.float64.
        device: device of the products.

    Example:
        >>> graph = Graph.from_edge_list([(0, 1), (1, 2)], weights=[0.5, 2.0])
        >>> op = SobolevOperator(graph, alpha=2)
        >>> op.matrix(2).toarray().round(3)
        array([[0.8  , 0.098, 0.   ],
               [0.098, 0.19 , 0.781],
               [0.   , 0.781, 0.2  ]])
        >>> op.propagate(torch.ones(3, 5)).shape
        torch.Size([2, 3, 5])
    """

    def __init__(
        self,
        graph: Graph,
        alpha: int = 4,
        epsilon: float = 1.0,
        shift: Shift = "adjacency",
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        check_graph(graph)
        check_alpha(alpha)
        check_epsilon(epsilon)
        check_dtype(dtype)
        self.graph = graph
        self.n_nodes = graph.n_nodes
        self.alpha = int(alpha)
        self.epsilon = float(epsilon)
        self.shift: Shift = shift
        self.dtype = dtype
        factors = hadamard_factors(graph, self.alpha, self.epsilon, shift, _NUMPY[dtype])
        self.powers = HadamardPowers(
            torch.tensor(graph.indptr),
            torch.tensor(graph.indices),
            torch.from_numpy(factors.b),
            torch.from_numpy(factors.c).to(dtype),
            torch.from_numpy(factors.t).to(dtype),
            factors.sign,
        ).to(device)
        self.device = self.powers.b.device
        self._within: tuple[SobolevOperator, Selection] | None = None
        if factors.identical:
            warn_of_identical_branches(self.alpha, self.epsilon, shift)

    def matrix(self, rho: int) -> sp.csr_array:
        """Return S_ρ as a SciPy CSR array (N, N) in float64, for ρ in 0..α."""
        if not isinstance(rho, int | np.integer) or rho not in range(self.alpha + 1):
            raise InputError(f"rho is {rho}, but this operator has the powers 0..{self.alpha}")
        if rho == 0:
            return sp.eye_array(self.n_nodes, format="csr")
        if self._within is not None:
            whole, selection = self._within
            return whole.matrix(rho)[selection.nodes][:, selection.nodes]
        factors = hadamard_factors(self.graph, self.alpha, self.epsilon, self.shift)
        c = factors.c[:, rho - 1]
        off_diagonal = factors.sign**rho * factors.b**rho * (c[self.graph.rows()] * c[self.graph.indices])
        return with_diagonal(self.graph, off_diagonal, factors.t**rho * c**2)

    @classmethod
    def union(cls, operators: Sequence["SobolevOperator"]) -> "SobolevOperator":
        """Return the operator of the disjoint union of the graphs of `operators`, which have the same α, ε and shift.

        Nothing is recomputed, because degrees do not cross the graphs.
        """
        first = operators[0]
        for op in operators:
            if (op.alpha, op.epsilon, op.shift, op.dtype) != (first.alpha, first.epsilon, first.shift, first.dtype):
                raise InputError(f"the operators {first!r} and {op!r} differ: build all with the same values")
        joined = copy.copy(first)
        joined.graph = DisjointUnion.of([op.graph for op in operators]).graph
        joined.n_nodes = joined.graph.n_nodes
        csr = torch.tensor(joined.graph.indptr), torch.tensor(joined.graph.indices)
        b, c, t = (torch.cat(parts) for parts in zip(*(op.powers[2:5] for op in operators), strict=True))
        joined.powers = HadamardPowers(*csr, b, c, t, first.powers.sign).to(first.device)
        joined._within = None
        return joined

    def selected(self, selection: Selection) -> "SobolevOperator":
        """Return the operator restricted to the rows and columns (n, n) of some nodes, without renormalisation.

        Degrees are those of the whole graph; contributions of edges that leave the selected nodes are missing.
        """
        stored = selection.stored(self.graph.indptr, self.graph.indices)
        entries, nodes = (torch.from_numpy(places).to(self.device) for places in (stored.entries, selection.nodes))
        part = copy.copy(self)
        part.graph = stored.of_graph(self.graph)
        part.n_nodes = part.graph.n_nodes
        part.powers = HadamardPowers(
            torch.tensor(part.graph.indptr),
            torch.tensor(part.graph.indices),
            self.powers.b.index_select(0, entries),
            self.powers.c.index_select(0, nodes),
            self.powers.t.index_select(0, nodes),
            self.powers.sign,
        ).to(self.device)
        part._within = (self, selection)
        return part

    def __repr__(self) -> str:
        return (
            f"SobolevOperator({self.graph!r}, alpha={self.alpha}, epsilon={self.epsilon:g}, "
            f"shift={self.shift!r}, dtype={self.dtype})"
        )


def warn_of_identical_branches(alpha: int, epsilon: float, shift: Shift) -> None:
    """Warn that all powers are the same operator, if there are several."""
    if alpha > 1:
        warnings.warn(
            f"on this graph, with epsilon={epsilon:g} and shift={shift!r}, the {alpha} Hadamard powers are all the "
            "same operator: give the edges weights with s2gnn.graphs.weights, or choose another epsilon, or "
            'shift="laplacian" or "normalized_laplacian"',
            IdenticalBranchesWarning,
            stacklevel=_stacklevel(),
        )


def _stacklevel() -> int:
    """Return the level of the code that called this package, directly or through PyTorch."""
    frame, level, passed = sys._getframe(1), 1, ("s2gnn", "torch", "torch_geometric")
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in passed:
        frame, level = frame.f_back, level + 1
    return level


def check_graph(graph: object) -> None:
    """Raise an error unless `graph` is a `Graph`."""
    if not isinstance(graph, Graph):
        raise InputError(f"graph is a {type(graph).__name__}: build a Graph, for instance Graph.from_scipy(A)")


def check_dtype(dtype: torch.dtype) -> None:
    """Raise an error unless `dtype` is supported."""
    if dtype not in _NUMPY:
        raise InputError(f"dtype is {dtype}, but it must be torch.float32 or torch.float64")


def check_alpha(alpha: int) -> None:
    """Raise an error unless `alpha` is a valid number of Hadamard powers."""
    DEPTH.checked(alpha, "alpha")


def check_epsilon(epsilon: float) -> None:
    """Raise an error unless `epsilon` is finite and non-negative."""
    if not 0 <= real(epsilon) < math.inf:
        raise InputError(f"epsilon is {epsilon!r}, but it must be a finite number >= 0")


def epsilon_number(epsilon: float | Tensor) -> float:
    """Return ε as a validated number; NaN for a tensor without a concrete value (compiler, transforms, meta device)."""
    if isinstance(epsilon, Tensor) and (torch.compiler.is_compiling() or transforming() or epsilon.is_meta):
        return math.nan
    number = float(epsilon.detach()) if isinstance(epsilon, Tensor) else epsilon
    check_epsilon(number)
    return float(number)
