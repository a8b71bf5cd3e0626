"""Adam with the choices of the released code: which parameters decay, and which are not trained."""

from collections.abc import Collection
from typing import Literal

import torch
from torch import nn

from s2gnn.errors import InputError

DecayName = Literal["all", "first-layer"]


def make_adam(
    model: nn.Module, lr: float, weight_decay: float, decay: DecayName = "all", frozen: Collection[str] = ()
) -> torch.optim.Adam:
    """Adam on the parameters of `model`.

    Args:
        model: layers in a `ModuleList`, its own or that of a part of it.
        lr: learning rate.
        weight_decay: of the parameters that decay.
        decay: "all" parameters decay, or those of the first layer only; never those of a module whose `decays` is
            false, such as an ε that is learned.
        frozen: names of submodules or parameters, such as "fusion", that stay at their start wherever they occur.
    """
    trained = {name: p for name, p in model.named_parameters() if not set(frozen) & set(name.split("."))}
    if not trained:
        raise InputError(f"nothing is left to train in {type(model).__name__}: frozen is {sorted(frozen)}")
    exempt = {id(p) for module in model.modules() if not getattr(module, "decays", True) for p in module.parameters()}
    first = "" if decay == "all" else _first_layer(model)
    decaying = {name for name, p in trained.items() if name.startswith(first) and id(p) not in exempt}
    groups = [
        {"params": [p for name, p in trained.items() if name in decaying], "weight_decay": weight_decay},
        {"params": [p for name, p in trained.items() if name not in decaying], "weight_decay": 0.0},
    ]
    return torch.optim.Adam([group for group in groups if group["params"]], lr=lr)


def _first_layer(model: nn.Module) -> str:
    """The prefix of the names of the first layer's parameters."""
    for name, module in model.named_modules():
        if isinstance(module, nn.ModuleList):
            return f"{name}.0."
    raise InputError(
        f'{type(model).__name__} keeps its layers in no ModuleList, so its first layer is unknown: take decay="all"'
    )
