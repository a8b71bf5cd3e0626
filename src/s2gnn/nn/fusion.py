"""The two ways to merge the α+1 branches of a layer."""

import math
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from s2gnn.errors import InputError

FusionName = Literal["linear", "mlp"]


class LinearFusion(nn.Module):
    r"""H = Σ_ρ μ_ρ B_ρ, the linear combination layer (the paper, Section IV-C).

    Args:
        alpha: highest Hadamard power; α + 1 branches.

    Shapes:
        - input: the branches B_0..B_α of each node side by side, (N, α + 1, out)
        - output: (N, out)
        - `mu`: (α + 1,)
    """

    def __init__(self, alpha: int) -> None:
        super().__init__()
        self.mu = nn.Parameter(torch.empty(alpha + 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw μ from the standard normal distribution, as the released code does."""
        nn.init.normal_(self.mu)

    def forward(self, branches: Tensor) -> Tensor:
        """Merge `branches` (N, α + 1, out) into (N, out)."""
        return self.mu @ branches

    @torch.no_grad()
    def branch_strengths(self) -> Tensor:
        """|μ_ρ| for ρ = 0..α, (α + 1,)."""
        return self.mu.abs()


class MLPFusion(nn.Module):
    r"""H = [B_0, B_1, …, B_α] W + b, the MLP fusion (the paper, Section IV-C).

    Args:
        alpha: highest Hadamard power; α + 1 branches.
        channels: width `out` of each branch and of the result.

    Shapes:
        - input: the branches B_0..B_α of each node side by side, (N, α + 1, out)
        - output: (N, out)
        - `weight`: ((α + 1) · out, out), the block of branch 0 first
        - `bias`: (out,)
    """

    def __init__(self, alpha: int, channels: int) -> None:
        super().__init__()
        self.alpha = alpha
        self.weight = nn.Parameter(torch.empty((alpha + 1) * channels, channels))
        self.bias = nn.Parameter(torch.empty(channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise like `torch.nn.Linear`: uniform in ±1/√fan_in."""
        bound = 1 / math.sqrt(self.weight.shape[0])
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, branches: Tensor) -> Tensor:
        """Merge `branches` (N, α + 1, out) into (N, out)."""
        return torch.addmm(self.bias, branches.flatten(1), self.weight)

    @torch.no_grad()
    def branch_strengths(self) -> Tensor:
        """‖W_ρ‖_F / √out of the block W_ρ of `weight` that reads branch ρ = 0..α, (α + 1,); |μ_ρ| for W_ρ = μ_ρ I."""
        blocks = self.weight.view(self.alpha + 1, -1)
        norms: Tensor = torch.linalg.vector_norm(blocks, dim=1)
        return norms / math.sqrt(self.weight.shape[1])


def make_fusion(name: FusionName, alpha: int, channels: int) -> LinearFusion | MLPFusion:
    """The fusion called `name` for α + 1 branches of width `channels`."""
    if name == "linear":
        return LinearFusion(alpha)
    if name == "mlp":
        return MLPFusion(alpha, channels)
    raise InputError(f"fusion is {name!r}, but it must be one of {', '.join(get_args(FusionName))}")
