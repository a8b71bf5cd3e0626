"""A training run between two epochs: what it saw so far, and all that the next epoch needs."""

import copy
import math
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


@dataclass
class History:
    """What training saw, one number for each epoch; nothing for validation without validation nodes.

    With one class for each node `val_accuracy` is filled, with several labels `val_auc`, with values neither.
    """

    train_loss: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)
    val_accuracy: list[float] = field(default_factory=list)
    val_auc: list[float] = field(default_factory=list)


@dataclass(eq=False)
class TrainingRun:
    """A model in training.

    Attributes:
        model: with its present weights.
        optimizer: with its moments.
        history: by epoch.
        best_score: of the validation so far.
        best_epoch: the first epoch that had it; `None` without validation.
        best_state: the weights of then, where they are kept.
        seconds: of training so far.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    history: History
    best_score: float = -math.inf
    best_epoch: int | None = None
    best_state: dict[str, Tensor] | None = None
    seconds: float = 0.0

    @property
    def epochs(self) -> int:
        """How many are finished."""
        return len(self.history.train_loss)

    def take_score(self, score: float, *, keep: bool) -> None:
        """Note the validation score of the last epoch and, if it is the best so far, `keep` its weights."""
        if score > self.best_score:
            self.best_score, self.best_epoch = score, self.epochs - 1
            self.best_state = copy.deepcopy(self.model.state_dict()) if keep else None

    def has_waited(self, patience: int | None) -> bool:
        """Whether there was no better score for so many epochs."""
        return self.best_epoch is not None and patience is not None and self.epochs - 1 - self.best_epoch >= patience
