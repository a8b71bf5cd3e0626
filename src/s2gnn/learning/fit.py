"""Train one network on the labels or values of some nodes, or of some graphs."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, get_args

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from s2gnn.errors import InputError, NonFiniteLossError
from s2gnn.learning.batches import Batch, Batches, Draw
from s2gnn.learning.checkpoint import Checkpoint
from s2gnn.learning.group import ALONE, Group
from s2gnn.learning.optimizer import DecayName, make_adam
from s2gnn.learning.seeding import seeded
from s2gnn.learning.targets import LossName, Targets, checked_targets
from s2gnn.learning.training_run import History, TrainingRun
from s2gnn.nn.arguments import positive_integer
from s2gnn.nn.parts import InParts


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


@dataclass(frozen=True)
class FitResult:
    """The outcome of `fit`.

    Attributes:
        history: losses and validation scores by epoch.
        best_epoch: the epoch, counted from 0, whose weights the model now has: the first best, or the last.
        seconds: wall-clock time of the training loop.
    """

    history: History
    best_epoch: int
    seconds: float


def fit(
    model: nn.Module,
    x: Any,
    op: Any,
    y: ArrayLike | Tensor,
    train: ArrayLike | Tensor,
    val: ArrayLike | Tensor | None = None,
    *,
    config: FitConfig | None = None,
    seed: int = 0,
    loss: LossName = "cross-entropy",
    class_weight: ArrayLike | Tensor | None = None,
    on_epoch: Callable[[int], None] | None = None,
    group: Group = ALONE,
    checkpoint: Checkpoint | None = None,
) -> FitResult:
    """Train `model` from scratch on the labels of `train` and leave the best weights in it.

    The model's `reset_parameters` draws its state anew from `seed`, so that the same seed and number of threads give
    the same bits, if it resets all state that the model has. With validation nodes the weights of the first epoch with
    the best validation score are restored, unless the config keeps the last; without, those of the last epoch stay. The
    loss is the mean cross-entropy or squared error, plus `model.auxiliary_loss()` where a model has one. The model is
    left in evaluation mode.

    What `x` has rows of is called nodes here. Of `InParts` a batch of nodes is seen at a time. An input whose rows do
    not depend on each other, such as the graphs of a `GraphInput`, is passed through the model only as far as a step or
    the validation needs it.

    Args:
        model: called as `model(x, op)`, gives logits (N, C); has `reset_parameters`.
        x: node features (N, F), or what the model's `prepare` made of them.
        op: the operator handed to the model.
        y: integer labels (N,) in 0..C-1, or (N, L) of 0 and 1 for several labels, or numbers (N,) or (N, L) for the
            squared error; what stands at nodes outside `train` and `val` is not looked at.
        train: node indices, or a mask (N,), of the training nodes.
        val: the same for validation nodes; `None` for no validation.
        config: how to train.
        seed: of the initial parameters and of dropout.
        loss: "cross-entropy" of labels, or "squared-error" of values, for which the config monitors the "loss".
        class_weight: what a node of each class counts in the cross-entropy, (C,); `None` counts all alike.
        on_epoch: called with the number of the epoch just finished, for a progress bar.
        group: processes that all call this with the same arguments and share the batches of every step; validation
            scores are in the history of the first. The result is that of one process, up to rounding.
        checkpoint: where the run is saved as it goes, and gone on with if it was interrupted.

    Raises:
        NonFiniteLossError: when the loss is not finite; the model is then of no use.
        LostProcessError: when another process of the group has ended.
    """
    config = config or FitConfig()
    group.check(model)
    parameter = next(model.parameters(), None)
    if parameter is None or not hasattr(model, "reset_parameters"):
        raise InputError(f"{type(model).__name__} cannot be trained: it needs parameters and a method reset_parameters")
    targets = checked_targets(x.shape[0], y, train, val, parameter.device, loss, class_weight)
    _check_monitor(config.monitor, targets)
    batches = Batches(x, op, targets, config.batch_size)
    history = History()

    def loss_of(draw: Draw) -> Loss:
        with nullcontext() if draw.seed is None else seeded(draw.seed):
            batch = draw.make()
            logits = model(batch.x, batch.op)
            if not history.train_loss:
                targets.check_width(logits)
            value = batch.loss(logits)
            if hasattr(model, "auxiliary_loss"):
                value = value + model.auxiliary_loss()  # type: ignore[operator]
            return Loss(value, draw.rows, draw.share)

    def steps() -> Iterator[Iterator[Loss]]:
        for draws in batches.epoch():
            yield map(loss_of, group.own(draws))

    validate = partial(_validate, model, batches.validation, config, history) if len(targets.val) else None
    return train_epochs(
        model, config, seed, steps, validate, history, on_epoch=on_epoch, group=group, checkpoint=checkpoint
    )


@dataclass(frozen=True, eq=False)
class Loss:
    """What a step of the optimiser goes by, or a part of that.

    Attributes:
        value: the loss, a scalar with a gradient.
        rows: over how many nodes, graphs or pairs it is the mean.
        share: what it counts in the step.
    """

    value: Tensor
    rows: int
    share: float = 1.0


def train_epochs(
    model: nn.Module,
    config: FitConfig,
    seed: int,
    steps: Callable[[], Iterable[Iterable[Loss]]],
    validate: Callable[[], float] | None,
    history: History,
    *,
    on_epoch: Callable[[int], None] | None = None,
    group: Group = ALONE,
    checkpoint: Checkpoint | None = None,
) -> FitResult:
    """Train `model` from scratch by its losses, whatever it is trained for, and leave the best weights in it.

    Args:
        model: has parameters and `reset_parameters`.
        config: how to train; what it monitors is up to `validate`.
        seed: of the initial parameters and of all that torch draws in `steps`.
        steps: called once an epoch, gives for one step of the optimiser after another the losses that it goes by, each
            computed when its gradient is asked for, with the model in training mode.
        validate: called after the steps of an epoch, gives the score that chooses the epoch, larger for better; `None`
            for no validation.
        history: where the training losses go; `validate` fills the rest.
        on_epoch: called with the number of the epoch just finished.
        group: the processes that train together, see `fit`.
        checkpoint: where the run is saved and gone on with, see `fit`.
    """
    start = time.perf_counter()
    with seeded(seed):
        model.reset_parameters()  # type: ignore[operator]
        optimizer = make_adam(model, config.lr, config.weight_decay, config.decay, config.frozen)
        run = TrainingRun(model, optimizer, history)
        settings = _settings(config, seed)
        saved = None if checkpoint is None else group.from_first(checkpoint.read)
        if checkpoint is not None and saved is not None:
            checkpoint.restore(saved, run, settings)
        while (epoch := run.epochs) < config.epochs and not run.has_waited(config.patience):
            train_loss = _train(model, optimizer, steps(), group)
            require_finite(train_loss, "training", epoch, config.lr)
            history.train_loss.append(train_loss)
            if validate is not None:
                run.take_score(group.from_first(validate), keep=config.keep == "best")
            if checkpoint is not None and group.is_first and checkpoint.is_due(run.epochs):
                checkpoint.write(run, settings)
            if on_epoch is not None:
                on_epoch(epoch)
        if checkpoint is not None and group.is_first:
            checkpoint.write(run, settings)
    kept_epoch = run.epochs - 1
    if run.best_epoch is not None and run.best_state is not None:
        kept_epoch = run.best_epoch
        model.load_state_dict(run.best_state)
    elif not all(torch.isfinite(parameter).all() for parameter in model.parameters()):
        raise NonFiniteLossError(
            f"the weights are not finite after the last epoch: lower the learning rate ({config.lr:g})"
        )
    model.eval()
    return FitResult(history, kept_epoch, time.perf_counter() - start)


@torch.no_grad()
def predict_logits(model: nn.Module, x: Any, op: Any) -> Tensor:
    """The logits (N, C) of `model`, which is left in evaluation mode."""
    model.eval()
    return x.logits(model) if isinstance(x, InParts) else model(x, op)


def _train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: Iterable[Iterable[Loss]], group: Group) -> float:
    """One epoch; the mean over rows of the loss before the step that they were in."""
    total, count = 0.0, 0.0
    model.train()
    for step in steps:
        model.zero_grad()
        for loss in step:
            (loss.share * loss.value).backward()  # type: ignore[no-untyped-call]
            total, count = total + loss.rows * loss.value.item(), count + loss.rows
        group.add_up_gradients(model)
        optimizer.step()
    total, count = group.totals(total, count)
    return total / count


def _validate(model: nn.Module, batch: Batch, config: FitConfig, history: History) -> float:
    """Write the scores on the validation nodes into `history`; the one that chooses the epoch, larger for better."""
    targets, logits = batch.targets, predict_logits(model, batch.x, batch.op)
    loss = batch.loss(logits).item()
    require_finite(loss, "validation", len(history.val_loss), config.lr)
    history.val_loss.append(loss)
    if targets.values:
        return -loss
    if targets.several_labels:
        history.val_auc.append(targets.auc(logits, batch.rows))
    else:
        history.val_accuracy.append(targets.accuracy(logits, batch.rows))
    return -loss if config.monitor == "loss" else (history.val_auc or history.val_accuracy)[-1]


def _settings(config: FitConfig, seed: int) -> dict[str, Any]:
    """What a run that is gone on with must have in common with the one that was interrupted."""
    further = ("epochs", "patience")  # one may go on for longer
    return {"seed": seed, **{name: value for name, value in asdict(config).items() if name not in further}}


def _check_monitor(monitor: str, targets: Targets) -> None:
    if len(targets.val) and monitor != "loss" and targets.values:
        raise InputError(f'monitor is {monitor!r}, but y has values and no classes: monitor "loss"')
    if len(targets.val) and monitor != "loss" and (monitor == "auc") != targets.several_labels:
        what, score = ("several labels", "auc") if targets.several_labels else ("one class", "accuracy")
        raise InputError(f'monitor is {monitor!r}, but y has {what} for each node: monitor "{score}" or "loss"')


def require_finite(loss: float, part: str, epoch: int, lr: float) -> None:
    """Raise unless the `loss` of a `part` of the data is finite."""
    if not math.isfinite(loss):
        raise NonFiniteLossError(
            f"the {part} loss is {loss} in epoch {epoch}: check the features for values that are not finite "
            f"or very large, or lower the learning rate (now {lr:g})"
        )
