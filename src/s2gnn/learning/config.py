"""The configuration of training, and its optimiser."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import nn

from s2gnn.errors import InputError
from s2gnn.graphs.validation import check_choice
from s2gnn.nn.arguments import positive_integer
from s2gnn.ranges import real

LARGEST = torch.finfo(torch.float32).max
DecayName = Literal["all", "first-layer"]


@dataclass(frozen=True)
class FitConfig:
    """The configuration of `fit`.

    Attributes:
        lr: learning rate of Adam.
        weight_decay: weight decay of Adam.
        epochs: maximum number of epochs, each a full-batch step unless `batch_size` is set.
        patience: stop after this number of epochs without a better validation score; `None` disables early stopping.
        monitor: validation score that selects the epoch: "accuracy", "loss", or "auc" for several labels per node.
        keep: final weights: of the first epoch with the "best" validation score, or of the "last" epoch.
        decay: apply weight decay to "all" parameters, or to the "first-layer" only.
        frozen: names of submodules or parameters that are not trained, at any depth, e.g. "fusion".
        batch_size: number of rows per step for inputs with independent rows, such as graphs; `None` for full-batch
            steps. For mini-batches of the nodes of one graph see `InParts`.
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
        if not 0 < real(self.lr) <= LARGEST:
            raise InputError(f"lr is {self.lr!r}, but the learning rate must be positive and finite")
        if not 0 <= real(self.weight_decay) <= LARGEST:
            raise InputError(f"weight_decay is {self.weight_decay!r}, but it must be a finite number of at least 0")
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
    """Create Adam for the parameters of `model` that are not frozen.

    "first-layer" decay requires that the model has its layers in a `ModuleList`. Parameters of modules whose `decays`
    is false, such as a learned ε, have no weight decay.
    """
    frozen = set(config.frozen)
    trained = {name: p for name, p in model.named_parameters() if not frozen & set(name.split("."))}
    if not trained:
        raise InputError(f"nothing is left to train in {type(model).__name__}: frozen is {sorted(frozen)}")
    exempt = {id(p) for module in model.modules() if not getattr(module, "decays", True) for p in module.parameters()}
    first = "" if config.decay == "all" else _first_layer(model)
    decaying = {name for name, p in trained.items() if name.startswith(first) and id(p) not in exempt}
    groups = [
        {"params": [p for name, p in trained.items() if name in decaying], "weight_decay": float(config.weight_decay)},
        {"params": [p for name, p in trained.items() if name not in decaying], "weight_decay": 0.0},
    ]
    return torch.optim.Adam([group for group in groups if group["params"]], lr=float(config.lr))


def _first_layer(model: nn.Module) -> str:
    """Return the prefix of the names of the first layer's parameters."""
    for name, module in model.named_modules():
        if isinstance(module, nn.ModuleList):
            return f"{name}.0."
    raise InputError(
        f'{type(model).__name__} has no ModuleList of layers, so its first layer is unknown: use decay="all"'
    )
