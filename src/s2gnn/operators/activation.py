"""Bias, ReLU and dropout of all branches in one pass, and their linear combination.

Dropout keeps an element when the hash of its position and of a key reaches a threshold. The key is one number drawn
from torch's generator, so results are reproducible with `torch.manual_seed`, independent of the number of threads, and
identical on the native and the plain path. No mask is stored: an element of the result is positive exactly when it was
kept and active, which is all that the backward pass needs.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from s2gnn.operators import kernel
from s2gnn.operators.autograd import transforming
from s2gnn.operators.dispatch import custom_operator
from s2gnn.operators.powers import HALF_PRECISION

_BITS = 0xFFFFFFFF


def activate(x: Tensor, bias: Tensor, drop: float) -> Tensor:
    """Compute dropout(ReLU(x + bias)), differentiable: (N, R, F) → (N, R, F).

    Args:
        x: the branches of each node, stored contiguously, (N, R, F); the first two dimensions may be strided.
        bias: (R, F).
        drop: probability of dropping an element, in [0, 1); the others are multiplied by 1/(1 − drop).
    """
    if transforming():
        return _plain_activation(x, bias.to(x.dtype), _key(drop), drop)
    result: Tensor = _activate(x, bias.to(x.dtype), _key(drop), drop)
    return result


def combine(x: Tensor, bias: Tensor, mu: Tensor, drop: float) -> Tensor:
    """Compute Σ_ρ μ_ρ dropout(ReLU(x_ρ + b_ρ)), differentiable: (N, R, F) → (N, F).

    Equivalent to `mu @ activate(x, bias, drop)`, with the same elements dropped. The kernels compute it in one pass,
    without storing the activated branches.
    """
    chosen = kernel.chosen(x.device.type)
    types = (torch.float32, *HALF_PRECISION) if chosen == kernel.TRITON else (torch.float32,)
    if chosen == kernel.PLAIN or transforming() or any(y.dtype not in types for y in (x, bias, mu)):
        return mu @ activate(x, bias, drop)
    result: Tensor = _combine(x, bias, mu, _key(drop), drop)
    return result


def _key(drop: float) -> Tensor:
    return torch.randint(_BITS, (), dtype=torch.int64) if drop else torch.zeros((), dtype=torch.int64)


def _plain_activation(x: Tensor, bias: Tensor, key: Tensor, drop: float) -> Tensor:
    y = torch.relu(x + bias).contiguous()
    if drop:
        y = torch.where(_random_bits(y, int(key)) < int(drop * 2**32), 0.0, y / (1 - drop)).to(x.dtype)
    return y


def _like(x: Tensor, *_: Any) -> Tensor:
    return x.new_empty(x.shape)


_by_kernels = partial(
    custom_operator,
    native=lambda x, *_: x.dtype == torch.float32 and x.numel() > 0,
    triton=lambda x, *_: x.dtype != torch.float64,
)


@_by_kernels(_like, strided=True)
def _activate(x: Tensor, bias: Tensor, key: Tensor, drop: float) -> Tensor:
    return _plain_activation(x, bias, key, drop)


@_by_kernels(_like)
def _activate_backward(grad: Tensor, y: Tensor, drop: float) -> Tensor:
    return torch.where(y > 0, grad / (1 - drop), 0.0).to(grad.dtype).contiguous()


def _keep_result(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(output)
    ctx.drop = inputs[-1]


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    (y,) = ctx.saved_tensors
    grad_x = _activate_backward(grad, y, ctx.drop)
    return grad_x, grad_x.sum(dim=0), None, None


def _keep_mask(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    del output
    _, y, ctx.drop = inputs
    ctx.save_for_backward(y)


def _backward_of_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    (y,) = ctx.saved_tensors
    return _activate_backward(grad, y, ctx.drop), None, None


_activate.register_autograd(_backward, setup_context=_keep_result)
_activate_backward.register_autograd(_backward_of_backward, setup_context=_keep_mask)


@_by_kernels(lambda x, *_: x.new_empty(x.shape[0], x.shape[2]), strided=True)
def _combine(x: Tensor, bias: Tensor, mu: Tensor, key: Tensor, drop: float) -> Tensor:
    activated: Tensor = _activate(x, bias, key, drop)
    return mu @ activated


@_by_kernels(lambda *inputs: tuple(map(_like, inputs[:3])), strided=True)
def _combine_backward(
    x: Tensor, bias: Tensor, mu: Tensor, grad: Tensor, key: Tensor, drop: float
) -> tuple[Tensor, Tensor, Tensor]:
    y = _activate(x, bias, key, drop)
    grad_x = _activate_backward(mu[:, None] * grad[:, None], y, drop)
    return grad_x, grad_x.sum(dim=0), (grad[:, None] * y).sum(dim=(0, 2))


def _keep_branches(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    del output
    ctx.save_for_backward(*inputs[:-1])
    ctx.drop = inputs[-1]


def _backward_of_combine(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, bias, mu, key = ctx.saved_tensors
    if torch.is_grad_enabled():  # for a second derivative
        combined = mu @ _activate(x, bias, key, ctx.drop)
        trained = [of for of in (x, bias, mu) if of.requires_grad]
        found = iter(torch.autograd.grad(combined, trained, grad, create_graph=True))
        return *(next(found) if of.requires_grad else None for of in (x, bias, mu)), None, None
    return *_combine_backward(x, bias, mu, grad, key, ctx.drop), None, None


_combine.register_autograd(_backward_of_combine, setup_context=_keep_branches)


def _random_bits(x: Tensor, key: int) -> Tensor:
    """Return the 32 random bits of every element of `x`, identical to those of the native kernel."""
    index = torch.arange(x.numel(), device=x.device).view(x.shape)
    z = ((index & _BITS) * 0x9E3779B9 + (index >> 32) * 0x85EBCA6B + key) & _BITS
    z = ((z ^ (z >> 16)) * 0x21F0AAAD) & _BITS
    z = ((z ^ (z >> 15)) * 0xD35A2D97) & _BITS
    return z ^ (z >> 15)
