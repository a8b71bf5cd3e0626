"""Selection of the kernel: a native variant for this processor, Triton on a GPU, or plain PyTorch."""

import importlib
import importlib.util
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from s2gnn.errors import InputError, SlowPathWarning

ENVIRONMENT = "S2GNN_KERNEL"
PLAIN, TRITON = "torch", "triton"

# What a byte that a sparse product gathers costs, in floating-point operations of one large dense product: measured on
# two cores, where the signals of the graphs of the paper stay in the caches.
FLOPS_PER_GATHERED_BYTE = 2
FLOPS_PER_GATHERED_BYTE_OF_CSR = 12  # torch's own sparse product

_forced: str | None = None


@cache
def native_module() -> ModuleType | None:
    """Return the compiled module, or `None` with a warning if it was not built or cannot be loaded."""
    try:
        return importlib.import_module("s2gnn.operators._native")
    except ImportError as error:
        warnings.warn(
            f"s2gnn runs in plain PyTorch, several times slower: its native kernel is not available ({error}). "
            "Install it again with a C++17 compiler available",
            SlowPathWarning,
            stacklevel=2,
        )
        return None


@cache
def available() -> tuple[str, ...]:
    """Return the kernels that run here: "triton" on a GPU, "torch", then the processor's native variants, best last."""
    native = native_module()
    on_gpu = (TRITON,) if has_triton() and (torch.cuda.is_available() or _interpreted()) else ()
    return (*on_gpu, PLAIN, *(native.variants() if native else ()))


@cache
def has_triton() -> bool:
    """Return whether Triton is installed."""
    return importlib.util.find_spec("triton") is not None


def _interpreted() -> bool:
    """Return whether Triton's interpreter runs its kernels on the CPU, for tests."""
    return os.environ.get("TRITON_INTERPRET") == "1"


@contextmanager
def use(name: str) -> Iterator[None]:
    """Use the kernel `name`, one of `available()`, inside the block."""
    global _forced
    previous, _forced = _forced, _checked(name)
    try:
        yield
    finally:
        _forced = previous


def chosen(device: str = "cpu") -> str:
    """Return the kernel for tensors on a type of device: the one set by `use`, by default the best.

    On a GPU this is Triton, or plain torch if Triton is not installed or plain torch was set; on other devices plain
    torch.
    """
    forced = _forced
    if forced is None and ENVIRONMENT in os.environ:
        forced = _checked(os.environ[ENVIRONMENT])
    if device == "cpu":
        return available()[-1] if forced is None or (forced == TRITON and not _interpreted()) else forced
    return TRITON if device == "cuda" and has_triton() and forced != PLAIN else PLAIN


# What torch.compiler.assume_constant_result does; that would import the compiler, which takes seconds.
chosen._dynamo_marked_constant = True  # type: ignore[attr-defined]


def native_variant(device: str) -> tuple[ModuleType, str] | None:
    """Return the compiled module and the variant to call for tensors on a kind of device; `None` for plain PyTorch."""
    variant, module = chosen(device), native_module()
    return None if module is None or variant in (PLAIN, TRITON) else (module, variant)


def array(tensor: Tensor) -> NDArray[Any]:
    """Return the memory of a CPU tensor, for the native module.

    A tensor itself would be taken through Python code of torch, inside which a Ctrl-C would be lost.
    """
    memory: NDArray[Any] = tensor.detach().numpy()
    return memory


def _checked(name: str) -> str:
    if name not in available():
        raise InputError(f"there is no kernel {name!r} on this machine: choose one of {', '.join(available())}")
    return name
