"""Train one node classifier."""

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.errors import InputError, NonFiniteLossError
from s2gnn.graphs.validation import as_array
from s2gnn.learning.seeding import seeded
from s2gnn.nn.plan import LayerInput
from s2gnn.operators import SobolevOperator


@dataclass(frozen=True)
class FitConfig:
    """How to train.

    Attributes:
        lr: learning rate of Adam.
        weight_decay: of Adam, on all parameters.
        epochs: at most so many full-batch steps.
        patience: stop after so many epochs without a better validation score; `None` never stops early.
        monitor: the validation score that chooses the epoch, "accuracy" or "loss".
    """

    lr: float = 0.01
    weight_decay: float = 5e-4
    epochs: int = 500
    patience: int | None = 100
    monitor: Literal["accuracy", "loss"] = "accuracy"

    def __post_init__(self) -> None:
        if not self.lr > 0:
            raise InputError(f"lr is {self.lr}, but the learning rate must be positive")
        if not self.weight_decay >= 0:
            raise InputError(f"weight_decay is {self.weight_decay}, but it must be at least 0")
        if self.epochs < 1:
            raise InputError(f"epochs is {self.epochs}, but training takes at least 1")
        if self.patience is not None and self.patience < 1:
            raise InputError(f"patience is {self.patience}, but it must be at least 1, or None")
        if self.monitor not in ("accuracy", "loss"):
            raise InputError(f'monitor is {self.monitor!r}, but it must be "accuracy" or "loss"')


@dataclass
class History:
    """What training saw, one number for each epoch; nothing for validation without validation nodes."""

    train_loss: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)
    val_accuracy: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class FitResult:
    """The outcome of `fit`.

    Attributes:
        history: losses and validation scores by epoch.
        best_epoch: the epoch, counted from 0, whose weights the model now has.
        seconds: wall-clock time of the training loop.
    """

    history: History
    best_epoch: int
    seconds: float


def fit(
    model: nn.Module,
    x: LayerInput,
    op: SobolevOperator | None,
    y: ArrayLike | Tensor,
    train: ArrayLike | Tensor,
    val: ArrayLike | Tensor | None = None,
    *,
    config: FitConfig | None = None,
    seed: int = 0,
    on_epoch: Callable[[int], None] | None = None,
) -> FitResult:
    """Train `model` from scratch on the labels of `train` and leave the best weights in it.

    The model's `reset_parameters` draws its state anew from `seed`, so that the same seed and number of threads give
    the same bits, if it resets all state that the model has. With validation nodes the weights of the first epoch with
    the best validation score are restored; without, those of the last epoch stay. The model is left in evaluation mode.

    Args:
        model: called as `model(x, op)`, gives logits (N, C); has `reset_parameters`.
        x: node features (N, F), or what the model's `prepare` made of them.
        op: the operator handed to the model.
        y: integer labels (N,) in 0..C-1; values at nodes outside `train` and `val` are not looked at.
        train: node indices, or a mask (N,), of the training nodes.
        val: the same for validation nodes; `None` for no validation.
        config: how to train.
        seed: of the initial parameters and of dropout.
        on_epoch: called with the number of the epoch just finished, for a progress bar.

    Raises:
        NonFiniteLossError: when the loss is not finite; the model is then of no use.
    """
    config = config or FitConfig()
    targets = _checked_targets(model, x, y, train, val)
    history = History()
    best_score, best_epoch, best_state = -math.inf, config.epochs - 1, None
    start = time.perf_counter()
    with seeded(seed):
        model.reset_parameters()  # type: ignore[operator]
        optimizer = torch.optim.Adam(model.parameters(), lr=config.lr, weight_decay=config.weight_decay)
        for epoch in range(config.epochs):
            loss = _step(model, optimizer, x, op, targets, first=epoch == 0)
            _require_finite(loss, "training", epoch, config.lr)
            history.train_loss.append(loss)
            if len(targets.val):
                loss, accuracy = _validate(model, x, op, targets)
                _require_finite(loss, "validation", epoch, config.lr)
                history.val_loss.append(loss)
                history.val_accuracy.append(accuracy)
                score = accuracy if config.monitor == "accuracy" else -loss
                if score > best_score:
                    best_score, best_epoch, best_state = score, epoch, copy.deepcopy(model.state_dict())
            if on_epoch is not None:
                on_epoch(epoch)
            if best_state and config.patience is not None and epoch - best_epoch >= config.patience:
                break
    if best_state is not None:
        model.load_state_dict(best_state)
    elif not all(torch.isfinite(parameter).all() for parameter in model.parameters()):
        raise NonFiniteLossError(
            f"the weights are not finite after the last epoch: lower the learning rate ({config.lr:g})"
        )
    model.eval()
    return FitResult(history, best_epoch, time.perf_counter() - start)


