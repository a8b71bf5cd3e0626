"""ε of a layer or a network: a number, or a trained parameter."""

import math
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from s2gnn.errors import InputError
from s2gnn.operators.sobolev import check_epsilon

EpsilonName = Literal["learn"]
INITIAL = 1.0


class LearnedEpsilon(nn.Module):
    """A positive ε = exp(θ); θ is the parameter `log`, so that a step changes ε by a share of itself.

    Weight decay leaves it alone: it would draw ε to 1.

    Args:
        initial: where ε starts.
    """

    decays = False  # for the optimiser

    def __init__(self, initial: float = INITIAL) -> None:
        super().__init__()
        self.initial = initial
        self.log = nn.Parameter(torch.empty(()))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Go back to the start."""
        nn.init.constant_(self.log, math.log(self.initial))

    def forward(self) -> Tensor:
        """ε, a float64 scalar."""
        return self.log.double().exp()

    def __float__(self) -> float:
        return float(self().detach())

    def extra_repr(self) -> str:
        """Where it starts, for `repr`."""
        return f"initial={self.initial:g}"


def make_epsilon(epsilon: Any, initial: float | None) -> float | LearnedEpsilon:
    """`epsilon` as a float, or as a parameter that starts at `initial`, default 1, for "learn"."""
    if epsilon != "learn":
        if isinstance(epsilon, str):
            raise InputError(f'epsilon is {epsilon!r}, but it must be a finite number >= 0, or "learn"')
        check_epsilon(epsilon)
        if initial is not None:
            raise InputError(
                f'initial_epsilon is {initial!r}, but epsilon is {epsilon:g}: it goes with epsilon="learn"'
            )
        return float(epsilon)
    start = INITIAL if initial is None else initial
    if not isinstance(start, int | float | np.number) or not (math.isfinite(start) and start > 0):
        raise InputError(f"initial_epsilon is {initial!r}, but it must be a finite number > 0")
    return LearnedEpsilon(float(start))
