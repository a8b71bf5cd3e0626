"""Custom operators of torch with three implementations: a Triton kernel, a native kernel, and plain torch."""

import importlib
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.operators import kernel


def custom_operator(
    result: Callable[..., Any],
    *,
    native: Callable[..., bool],
    triton: Callable[..., bool] = lambda *_: True,
    strided: bool = False,
) -> Callable[[Callable[..., Any]], Any]:
    """Register a plain torch function `_NAME` as the custom operator `s2gnn::NAME`.

    The operator calls the function NAME of the module `gpu` or of the native module if that is the kernel for the
    device, otherwise the function itself. All take the same inputs in the same order; kernels also take the results to
    fill as last arguments, and native kernels their variant and the number of threads as first arguments.

    Args:
        result: allocates the results, a tensor or a tuple, for given inputs; also the operator's fake implementation.
        native: returns whether the native kernel supports the inputs.
        triton: returns whether the Triton kernel supports them.
        strided: whether the first input may be non-contiguous except in its last dimension; other inputs are copied if
            needed.
    """

    def register(plain: Callable[..., Any]) -> Any:
        name = plain.__name__.removeprefix("_")

        @wraps(plain)
        def compute(*inputs: Any) -> Any:
            chosen = kernel.chosen(inputs[0].device.type)
            if chosen == kernel.PLAIN or not (triton if chosen == kernel.TRITON else native)(*inputs):
                return plain(*inputs)
            out = result(*inputs)
            results = out if isinstance(out, tuple) else (out,)
            first = inputs[0] if strided and inputs[0].stride(-1) == 1 else _ready(inputs[0])
            arguments = [first, *map(_ready, inputs[1:]), *results]
            if chosen == kernel.TRITON:
                getattr(importlib.import_module("s2gnn.operators.gpu"), name)(*arguments)
            else:
                _call_native(name, chosen, arguments)
            return out

        operator = torch.library.custom_op(f"s2gnn::{name}", compute, mutates_args=())
        operator.register_fake(result)
        return operator

    return register


def _call_native(name: str, variant: str, arguments: list[Any]) -> None:
    """Fill the results; the kernel checks all types, shapes and indices."""
    arrays = (kernel.array(x) if isinstance(x, Tensor) else x for x in arguments)
    try:
        getattr(kernel.native_module(), name)(variant, torch.get_num_threads(), *arrays)
    except TypeError as error:
        given = (f"{x.dtype} {tuple(x.shape)}" if isinstance(x, Tensor) else repr(x) for x in arguments)
        raise InputError(f"s2gnn::{name} cannot be computed for {', '.join(given)}") from error
    except ValueError as error:
        raise InputError(f"s2gnn::{name}: {error}") from error


def _ready(x: Any) -> Any:
    """Return a contiguous tensor, or a number for a tensor without dimensions, which is on the CPU."""
    if not isinstance(x, Tensor):
        return x
    return x.contiguous() if x.ndim else x.item()
