"""Fusions of the α+1 branches of a layer."""

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from s2gnn.graphs.validation import check_choice

FusionName = Literal["linear", "mlp", "attention"]


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
        """Return |μ_ρ| for ρ = 0..α, (α + 1,)."""
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
        """Return ‖W_ρ‖_F / √out of the block W_ρ of `weight` for each branch 0..α, (α + 1,); |μ_ρ| if W_ρ = μ_ρ I."""
        blocks = self.weight.view(self.alpha + 1, -1)
        norms: Tensor = torch.linalg.vector_norm(blocks, dim=1)
        return norms / math.sqrt(self.weight.shape[1])


class AttentionFusion(nn.Module):
    r"""H_i = (Σ_ρ a_ρ(i) B_ρ(i)) W + b with a(i) the softmax over ρ of ⟨q_ρ, B_ρ(i)⟩ + s_ρ.

    Every node has its own weights for the branches, whereas the other fusions share them between nodes. The paper
    mentions attention but omits it because of its cost. The linear map W makes negative outputs possible, which logits
    need: branches, and so their weighted means, are non-negative after the ReLU.

    Args:
        alpha: highest Hadamard power; α + 1 branches.
        channels: width `out` of each branch and of the result.

    Shapes:
        - input: the branches B_0..B_α of each node side by side, (N, α + 1, out)
        - output: (N, out)
        - `query`: q, (α + 1, out); `offset`: s, (α + 1,)
        - `weight`: W, (out, out); `bias`: b, (out,)
        - `shares`: the running mean of a(i) over nodes and training steps, (α + 1,), for inspection
    """

    MOMENTUM = 0.1  # of the running mean, that of batch normalisation
    shares: Tensor

    def __init__(self, alpha: int, channels: int) -> None:
        super().__init__()
        self.register_buffer("shares", torch.empty(alpha + 1))
        self.query = nn.Parameter(torch.empty(alpha + 1, channels))
        self.offset = nn.Parameter(torch.empty(alpha + 1))
        self.weight = nn.Parameter(torch.empty(channels, channels))
        self.bias = nn.Parameter(torch.empty(channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise like `torch.nn.Linear`: uniform in ±1/√out; offsets are zero."""
        bound = 1 / math.sqrt(self.weight.shape[0])
        for parameter in (self.query, self.weight, self.bias):
            nn.init.uniform_(parameter, -bound, bound)
        nn.init.zeros_(self.offset)
        nn.init.constant_(self.shares, 1 / len(self.shares))

    def attention(self, branches: Tensor) -> Tensor:
        """Return the attention weight a_ρ(i) of every branch at every node, (N, α + 1); each row sums to 1."""
        return torch.softmax((branches * self.query).sum(dim=2) + self.offset, dim=1)

    def forward(self, branches: Tensor) -> Tensor:
        """Merge `branches` (N, α + 1, out) into (N, out)."""
        attention = self.attention(branches)
        if self.training:
            mean = attention.detach().mean(dim=0).to(self.shares.dtype)
            self.shares.lerp_(mean, self.MOMENTUM)
        merged = (attention[:, None] @ branches).squeeze(1)  # (N, out)
        return torch.addmm(self.bias, merged, self.weight)

    @torch.no_grad()
    def branch_strengths(self) -> Tensor:
        """Return the mean attention weight of each branch ρ = 0..α over nodes and the last training steps, (α + 1,)."""
        return self.shares.clone()


Fusion = LinearFusion | MLPFusion | AttentionFusion
FUSIONS: dict[str, Callable[[int, int], Fusion]] = {
    "linear": lambda alpha, _: LinearFusion(alpha),
    "mlp": MLPFusion,
    "attention": AttentionFusion,
}


def make_fusion(name: FusionName, alpha: int, channels: int) -> Fusion:
    """Create the fusion `name` for α + 1 branches of width `channels`."""
    check_choice("fusion", name, tuple(FUSIONS))
    return FUSIONS[name](alpha, channels)
