"""What operators on a graph have in common, and the input that one of them has propagated once."""

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
    """Whether `x` is a tensor whose memory kernels can read: not sparse, nested or of another library's layout."""
    return isinstance(x, Tensor) and x.layout == torch.strided and not x.is_nested


class GraphOperator(ABC):
    """What a network is called with together with its input: numbers that belong to the nodes or edges of one graph.

    Attributes:
        n_nodes: N.
    """

    n_nodes: int

    @abstractmethod
    def selected(self, selection: Selection) -> Self:
        """The rows and columns of some nodes, as an operator on these; nothing is normalised again."""

    @abstractmethod
    def to(self, device: torch.device | str) -> Self:
        """The same operator on another device."""

    def within_graphs(self, sizes: Tensor) -> Self:
        """The operator of a disjoint union of graphs with `sizes` (G,) nodes; the same for most operators."""
        del sizes
        return self


class BranchOperator(GraphOperator):
    """The matrices S_1, …, S_α of one graph, which the branches of a layer multiply with; S_0 is the identity.

    Attributes:
        alpha: α.
        epsilon: weight of the identity.
        shift: the shift operator that the matrices are made of.
        dtype: in which products are computed.
        device: where.
    """

    alpha: int
    epsilon: float
    shift: Shift
    dtype: torch.dtype
    device: torch.device

    @abstractmethod
    def propagate_branches(self, h: Tensor) -> Tensor:
        """S_ρ h_ρ, one input for each ρ = 0..α, differentiable: h (N, α + 1, F) → (N, α + 1, F)."""

    @abstractmethod
    def gather_cost(self, width: int, *, branches: bool) -> float:
        """The cost of the sparse products with one signal (N, width), or with one for each of the α `branches`.

        In floating-point operations of one large dense product that would take as long.
        """

    @property
    def is_constant(self) -> bool:
        """Whether S_ρ x of a constant x never changes, so that it can be computed once."""
        return True

    def propagate(self, h: Tensor) -> Tensor:
        """S_ρ h for ρ = 1..α, differentiable: h (N, F) → (α, N, F)."""
        return self.stacked(h)[:, 1:].transpose(0, 1)

    def stacked(self, h: Tensor) -> Tensor:
        """S_ρ h for ρ = 0..α, differentiable: h (N, F) → (N, α + 1, F)."""
        return self.propagate_branches(self.signal(h)[:, None].expand(-1, self.alpha + 1, -1))

    def filtered(self, x: "Tensor | PreparedInput", weight: Tensor) -> Tensor:
        """(S_ρ x) W_ρ for ρ = 0..α, differentiable: x (N, F), weight (α + 1, F, out) → (N, α + 1, out)."""
        return by_branch(x.by(self) if isinstance(x, PreparedInput) else self.stacked(x), weight)

    def prepare(self, x: Tensor) -> "PreparedInput":
        """S_ρ x of an input that never changes, x (N, F), computed once; a layer takes it in place of x."""
        return PreparedInput(self.stacked(x.detach()), self)

    def stores_half_precision(self, h: Tensor) -> bool:
        """Whether products take the signal `h` and give theirs in half precision, computed in float32."""
        del h
        return False

    def signal(self, h: Tensor, *, branches: bool = False) -> Tensor:
        """`h` (N, F), or (N, α + 1, F), if its shape, type and device fit; autocast converts it."""
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
    """Normalised Hadamard powers of one graph, in the factors that the kernels take.

    Attributes:
        powers: the factors.
    """

    powers: HadamardPowers

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Self:
        """The same operator on another device; gradients by learned factors flow back to this one.

        Args:
            device: where.
            non_blocking: as of `torch.Tensor.to`; PyG's `Data.to` passes it.
        """
        moved = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Tensor | HadamardPowers):
                setattr(moved, name, value.to(device, non_blocking=non_blocking))
        moved.device = moved.powers.b.device
        return moved

    def stores_half_precision(self, h: Tensor) -> bool:
        """Whether `h` is in half precision, on a GPU, where Triton computes."""
        is_half = h.dtype in HALF_PRECISION and self.dtype == torch.float32
        return is_half and kernel.chosen(h.device.type) == kernel.TRITON and not transforming()

    def stacked(self, h: Tensor) -> Tensor:
        """S_ρ h for ρ = 0..α, differentiable: h (N, F) → (N, α + 1, F)."""
        return propagation.fan_out(self.powers, self.signal(h))

    def propagate_branches(self, h: Tensor) -> Tensor:
        """S_ρ h_ρ, one input for each ρ = 0..α, differentiable: h (N, α + 1, F) → (N, α + 1, F)."""
        return propagation.branchwise(self.powers, self.signal(h, branches=True))

    def filtered(self, x: "Tensor | PreparedInput", weight: Tensor) -> Tensor:
        """(S_ρ x) W_ρ for ρ = 0..α, differentiable: x (N, F), weight (α + 1, F, out) → (N, α + 1, out)."""
        if isinstance(x, Tensor) and x.requires_grad and torch.is_grad_enabled() and not self.powers.are_learned:
            return propagation.filtered(self.powers, self.signal(x), weight)
        return super().filtered(x, weight)

    def gather_cost(self, width: int, *, branches: bool) -> float:
        """The cost of the sparse products with one signal (N, width), or with one for each of the α `branches`."""
        return propagation.gather_cost(self.powers.b, self.alpha, self.device.type, width, branches=branches)


@dataclass(frozen=True, eq=False)
class PreparedInput:
    """A constant input under each of the filters of a first layer, computed once for all epochs and seeds.

    Attributes:
        stacked: the filtered inputs of each node side by side, (N, R, F); of `op.prepare(x)`, S_ρ x for ρ = 0..α.
        operator: the operator that made it; a layer refuses what another operator made.
    """

    stacked: Tensor
    operator: GraphOperator

    @property
    def shape(self) -> torch.Size:
        """The shape (N, F) of the input."""
        return torch.Size((self.stacked.shape[0], self.stacked.shape[2]))

    @property
    def x(self) -> Tensor:
        """The input under the first filter, (N, F); of `op.prepare(x)`, the input itself."""
        return self.stacked[:, 0]

    @property
    def propagated(self) -> Tensor:
        """The input under the other filters, (R − 1, N, F); of `op.prepare(x)`, S_ρ x for ρ = 1..α."""
        return self.stacked[:, 1:].transpose(0, 1)

    def by(self, operator: GraphOperator) -> Tensor:
        """The filtered inputs (N, R, F), if `operator` made them."""
        if operator is not self.operator:
            raise InputError(
                "the prepared input was made by another operator: call the model with both that prepare returned"
            )
        return self.stacked

    def to(self, device: torch.device | str) -> "PreparedInput":
        """The same input on another device, with its `operator` there, which the network is called with."""
        return PreparedInput(self.stacked.to(device), self.operator.to(device))

    def rows(self, chosen: Tensor, operator: GraphOperator) -> "PreparedInput":
        """The rows `chosen` (n,), for the `operator` of these nodes alone."""
        return PreparedInput(self.stacked.index_select(0, chosen.to(self.stacked.device)), operator)
