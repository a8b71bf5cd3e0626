"""The differentiable products with all S_ρ at once, on plain torch.

Every S_ρ is symmetric, so a backward pass uses the forward products again and no transpose is formed.
Only the α-th part of α matrices is stored: b^ρ is made anew for each branch, in one array of E floats.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

with warnings.catch_warnings():
    # torch says once per process that CSR tensors are in beta; let that be here and not at the user's.
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor(
        torch.tensor([0, 0]), torch.tensor([], dtype=torch.int64), torch.tensor([]), size=(1, 1),
        check_invariants=False,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class HadamardPowers:
    """`HadamardFactors` as tensors, with the CSR pattern of the graph.

    Attributes:
        indptr: (N + 1,) int32.
        indices: (E,) int32, E stored directions.
        b: (E,).
        c: (N, alpha).
        t: (N,).
        sign: +1 or -1.
    """

    indptr: Tensor
    indices: Tensor
    b: Tensor
    c: Tensor
    t: Tensor
    sign: int

    @property
    def alpha(self) -> int:
        """The number of powers."""
        return self.c.shape[1]

    def products(self, inputs: Tensor) -> Iterator[Tensor]:
        """Yield S_ρ H_ρ (N, F) for ρ = 1..α, of inputs H (α, N, F)."""
        n = len(self.t)
        power = torch.ones_like(self.b)
        for rho, h in enumerate(inputs, start=1):
            power = power * self.b
            c = self.c[:, rho - 1, None]  # (N, 1)
            hadamard = torch.sparse_csr_tensor(self.indptr, self.indices, power, size=(n, n), check_invariants=False)
            neighbours = c * (hadamard @ (c * h))  # (N, F)
            yield self.sign**rho * neighbours + (self.t[:, None] ** rho * c**2) * h


def fan_out(powers: HadamardPowers, h: Tensor) -> Tensor:
    """S_ρ h for all ρ, differentiable: h (N, F) → (α, N, F)."""
    return _FanOut.apply(h, powers)  # type: ignore[no-any-return, no-untyped-call]


def fan_in(powers: HadamardPowers, g: Tensor) -> Tensor:
    """Σ_ρ S_ρ g_ρ, the adjoint of `fan_out`, differentiable: g (α, N, F) → (N, F)."""
    return _FanIn.apply(g, powers)  # type: ignore[no-any-return, no-untyped-call]


def branchwise(powers: HadamardPowers, h: Tensor) -> Tensor:
    """S_ρ h_ρ branch by branch, its own adjoint, differentiable: h (α, N, F) → (α, N, F)."""
    return _Branchwise.apply(h, powers)  # type: ignore[no-any-return, no-untyped-call]


class _Linear(torch.autograd.Function):
    """A linear map of one tensor, fixed by `HadamardPowers`; a subclass names the map and its adjoint."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, HadamardPowers], output: Tensor) -> None:
        del output
        ctx.powers = inputs[1]


class _FanOut(_Linear):
    @staticmethod
    def forward(h: Tensor, powers: HadamardPowers) -> Tensor:
        return torch.stack(list(powers.products(h.expand(powers.alpha, *h.shape))))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return fan_in(ctx.powers, grad), None


class _FanIn(_Linear):
    @staticmethod
    def forward(g: Tensor, powers: HadamardPowers) -> Tensor:
        total = torch.zeros_like(g[0])
        for product in powers.products(g):
            total += product
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return fan_out(ctx.powers, grad), None


class _Branchwise(_Linear):
    @staticmethod
    def forward(h: Tensor, powers: HadamardPowers) -> Tensor:
        return torch.stack(list(powers.products(h)))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return branchwise(ctx.powers, grad), None
