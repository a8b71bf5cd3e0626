"""SIGN: linear layers on concatenated powers of the normalised adjacency matrix (Frasca et al., 2020)."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from s2gnn.errors import InputError
from s2gnn.nn.baselines.filters import FilterLayer, FilterNetwork, powers, propagate
from s2gnn.nn.baselines.stack import LinearLayer
from s2gnn.operators import BranchOperator, SparseInput
from s2gnn.ranges import DEPTH


class SIGNLayer(FilterLayer):
    r"""[A_N X W_1 + b_1, A_N² X W_2 + b_2, …] with :math:`A_N = D^{-1/2} A D^{-1/2}`: no self-loops, no identity.

    Shapes:
        - output: (N, K · out_channels)
    """

    def __init__(self, in_channels: int, out_channels: int, *, powers: int = 2) -> None:
        super().__init__(in_channels, out_channels)
        K = DEPTH.checked(powers, "powers")
        self.products = (K + 1) / 2  # the k-th power multiplies k times
        self.linears = nn.ModuleList(nn.Linear(in_channels, out_channels) for _ in range(K))

    def filters(self, x: Tensor, op: BranchOperator) -> tuple[Tensor, ...]:
        """Return A_N x, A_N² x, …, A_N^K x."""
        return powers(op, x, len(self.linears))

    def combine(self, *signals: Tensor) -> Tensor:
        """Return [(A_N x) W_1 + b_1, …]."""
        return torch.cat([linear(signal) for linear, signal in zip(self.linears, signals, strict=True)], dim=1)

    def transform_first(self, x: Tensor | SparseInput, op: BranchOperator) -> Tensor:
        """Return A_N^k (x W_k): each product is on the concatenated remaining powers."""
        remaining = x @ torch.cat([linear.get_parameter("weight") for linear in self.linears]).T
        outputs = []
        for linear in self.linears:
            remaining = propagate(op, remaining)
            outputs.append(remaining[:, : self.out_channels] + linear.get_parameter("bias"))
            remaining = remaining[:, self.out_channels :]
        return torch.cat(outputs, dim=1)


class SIGN(FilterNetwork):
    """One linear layer for each power of the normalised adjacency matrix, then linear layers on all of them.

    `head` is always "plain", because SIGN is the only baseline whose logits the released code leaves unchanged. Other
    arguments and shapes: see `Stack`.

    Args:
        hidden_channels: width of each power, and between further layers.
        num_layers: number of layers, at least 2; the released code has 2.
        powers: the highest power K ≥ 1, default 2; the powers are 1..K.
    """

    LAYER = SIGNLayer
    HEADS = ("plain",)
    EPSILON = 0.0

    def new_layers(self, widths: list[int], **of_layers: Any) -> Iterable[nn.Module]:
        """Return the layer of powers and the linear layers after it."""
        if len(widths) < 3:
            raise InputError(
                f"num_layers is {len(widths) - 1}, but SIGN has at least 2: the powers, and what reads them"
            )
        first, second, *others = widths
        powers = self.LAYER(first, second, **of_layers)
        return [powers, *(LinearLayer(i, o) for i, o in pairwise([len(powers.linears) * second, *others]))]
