"""The training loop: epochs of steps, the best weights, checkpoints; whatever the network is trained for."""

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
        best_epoch: the epoch, counted from 0, whose weights the model now has: the first best, or the last.
        seconds: wall-clock time of the training loop; of a resumed run, including the time before.
    """

    history: History
    best_epoch: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Loss:
    """The loss that a step of the optimiser minimises, or a part of it.

    Attributes:
        value: the loss, a scalar with a gradient.
        weight: the total weight of the nodes, graphs or pairs that it is the mean of, such as their number.
        share: its weight in the step.
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
    """Train `model` from scratch by its losses, whatever it is trained for, and leave the best weights in it.

    Args:
        model: has parameters and `reset_parameters`.
        config: how to train; what it monitors is up to `validate`.
        seed: of the initial parameters and of all that torch draws in `steps`.
        steps: called once an epoch, gives the losses of each step of the optimiser, each computed when its gradient is
            needed, with the model in training mode.
        validate: called after the steps of an epoch, gives the score that chooses the epoch, larger for better; `None`
            for no validation.
        history: where the training losses go; `validate` fills the rest.
        on_epoch: called with the number of the epoch just finished.
        group: the processes that train together, see `fit`.
        checkpoint: where the run is saved and resumed from, see `fit`.
        settings: what the run depends on besides `config` and `seed`; it does not resume with others.
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
    """One epoch; the mean over rows of the loss before the step that they were in."""
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
    """What a resumed run must have in common with the interrupted one."""
    further = ("epochs", "patience")  # a resumed run may train for longer
    return {"seed": seed, **{name: value for name, value in asdict(config).items() if name not in further}}


def require_finite(loss: float, part: str, epoch: int, lr: float) -> None:
    """Raise unless the `loss` of a `part` of the data is finite."""
    if not math.isfinite(loss):
        raise NonFiniteLossError(
            f"the {part} loss is {loss} in epoch {epoch}: check the features for values that are not finite "
            f"or very large, or lower the learning rate (now {lr:g})"
        )
