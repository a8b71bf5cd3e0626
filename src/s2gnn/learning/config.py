"""How a network is trained."""

from dataclasses import dataclass
from typing import Literal, get_args

from s2gnn.errors import InputError
from s2gnn.learning.optimizer import DecayName
from s2gnn.nn.arguments import positive_integer


@dataclass(frozen=True)
class FitConfig:
    """How to train.

    Attributes:
        lr: learning rate of Adam.
        weight_decay: of Adam.
        epochs: at most so many, each a full-batch step unless there is a `batch_size`.
        patience: stop after so many epochs without a better validation score; `None` never stops early.
        monitor: the validation score that chooses the epoch: "accuracy", "loss", or "auc" for several labels.
        keep: the weights that the model is left with: of the first epoch with the "best" validation score, or of the
            "last" one.
        decay: weight decay acts on "all" parameters, or on the "first-layer" only.
        frozen: names of submodules or parameters that are not trained, wherever they occur, such as "fusion".
        batch_size: rows of a step, drawn anew in every epoch, where rows do not depend on each other, as graphs do not
            and nodes of one graph do; `None` takes all at once.
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
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} is {getattr(self, name)!r}, but it must be one of {', '.join(allowed)}")
        frozen: object = self.frozen
        if not isinstance(frozen, tuple):
            raise InputError(f"frozen is {self.frozen!r}, but it must be a tuple of names: ({self.frozen!r},)")
