"""The typed call of a `torch.autograd.Function`."""

from typing import Any

from torch import Tensor
from torch.autograd import Function


def apply(function: type[Function], *arguments: Any) -> Tensor:
    """The result of a differentiable `function` with one output."""
    result: Tensor = function.apply(*arguments)  # type: ignore[no-untyped-call]
    return result