@torch.no_grad()
def predict_logits(model: nn.Module, x: LayerInput, op: SobolevOperator | None) -> Tensor:
    """The logits (N, C) of `model`, which is left in evaluation mode."""
    model.eval()
    return model(x, op)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Targets:
    """Labels (N,) and the nodes to train and to validate on, as int64 tensors on the device of the model."""

    labels: Tensor
    train: Tensor
    val: Tensor


def _step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    x: LayerInput,
    op: SobolevOperator | None,
    targets: _Targets,
    *,
    first: bool,
) -> float:
    """One step of the optimiser on the training nodes; the loss before it."""
    model.train()
    optimizer.zero_grad()
    logits = model(x, op)
    if first:
        _check_classes(logits, targets)
    loss = F.cross_entropy(logits[targets.train], targets.labels[targets.train])
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.item()


def _validate(model: nn.Module, x: LayerInput, op: SobolevOperator | None, targets: _Targets) -> tuple[float, float]:
    """Loss and accuracy on the validation nodes."""
    logits, labels = predict_logits(model, x, op)[targets.val], targets.labels[targets.val]
    accuracy = (logits.argmax(dim=1) == labels).double().mean()
    return F.cross_entropy(logits, labels).item(), accuracy.item()


def _require_finite(loss: float, part: str, epoch: int, lr: float) -> None:
    if not math.isfinite(loss):
        raise NonFiniteLossError(
            f"the {part} loss is {loss} in epoch {epoch}: check the features for values that are not finite "
            f"or very large, or lower the learning rate (now {lr:g})"
        )


def _check_classes(logits: Tensor, targets: _Targets) -> None:
    largest = int(targets.labels[torch.cat([targets.train, targets.val])].max())
    if largest >= logits.shape[1]:
        raise InputError(f"a node has label {largest}, but the model has {logits.shape[1]} classes: labels are 0..C-1")


def _checked_targets(
    model: nn.Module,
    x: LayerInput,
    y: ArrayLike | Tensor,
    train: ArrayLike | Tensor,
    val: ArrayLike | Tensor | None,
) -> _Targets:
    parameter = next(model.parameters(), None)
    if parameter is None or not hasattr(model, "reset_parameters"):
        raise InputError(f"{type(model).__name__} cannot be trained: it needs parameters and a method reset_parameters")
    device = parameter.device
    n = x.shape[0]
    given = as_array(y)
    if given.dtype.kind not in "iu" or given.shape != (n,):
        raise InputError(
            f"y has shape {given.shape} and dtype {given.dtype}, expected {n} integer labels: number the classes with "
            "np.unique(y, return_inverse=True)[1]"
        )
    labels = torch.from_numpy(given.astype(np.int64))
    train_nodes = _node_indices(train, n, "train")
    val_nodes = _node_indices([] if val is None else val, n, "val")
    if len(train_nodes) == 0:
        raise InputError("there are no training nodes: `train` is empty")
    both = set(train_nodes.tolist()) & set(val_nodes.tolist())
    if both:
        raise InputError(f"node {min(both)} is both a training and a validation node")
    used = torch.cat([train_nodes, val_nodes])
    if int(labels[used].min()) < 0:
        node = int(used[labels[used] < 0][0])
        raise InputError(
            f"node {node} has label {int(labels[node])}, but training and validation nodes need a label >= 0"
        )
    return _Targets(labels.to(device), train_nodes.to(device), val_nodes.to(device))


def _node_indices(nodes: ArrayLike | Tensor, n: int, name: str) -> Tensor:
    indices = as_array(nodes)
    if indices.dtype == np.bool_:
        if indices.shape != (n,):
            raise InputError(f"the mask `{name}` has shape {indices.shape}, expected ({n},)")
        indices = np.flatnonzero(indices)
    if indices.size == 0:
        return torch.empty(0, dtype=torch.int64)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise InputError(
            f"`{name}` must be a mask or a list of node indices, but it is {indices.dtype} of shape {indices.shape}"
        )
    if indices.min() < 0 or indices.max() >= n:
        outside = indices[(indices < 0) | (indices >= n)][0]
        raise InputError(f"`{name}` names node {outside}, but nodes are 0..{n - 1}")
    unique, counts = np.unique(indices, return_counts=True)
    if len(unique) < len(indices):
        raise InputError(
            f"`{name}` names node {unique[counts > 1][0]} more than once; if it is a mask of 0 and 1, "
            "make it a mask of booleans"
        )
    return torch.from_numpy(indices.astype(np.int64))
