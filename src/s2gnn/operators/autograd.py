"""How our differentiable functions are called, and when only plain torch functions may be used."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function, forward_ad

_functorch_is_active = torch._C._are_functorch_transforms_active  # bound once: it is asked for at every product


def apply(function: type[Function], *arguments: Any) -> Tensor:
    """The result of a differentiable `function` with one output."""
    result: Tensor = function.apply(*arguments)  # type: ignore[no-untyped-call]
    return result


def transforming() -> bool:
    """Whether a transform of `torch.func` or forward-mode differentiation is active.

    The registered derivatives of custom operators serve `backward` and the compiler only: a transform of `torch.func`
    refuses them, and forward mode ignores them, which would yield zero derivatives.
    """
    return forward_ad._current_level >= 0 or _functorch_is_active()
