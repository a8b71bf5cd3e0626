"""The training loop: epochs, best weights and checkpoints, for any task."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from s2gnn.errors import InputError, NonFiniteLossError
from s2gnn.learning.checkpoint import Checkpoint, History, TrainingRun
from s2gnn.learning.config import FitConfig, make_adam
from s2gnn.learning.group import ALONE, Group, StepBuffers
from s2gnn.learning.seeding import seeded
from s2gnn.nn.network import Trainable


@dataclass(frozen=True)
class FitResult:
    """The outcome of `fit`.

    Attributes:
        history: losses and validation scores by epoch.
        best_epoch: epoch, counted from 0, of the model's final weights: the first best, or the last.
        seconds: wall-clock time of the training loop, including the time before an interruption.
    """

    history: History
    best_epoch: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Loss:
    """The loss of one batch of a step.

    Attributes:
        value: the loss, a differentiable scalar.
        weight: total weight of its nodes, graphs or pairs, by default their number.
        share: weight of the batch in the step.
    """

    value: Tensor
    weight: float
    share: float = 1.0


def train_epochs(
    model: Trainable,
    config: FitConfig,
    seed: int,
    steps: Callable[[], Iterable[Iterable[Loss]]],
    validate: Callable[[], float] | None,
    history: History,
    *,
    on_epoch: Callable[[int], None] | None = None,
    group: Group = ALONE,
    checkpoint: Checkpoint | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> FitResult:
    """Train `model` from scratch with the given losses, and restore its best weights.

    Args:
        model: a module with parameters and `reset_parameters`.
        config: training configuration; `validate` implements its `monitor`.
        seed: random seed of the initial parameters and of `steps`.
        steps: function called once per epoch, which returns the losses of each optimiser step; they are computed
            lazily, with the model in training mode.
        validate: function called after every epoch, which returns a score to be maximised; `None` for no validation.
        history: stores the training losses; `validate` adds the validation scores.
        on_epoch: function called with the index of each finished epoch.
        group: the processes that train together, see `fit`.
        checkpoint: the checkpoint to save to and resume from, see `fit`.
        settings: everything else that the run depends on; a run only resumes with the same settings.
    """
    start = time.perf_counter()
    with seeded(seed):
        model.reset_parameters()
        optimizer = make_adam(model, config)
        run = TrainingRun(model, optimizer, history)
        settings = {**_settings(config, seed), **settings}
        saved = None if checkpoint is None else group.from_first(checkpoint.read)
        if checkpoint is not None and saved is not None:
            checkpoint.restore(saved, run, settings)
            start -= run.seconds
            if run.epochs > config.epochs:
                raise InputError(
                    f"the run in {checkpoint.path} has finished {run.epochs} epochs, more than the {config.epochs} "
                    "asked for: ask for as many, or use another file"
                )
        while (epoch := run.epochs) < config.epochs and not run.has_waited(config.patience):
            train_loss = _train(model, optimizer, steps(), group)
            require_finite(train_loss, "training", epoch, config.lr)
            history.train_loss.append(train_loss)
            if validate is not None:
                run.take_score(group.from_first(validate), keep=config.keep == "best")
            run.seconds = time.perf_counter() - start
            if checkpoint is not None and group.is_first and checkpoint.is_due(run.epochs):
                checkpoint.write(run, settings)
            if on_epoch is not None:
                on_epoch(epoch)
        if checkpoint is not None and group.is_first and not checkpoint.is_due(run.epochs):
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


def _train(model: Trainable, optimizer: torch.optim.Optimizer, steps: Iterable[Iterable[Loss]], group: Group) -> float:
    """Train one epoch; returns the mean over rows of the losses, each before its optimiser step."""
    total, count = 0.0, 0.0
    model.train()
    for step in steps:
        model.zero_grad()
        buffers = StepBuffers(model, group)
        for loss in step:
            value = loss.value + model.auxiliary_loss() if hasattr(model, "auxiliary_loss") else loss.value
            (loss.share * value).backward()  # type: ignore[no-untyped-call]
            total, count = total + loss.weight * value.item(), count + loss.weight
            buffers.take(loss.share)
        buffers.finish()
        group.add_up_gradients(model)
        optimizer.step()
    total, count = group.totals(total, count)
    return total / count


def _settings(config: FitConfig, seed: int) -> dict[str, Any]:
    """Return the settings that must be equal to resume a run."""
    further = ("epochs", "patience")  # a resumed run may train for longer
    return {"seed": seed, **{name: value for name, value in asdict(config).items() if name not in further}}


def require_finite(loss: float, part: str, epoch: int, lr: float) -> None:
    """Raise an error if the `loss` on a `part` of the data is not finite."""
    if not math.isfinite(loss):
        raise NonFiniteLossError(
            f"the {part} loss is {loss} in epoch {epoch}: check the features for values that are not finite "
            f"or very large, or lower the learning rate (now {lr:g})"
        )
