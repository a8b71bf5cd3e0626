"""Base classes of operators on a graph, and inputs that an operator has propagated once."""

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self, TypeGuard

import torch
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.graphs.selection import Selection
from s2gnn.operators import kernel, propagation
from s2gnn.operators.autograd import transforming
from s2gnn.operators.powers import HALF_PRECISION, HadamardPowers
from s2gnn.operators.propagation import by_branch
from s2gnn.operators.shifts import Shift


def is_dense(x: object) -> TypeGuard[Tensor]:
    """Return whether `x` is a tensor whose memory kernels can read: strided and not nested."""
    return isinstance(x, Tensor) and x.layout == torch.strided and not x.is_nested


class GraphOperator(ABC):
    """Base class of the second argument of networks: data on the nodes or edges of one graph.

    Attributes:
        n_nodes: number of nodes N.
    """

    n_nodes: int

    @abstractmethod
    def selected(self, selection: Selection) -> Self:
        """Return the operator restricted to the rows and columns of some nodes, without renormalisation."""

    @abstractmethod
    def to(self, device: torch.device | str) -> Self:
        """Return the same operator on another device."""

    def within_graphs(self, sizes: Tensor) -> Self:
        """Return the operator of a disjoint union of graphs with `sizes` (G,) nodes; the same for most operators."""
        del sizes
        return self


class BranchOperator(GraphOperator):
    """Base class of operators with the matrices S_1, …, S_α of the branches of a layer; S_0 is the identity.

    Attributes:
        alpha: number of matrices α.
        epsilon: weight of the identity.
        shift: name of the shift operator.
        dtype: dtype of the products.
        device: device of the products.
    """

    alpha: int
    epsilon: float
    shift: Shift
    dtype: torch.dtype
    device: torch.device

    @abstractmethod
    def propagate_branches(self, h: Tensor) -> Tensor:
        """Return S_ρ h_ρ, one input for each ρ = 0..α, differentiable: h (N, α + 1, F) → (N, α + 1, F)."""

    @abstractmethod
    def gather_cost(self, width: int, *, branches: bool) -> float:
        """Return the cost of the sparse products with one signal (N, width), or one for each of the α `branches`.

        The unit is the floating-point operations of a large dense product that takes the same time.
        """

    @property
    def is_constant(self) -> bool:
        """Whether S_ρ x is constant for a constant x, so that it can be computed once."""
        return True

    def propagate(self, h: Tensor) -> Tensor:
        """Return S_ρ h for ρ = 1..α, differentiable: h (N, F) → (α, N, F)."""
        return self.stacked(h)[:, 1:].transpose(0, 1)

    def stacked(self, h: Tensor) -> Tensor:
        """Return S_ρ h for ρ = 0..α, differentiable: h (N, F) → (N, α + 1, F)."""
        return self.propagate_branches(self.signal(h)[:, None].expand(-1, self.alpha + 1, -1))

    def filtered(self, x: "Tensor | PreparedInput", weight: Tensor) -> Tensor:
        """Return (S_ρ x) W_ρ for ρ = 0..α, differentiable: x (N, F), weight (α + 1, F, out) → (N, α + 1, out)."""
        return by_branch(x.by(self) if isinstance(x, PreparedInput) else self.stacked(x), weight)

    def prepare(self, x: Tensor) -> "PreparedInput":
        """Compute S_ρ x of a constant input x (N, F) once; layers accept the result instead of x."""
        constant = x.detach() if isinstance(x, Tensor) else x
        return PreparedInput(self.stacked(constant), self)

    def stores_half_precision(self, h: Tensor) -> bool:
        """Return whether products read and write signals like `h` in half precision; they are computed in float32."""
        del h
        return False

    def signal(self, h: Tensor, *, branches: bool = False) -> Tensor:
        """Validate shape, dtype and device of the signal `h` (N, F) or (N, α + 1, F); autocast converts it."""
        if not is_dense(h):
            raise InputError(f"the signal is a {type(h).__name__}, but the operator expects a dense, strided tensor")
        leading = (self.n_nodes, self.alpha + 1) if branches else (self.n_nodes,)
        if h.ndim != len(leading) + 1 or h.shape[:-1] != leading:
            expected = ", ".join(str(size) for size in (*leading, "F"))
            raise InputError(f"the signal has shape {tuple(h.shape)}, but the operator expects ({expected})")
        if h.device != self.device:
            raise InputError(
                f"the signal is on {h.device}, but the operator is on {self.device}: move one of them with .to(device)"
            )
        if self.stores_half_precision(h):
            return h
        if h.dtype != self.dtype and not h.is_meta and torch.is_autocast_enabled(h.device.type):
            h = h.to(self.dtype)
        if h.dtype != self.dtype:
            raise InputError(
                f"the signal is {h.dtype}, but the operator computes in {self.dtype}: convert the signal, "
                f"or build the operator with dtype={h.dtype}"
            )
        return h


