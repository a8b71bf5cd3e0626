"""Call differentiable functions, and detect when only plain torch functions may be used."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function, forward_ad

_functorch_is_active = torch._C._are_functorch_transforms_active  # bound once: it is called at every product


def apply(function: type[Function], *arguments: Any) -> Tensor:
    """Apply a differentiable `function` with one output."""
    result: Tensor = function.apply(*arguments)  # type: ignore[no-untyped-call]
    return result


def transforming() -> bool:
    """Return whether a transform of `torch.func` or forward-mode differentiation is active.

    The registered derivatives of custom operators support only `backward` and the compiler: transforms of `torch.func`
    reject them, and forward mode ignores them, which would yield zero derivatives.
    """
    return forward_ad._current_level >= 0 or _functorch_is_active()
