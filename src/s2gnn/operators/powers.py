"""HadamardPowers: the factors of all S_ρ of one graph as tensors, in the format of the kernels."""

from typing import NamedTuple

import torch
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.operators.autograd import transforming
from s2gnn.operators.chunks import chunks, with_chunks

HALF_PRECISION = (torch.float16, torch.bfloat16)


class HadamardPowers(NamedTuple):
    """S_ρ(i, j) = sign^ρ b_ij^ρ c_ρ(i) c_ρ(j) for ρ = 1..α, with the CSR pattern of the graph.

    Row i holds what node i receives. On an undirected graph every S_ρ is its own transpose. On a directed one the same
    two tensors also hold the pattern of the transposes, for backward passes, and on a GPU the chunks that its kernels
    split rows into: one more argument would cost each custom operator microseconds per call.

    Attributes:
        indptr: (N + 1,) int32; of a directed graph (2N + 2,), that of the transposed pattern second; on a GPU followed
            by the chunks of each pattern, see `chunks`.
        indices: (E,) int32, E stored directions; of a directed graph (3E,), those of the transposed pattern second, and
            third where each entry of the transposed pattern is stored in this one.
        b: (E,).
        c: (N, α).
        t: (N,), with S_ρ(i, i) = t_i^ρ c_ρ(i)²; or (N, α), the diagonals themselves.
        sign: +1 or −1.
    """

    indptr: Tensor
    indices: Tensor
    b: Tensor
    c: Tensor
    t: Tensor
    sign: int

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "HadamardPowers":
        """Copy the factors to another device."""
        indptr, indices, b, c, t = (factor.to(device, non_blocking=non_blocking) for factor in self[:5])
        if indptr.shape[0] == self._pointers:
            indptr = with_chunks(indptr, c.shape[0], b.shape[0])
        return HadamardPowers(indptr, indices, b, c, t, self.sign)

    @property
    def are_learned(self) -> bool:
        """Whether b, c or t may require derivatives; a constant operator has one t for all powers."""
        if self.t.dim() == 1:
            return False
        if transforming():  # a tensor does not expose all the transforms that apply to it
            return True
        return torch.is_grad_enabled() and any(x.requires_grad for x in (self.b, self.c, self.t))

    @property
    def are_directed(self) -> bool:
        """Whether the graph is directed, so that S_ρ is not symmetric."""
        return self.indices.size(0) > self.b.size(0)

    @property
    def _pointers(self) -> int:
        """The number of row pointers of all patterns."""
        return (self.c.size(0) + 1) * (2 if self.are_directed else 1)

    def csr(self) -> tuple[Tensor, Tensor]:
        """Return the row pointers (N + 1,) and columns (E,)."""
        return self.indptr[: self.c.shape[0] + 1], self.indices[: self.b.shape[0]]

    def checked_csr(self) -> tuple[Tensor, Tensor]:
        """Return row pointers and columns, contiguous and checked, since torch's sparse product does not check them."""
        (indptr, indices), n, nnz = self.csr(), self.c.shape[0], self.b.shape[0]
        complete = indptr.shape == (n + 1,) and indices.shape == (nnz,)
        if not complete or not (
            (indptr[0] == 0)
            & (indptr[-1] == nnz)
            & (indptr[1:] >= indptr[:-1]).all()
            & ((indices >= 0) & (indices < n)).all()
        ):
            raise InputError(
                f"not a CSR pattern: indptr must ascend from 0 to the number of edges, {nnz}, "
                f"and indices lie in 0..{n - 1}"
            )
        return indptr.contiguous(), indices.contiguous()

    def chunks(self) -> Tensor:
        """Return the chunks that GPU kernels split rows into, computed here if the operator is for another kernel."""
        if self.indptr.shape[0] == self._pointers:
            return chunks(self.csr()[0], self.b.shape[0])
        by_pattern = self.indptr[self._pointers :].view(2 if self.are_directed else 1, -1, 3)
        return by_pattern[0]

    def rows(self) -> Tensor:
        """Return the row of every stored entry, (E,) int64."""
        nodes = torch.arange(self.c.shape[0], device=self.b.device)
        return nodes.repeat_interleave(self.csr()[0].diff(), output_size=self.b.shape[0])

    def transposed(self) -> "HadamardPowers":
        """Return the factors of the transposes of all S_ρ."""
        if not self.are_directed:
            return self
        indices, reverse_indices, order = self.indices.chunk(3)
        places = torch.arange(order.shape[0], dtype=order.dtype, device=order.device)
        inverse = torch.empty_like(order).scatter(0, order.long(), places)
        b = self.b.index_select(0, order)
        parts = self.indptr[: self._pointers], self.indptr[self._pointers :]  # the row pointers, and the chunks
        indptr = torch.cat([half for part in parts for half in reversed(part.chunk(2))])
        indices = torch.cat([reverse_indices, indices, inverse])
        return HadamardPowers(indptr, indices, b, self.c, self.t, self.sign)


def product_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype in which products with signals of `dtype` are computed: float32 for half precision."""
    return torch.float32 if dtype in HALF_PRECISION else dtype