class HadamardOperator(BranchOperator):
    """Base class of operators that are normalised Hadamard powers of one graph, stored as factors.

    Attributes:
        powers: the factors, as the kernels take them.
    """

    powers: HadamardPowers

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Self:
        """Return the same operator on another device; gradients flow back to learned factors of the original.

        Args:
            device: target device.
            non_blocking: see `torch.Tensor.to`; PyG's `Data.to` passes it.
        """
        moved = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Tensor | HadamardPowers):
                setattr(moved, name, value.to(device, non_blocking=non_blocking))
        moved.device = moved.powers.b.device
        return moved

    def stores_half_precision(self, h: Tensor) -> bool:
        """Return whether `h` is in half precision, on a GPU, where Triton computes."""
        is_half = h.dtype in HALF_PRECISION and self.dtype == torch.float32
        return is_half and kernel.chosen(h.device.type) == kernel.TRITON and not transforming()

    def stacked(self, h: Tensor) -> Tensor:
        """Return S_ρ h for ρ = 0..α, differentiable: h (N, F) → (N, α + 1, F)."""
        return propagation.fan_out(self.powers, self.signal(h))

    def propagate_branches(self, h: Tensor) -> Tensor:
        """Return S_ρ h_ρ, one input for each ρ = 0..α, differentiable: h (N, α + 1, F) → (N, α + 1, F)."""
        return propagation.branchwise(self.powers, self.signal(h, branches=True))

    def filtered(self, x: "Tensor | PreparedInput", weight: Tensor) -> Tensor:
        """Return (S_ρ x) W_ρ for ρ = 0..α, differentiable: x (N, F), weight (α + 1, F, out) → (N, α + 1, out)."""
        if isinstance(x, Tensor) and x.requires_grad and torch.is_grad_enabled() and not self.powers.are_learned:
            return propagation.filtered(self.powers, self.signal(x), weight)
        return super().filtered(x, weight)

    def gather_cost(self, width: int, *, branches: bool) -> float:
        """Return the cost of the sparse products with one signal (N, width), or one for each of the α `branches`."""
        return propagation.gather_cost(self.powers.b, self.alpha, self.device.type, width, branches=branches)


@dataclass(frozen=True, eq=False)
class PreparedInput:
    """A constant input under each filter of a first layer, computed once for all epochs and seeds.

    Attributes:
        stacked: the filtered inputs, (N, R, F); for `op.prepare(x)`, S_ρ x for ρ = 0..α.
        operator: the operator that prepared it; layers raise an error if it is used with another operator.
    """

    stacked: Tensor
    operator: GraphOperator

    @property
    def shape(self) -> torch.Size:
        """The shape (N, F) of the input."""
        return torch.Size((self.stacked.shape[0], self.stacked.shape[2]))

    @property
    def x(self) -> Tensor:
        """The input under the first filter, (N, F); for `op.prepare(x)`, the input itself."""
        return self.stacked[:, 0]

    @property
    def propagated(self) -> Tensor:
        """The input under the other filters, (R − 1, N, F); for `op.prepare(x)`, S_ρ x for ρ = 1..α."""
        return self.stacked[:, 1:].transpose(0, 1)

    def by(self, operator: GraphOperator) -> Tensor:
        """Return the filtered inputs (N, R, F); raises an error if another operator prepared them."""
        if operator is not self.operator:
            raise InputError(
                "the prepared input was made by another operator: call the model with both that prepare returned"
            )
        return self.stacked

    def to(self, device: torch.device | str) -> "PreparedInput":
        """Return the same input on another device, together with its `operator`."""
        return PreparedInput(self.stacked.to(device), self.operator.to(device))

    def rows(self, chosen: Tensor, operator: GraphOperator) -> "PreparedInput":
        """Return the rows `chosen` (n,), for the `operator` restricted to these nodes."""
        return PreparedInput(self.stacked.index_select(0, chosen.to(self.stacked.device)), operator)
