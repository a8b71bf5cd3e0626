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
    """A positive, trainable ε = ε_0 exp(θ) with the parameter θ, `log_ratio`.

    Weight decay would pull ε to its initial value ε_0; `s2gnn.learning` exempts it. The `state_dict` contains `log`,
    the logarithm of ε, independently of ε_0.

    Args:
        initial: initial value ε_0.
    """

    decays = False  # for the optimiser

    def __init__(self, initial: float = INITIAL) -> None:
        super().__init__()
        self.initial = initial
        self.log_ratio = nn.Parameter(torch.empty(()))
        self.register_state_dict_post_hook(_store_logarithm)  # type: ignore[no-untyped-call]
        self.register_load_state_dict_pre_hook(_read_logarithm)  # type: ignore[no-untyped-call]
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset ε to its initial value."""
        nn.init.zeros_(self.log_ratio)

    def forward(self) -> Tensor:
        """Return ε, a float64 scalar."""
        return self.initial * self.log_ratio.double().exp()

    def __float__(self) -> float:
        return float(self().detach())

    def extra_repr(self) -> str:
        """Return the initial value, for `repr`."""
        return f"initial={self.initial:g}"


def _store_logarithm(epsilon: LearnedEpsilon, state_dict: dict[str, Any], prefix: str, _: Any) -> None:
    # In float64, so that a parameter in float32 comes back with the same bits.
    state_dict[f"{prefix}log"] = state_dict.pop(f"{prefix}log_ratio").double() + math.log(epsilon.initial)


def _read_logarithm(epsilon: LearnedEpsilon, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    if f"{prefix}log" in state_dict:
        log_ratio = state_dict.pop(f"{prefix}log").double() - math.log(epsilon.initial)
        state_dict[f"{prefix}log_ratio"] = log_ratio.to(epsilon.log_ratio.dtype)


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
