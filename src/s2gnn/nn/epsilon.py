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
    """A positive, trainable ε with the parameter `log`, its logarithm.

    Weight decay would pull ε to 1; `s2gnn.learning` exempts it.

    Args:
        initial: initial value of ε.
    """

    decays = False  # for the optimiser

    def __init__(self, initial: float = INITIAL) -> None:
        super().__init__()
        self.initial = initial
        self.log = nn.Parameter(torch.empty(()))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset ε to its initial value."""
        nn.init.constant_(self.log, math.log(self.initial))

    def forward(self) -> Tensor:
        """Return ε, a float64 scalar."""
        return self.log.double().exp()

    def __float__(self) -> float:
        return float(self().detach())

    def extra_repr(self) -> str:
        """Return the initial value, for `repr`."""
        return f"initial={self.initial:g}"


def make_epsilon(epsilon: Any, initial: float | None) -> float | LearnedEpsilon:
    """Return `epsilon` as a float or, for "learn", a `LearnedEpsilon` with initial value `initial` (default 1)."""
    if not (isinstance(epsilon, str) and epsilon == "learn"):
        if isinstance(epsilon, str):
            raise InputError(f'epsilon is {epsilon!r}, but it must be a finite number >= 0, or "learn"')
        check_epsilon(epsilon)
        if initial is not None:
            raise InputError(
                f'initial_epsilon is {initial!r}, but epsilon is {epsilon:g}: initial_epsilon needs epsilon="learn"'
            )
        return float(epsilon)
    start = INITIAL if initial is None else initial
    if not isinstance(start, int | float | np.number) or not (math.isfinite(start) and start > 0):
        raise InputError(f"initial_epsilon is {initial!r}, but it must be a finite number > 0")
    return LearnedEpsilon(float(start))
