"""How a network is trained: the configuration, and the optimiser that it describes."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import nn

from s2gnn.errors import InputError
from s2gnn.graphs.validation import check_choice
from s2gnn.nn.arguments import positive_integer

DecayName = Literal["all", "first-layer"]


@dataclass(frozen=True)
class FitConfig:
    """How to train.

    Attributes:
        lr: learning rate of Adam.
        weight_decay: of Adam.
        epochs: maximum number of epochs, each a full-batch step unless there is a `batch_size`.
        patience: number of epochs without a better validation score after which to stop; `None` never stops early.
        monitor: the validation score that chooses the epoch: "accuracy", "loss", or "auc" for several labels.
        keep: the final weights: those of the first epoch with the "best" validation score, or of the "last" epoch.
        decay: weight decay acts on "all" parameters, or on the "first-layer" only.
        frozen: names of submodules or parameters that are not trained, wherever they occur, such as "fusion".
        batch_size: rows of a step, drawn in every epoch, for inputs whose rows are independent, such as graphs; `None`
            takes all at once. Nodes of one graph are not independent: see `InParts`.
    """

    lr: float = 0.01
    weight_decay: float = 5e-4
    epochs: int = 500
    patience: int | None = 100
    monitor: Literal["accuracy", "loss", "auc"] = "accuracy"
    keep: Literal["best", "last"] = "best"
    decay: DecayName = "all"
    frozen: tuple[str, ...] = ()
    batch_size: int | None = None

    def __post_init__(self) -> None:
        if not self.lr > 0:
            raise InputError(f"lr is {self.lr}, but the learning rate must be positive")
        if not self.weight_decay >= 0:
            raise InputError(f"weight_decay is {self.weight_decay}, but it must be at least 0")
        positive_integer(self.epochs, "epochs")
        for name in ("patience", "batch_size"):
            if getattr(self, name) is not None:
                positive_integer(getattr(self, name), name)
        choices = {"monitor": ("accuracy", "loss", "auc"), "keep": ("best", "last"), "decay": get_args(DecayName)}
        for name, allowed in choices.items():
            check_choice(name, getattr(self, name), allowed)
        frozen: object = self.frozen
        if not isinstance(frozen, tuple):
            raise InputError(f"frozen is {self.frozen!r}, but it must be a tuple of names: ({self.frozen!r},)")


def make_adam(model: nn.Module, config: FitConfig) -> torch.optim.Adam:
    """Adam on the parameters of `model` that are not frozen.

    For "first-layer" decay, the model keeps its layers in a `ModuleList`. The parameters of a module whose `decays` is
    false, such as a learned ε, never decay.
    """
    frozen = set(config.frozen)
    trained = {name: p for name, p in model.named_parameters() if not frozen & set(name.split("."))}
    if not trained:
        raise InputError(f"nothing is left to train in {type(model).__name__}: frozen is {sorted(frozen)}")
    exempt = {id(p) for module in model.modules() if not getattr(module, "decays", True) for p in module.parameters()}
    first = "" if config.decay == "all" else _first_layer(model)
    decaying = {name for name, p in trained.items() if name.startswith(first) and id(p) not in exempt}
    groups = [
        {"params": [p for name, p in trained.items() if name in decaying], "weight_decay": config.weight_decay},
        {"params": [p for name, p in trained.items() if name not in decaying], "weight_decay": 0.0},
    ]
    return torch.optim.Adam([group for group in groups if group["params"]], lr=config.lr)


def _first_layer(model: nn.Module) -> str:
    """The prefix of the names of the first layer's parameters."""
    for name, module in model.named_modules():
        if isinstance(module, nn.ModuleList):
            return f"{name}.0."
    raise InputError(
        f'{type(model).__name__} keeps its layers in no ModuleList, so its first layer is unknown: use decay="all"'
    )
