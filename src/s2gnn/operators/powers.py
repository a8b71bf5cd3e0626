"""HadamardPowers: the factors of all S_ρ of one graph as tensors, in the form that the kernels take."""

from typing import NamedTuple

import torch
from torch import Tensor

from s2gnn.operators.autograd import transforming


class HadamardPowers(NamedTuple):
    """S_ρ(i, j) = sign^ρ b_ij^ρ c_ρ(i) c_ρ(j) for ρ = 1..α, with the CSR pattern of the graph.

    Row i holds what node i receives. On an undirected graph every S_ρ is its own transpose; on a directed one the
    pattern of the transposes, which backward passes use, is kept next to it.

    Attributes:
        indptr: (N + 1,) int32.
        indices: (E,) int32, E stored directions.
        b: (E,).
        c: (N, α).
        t: (N,), with S_ρ(i, i) = t_i^ρ c_ρ(i)²; or (N, α), the diagonals themselves.
        sign: +1 or −1.
        reverse_indptr: of the transposed pattern, (N + 1,) int32; `None` for an undirected graph, as the next two.
        reverse_indices: (E,) int32.
        reverse_order: (E,) int64, where each entry of the transposed pattern is stored in this one.
    """

    indptr: Tensor
    indices: Tensor
    b: Tensor
    c: Tensor
    t: Tensor
    sign: int
    reverse_indptr: Tensor | None = None
    reverse_indices: Tensor | None = None
    reverse_order: Tensor | None = None

    @property
    def are_learned(self) -> bool:
        """Whether derivatives by b, c or t may be asked for."""
        if transforming():  # a tensor does not show all the transforms that it is part of
            return self.t.ndim == 2
        return torch.is_grad_enabled() and any(x.requires_grad for x in (self.b, self.c, self.t))

    def rows(self) -> Tensor:
        """The row of every stored entry, (E,) int64."""
        nodes = torch.arange(self.c.shape[0], device=self.b.device)
        return nodes.repeat_interleave(self.indptr.diff(), output_size=self.b.shape[0])

    def transposed(self) -> "HadamardPowers":
        """The factors of the transposes of all S_ρ."""
        if self.reverse_indptr is None or self.reverse_indices is None or self.reverse_order is None:
            return self
        order = self.reverse_order
        positions = torch.arange(order.shape[0], device=order.device)
        return HadamardPowers(
            self.reverse_indptr, self.reverse_indices, self.b.index_select(0, order), self.c, self.t, self.sign,
            self.indptr, self.indices, torch.empty_like(order).scatter(0, order, positions),
        )  # fmt: skip
