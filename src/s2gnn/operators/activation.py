"""Bias, ReLU and dropout of all branches in one pass, and their linear combination.

Dropout keeps an element when the hash of its position and of a key reaches a threshold. The key is one number drawn
from torch's generator, so that a result is reproducible from `torch.manual_seed`, the same for any number of threads,
and the same on the native and on the plain path. No mask is stored: an element of the result is positive exactly when
it was kept and active, which is all that the backward pass asks.
"""

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from s2gnn.operators import kernel
from s2gnn.operators.autograd import transforming

_BITS = 0xFFFFFFFF


def activate(x: Tensor, bias: Tensor, drop: float) -> Tensor:
    """dropout(ReLU(x + bias)), differentiable: (N, R, F) → (N, R, F).

    Args:
        x: the branches of each node side by side, (N, R, F); the first two dimensions may be strided.
        bias: (R, F).
        drop: probability to drop an element, in [0, 1); the others are multiplied by 1/(1 − drop).
    """
    if transforming():
        return _plain_activation(x, bias.to(x.dtype), _key(drop), drop)
    result: Tensor = _activate(x, bias.to(x.dtype), _key(drop), drop)
    return result


def combine(x: Tensor, bias: Tensor, mu: Tensor, drop: float) -> Tensor:
    """Σ_ρ μ_ρ dropout(ReLU(x_ρ + b_ρ)), differentiable: (N, R, F) → (N, F).

    The same as `mu @ activate(x, bias, drop)`, and the same elements are dropped; natively in one pass, without the
    activated branches in memory.
    """
    in_float32 = x.dtype == bias.dtype == mu.dtype == torch.float32
    if not in_float32 or transforming() or kernel.chosen(x.device.type) == kernel.PLAIN:
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


@torch.library.custom_op("s2gnn::activate", mutates_args=())
def _activate(x: Tensor, bias: Tensor, key: Tensor, drop: float) -> Tensor:
    if (gpu := _triton_module(x)) is not None:
        out = x.new_empty(x.shape)
        gpu.activate(_strided(x), bias.contiguous(), drop, int(key), out)
        return out
    native = _native_variant(x)
    if native is None:
        return _plain_activation(x, bias, key, drop)
    out = x.new_empty(x.shape)
    module, variant = native
    arrays = (kernel.array(_strided(x)), kernel.array(bias.contiguous()))
    module.activate(variant, *arrays, drop, int(key), torch.get_num_threads(), kernel.array(out))
    return out


@torch.library.custom_op("s2gnn::activate_backward", mutates_args=())
def _activate_backward(grad: Tensor, y: Tensor, drop: float) -> Tensor:
    if (gpu := _triton_module(y)) is not None:
        out = y.new_empty(y.shape)
        gpu.activate_backward(grad.contiguous(), y.contiguous(), drop, out)
        return out
    native = _native_variant(y)
    if native is None:
        return torch.where(y > 0, grad / (1 - drop), 0.0).to(grad.dtype).contiguous()
    out = y.new_empty(y.shape)
    module, variant = native
    arrays = (kernel.array(grad.contiguous()), kernel.array(y.contiguous()))
    module.activate_backward(variant, *arrays, drop, torch.get_num_threads(), kernel.array(out))
    return out


_activate.register_fake(lambda *inputs: inputs[0].new_empty(inputs[0].shape))
_activate_backward.register_fake(lambda *inputs: inputs[1].new_empty(inputs[1].shape))


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


@torch.library.custom_op("s2gnn::combine", mutates_args=())
def _combine(x: Tensor, bias: Tensor, mu: Tensor, key: Tensor, drop: float) -> Tensor:
    if (gpu := _triton_module(x)) is not None:
        out = x.new_empty(x.shape[0], x.shape[2])
        gpu.combine(_strided(x), bias.contiguous(), mu.contiguous(), drop, int(key), out)
        return out
    native = _native_variant(x)
    if native is None:
        activated: Tensor = _activate(x, bias, key, drop)
        return mu @ activated
    out = x.new_empty(x.shape[0], x.shape[2])
    module, variant = native
    arrays = (kernel.array(y) for y in (_strided(x), bias.contiguous(), mu.contiguous()))
    module.combine(variant, *arrays, drop, int(key), torch.get_num_threads(), kernel.array(out))
    return out


@torch.library.custom_op("s2gnn::combine_backward", mutates_args=())
def _combine_backward(
    grad: Tensor, x: Tensor, bias: Tensor, mu: Tensor, key: Tensor, drop: float
) -> tuple[Tensor, Tensor, Tensor]:
    if (gpu := _triton_module(x)) is not None:
        grad_x = x.new_empty(x.shape)
        trained = bias.contiguous(), mu.contiguous(), grad.contiguous()
        return grad_x, *gpu.combine_backward(_strided(x), *trained, drop, int(key), grad_x)
    native = _native_variant(x)
    if native is None:
        y = _activate(x, bias, key, drop)
        grad_x = _activate_backward(mu[:, None] * grad[:, None], y, drop)
        return grad_x, grad_x.sum(dim=0), (grad[:, None] * y).sum(dim=(0, 2))
    out = (x.new_empty(x.shape), bias.new_empty(bias.shape), mu.new_empty(mu.shape))
    module, variant = native
    arrays = (kernel.array(y) for y in (_strided(x), bias.contiguous(), mu.contiguous(), grad.contiguous()))
    module.combine_backward(variant, *arrays, drop, int(key), torch.get_num_threads(), *map(kernel.array, out))
    return out


_combine.register_fake(lambda *inputs: inputs[0].new_empty(inputs[0].shape[0], inputs[0].shape[2]))
_combine_backward.register_fake(lambda *inputs: tuple(x.new_empty(x.shape) for x in inputs[1:4]))


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
    return *_combine_backward(grad, x, bias, mu, key, ctx.drop), None, None


_combine.register_autograd(_backward_of_combine, setup_context=_keep_branches)


def _strided(x: Tensor) -> Tensor:
    """`x` with contiguous columns."""
    return x if x.stride(2) == 1 else x.contiguous()


def _triton_module(x: Tensor) -> ModuleType | None:
    """The Triton kernels for a tensor of at most 32 bits on a GPU, else `None`."""
    return kernel.triton_module(x.device.type) if x.dtype != torch.float64 else None


def _native_variant(x: Tensor) -> tuple[Any, str] | None:
    """The native module and variant to use for a float32 tensor on the CPU that is not empty, else `None`."""
    return kernel.native_variant(x.device.type) if x.dtype == torch.float32 and x.numel() else None


def _random_bits(x: Tensor, key: int) -> Tensor:
    """The 32 random bits of every element of `x`, as the native kernel makes them."""
    index = torch.arange(x.numel(), device=x.device).view(x.shape)
    z = ((index & _BITS) * 0x9E3779B9 + (index >> 32) * 0x85EBCA6B + key) & _BITS
    z = ((z ^ (z >> 16)) * 0x21F0AAAD) & _BITS
    z = ((z ^ (z >> 15)) * 0xD35A2D97) & _BITS
    return z ^ (z >> 15)
