"""Train one network on the labels or values of some nodes, or of some graphs."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict, Unpack

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from s2gnn.errors import IdleProcessesWarning, InputError
from s2gnn.learning.batches import Batch, Batches, Draw
from s2gnn.learning.checkpoint import Checkpoint, History
from s2gnn.learning.config import FitConfig
from s2gnn.learning.epochs import FitResult, Loss, require_finite, train_epochs
from s2gnn.learning.group import ALONE, Group
from s2gnn.learning.seeding import seeded
from s2gnn.learning.targets import LossName, Targets, checked_targets
from s2gnn.nn.inputs import NetworkInput
from s2gnn.nn.network import GraphNetwork
from s2gnn.nn.parts import InParts
from s2gnn.operators import GraphOperator


def fit(
    model: GraphNetwork,
    x: NetworkInput,
    op: GraphOperator | None,
    y: ArrayLike | Tensor,
    train: ArrayLike | Tensor,
    val: ArrayLike | Tensor | None = None,
    *,
    config: FitConfig | None = None,
    seed: int = 0,
    loss: LossName = "cross-entropy",
    class_weight: ArrayLike | Tensor | None = None,
    sample_weight: ArrayLike | Tensor | None = None,
    on_epoch: Callable[[int], None] | None = None,
    group: Group = ALONE,
    checkpoint: Checkpoint | None = None,
) -> FitResult:
    """Train `model` from scratch on the labels of `train`, and restore its best weights.

    The same seed and number of threads give bitwise the same result if `model.reset_parameters` resets all state of the
    model. With validation nodes, the weights of the first epoch with the best validation score are restored, unless
    `config.keep` is "last". The loss is the mean cross-entropy or squared error, plus `model.auxiliary_loss()` if the
    model has one. The model is in evaluation mode afterwards.

    Rows of `x` are called nodes here. With `InParts` the model is trained on mini-batches of nodes. If rows are
    independent, such as the graphs of a `GraphInput`, only the rows of a batch pass through the model. If a step has
    several batches, their gradients are summed, and the model's buffers, such as running statistics, are averaged.

    Args:
        model: a module with `reset_parameters`, called as `model(x, op)`, which returns logits (N, C).
        x: node features (N, F), or the result of the model's `prepare`.
        op: the operator passed to the model.
        y: integer labels (N,) in 0..C-1, or (N, L) of 0 and 1 for several labels, or numbers (N,) or (N, L) for the
            squared error; labels of nodes outside `train` and `val` are ignored.
        train: indices or mask (N,) of the training nodes.
        val: indices or mask (N,) of the validation nodes; `None` for no validation.
        config: training configuration.
        seed: random seed of the initial parameters and of dropout.
        loss: "cross-entropy" for labels, or "squared-error" for values, which requires `config.monitor` to be "loss".
        class_weight: weight of each class in the cross-entropy, (C,); `None` for equal weights.
        sample_weight: weight of each node in the loss, (N,), positive at training and validation nodes; `None` for
            equal weights.
        on_epoch: function called with the index of each finished epoch, e.g. for a progress bar.
        group: processes that call this function with the same arguments and share the batches of every step; the first
            has the validation scores. The result is that of one process, up to rounding.
        checkpoint: the checkpoint to save to regularly, and to resume from after an interruption.

    Raises:
        NonFiniteLossError: if the loss is not finite; the model is then unusable.
        LostProcessError: if another process of the group has ended.
    """
    config = config or FitConfig()
    parameter = next(model.parameters(), None)
    if parameter is None or not hasattr(model, "reset_parameters"):
        raise InputError(f"{type(model).__name__} cannot be trained: it needs parameters and a method reset_parameters")
    if isinstance(x, InParts):
        x.check_place(model)
    targets = checked_targets(x.shape[0], y, train, val, parameter.device, loss, class_weight, sample_weight)
    _check_monitor(config.monitor, targets)
    batches = Batches(x, op, targets, config.batch_size)
    if group.is_first and group.size > batches.per_step:
        advice = (
            "divide the graph into more clusters, and use more batches in a step"
            if isinstance(x, InParts)
            else "only mini-batches, InParts, can be shared, so train with one process"
        )
        warnings.warn(
            f"{group.size} processes share the batches of a step, but a step has at most {batches.per_step}: "
            f"the other processes wait; {advice}",
            IdleProcessesWarning,
            stacklevel=2,
        )
    history = History()

    def loss_of(draw: Draw) -> Loss:
        with nullcontext() if draw.seed is None else seeded(draw.seed):
            batch = draw.make()
            logits = model(batch.x, batch.op)
            if not history.train_loss:
                targets.check_width(logits)
            value = batch.loss(logits)
            return Loss(value, draw.weight, draw.share)

    def steps() -> Iterator[Iterator[Loss]]:
        for draws in batches.epoch():
            yield map(loss_of, group.own(draws))

    validate = partial(_validate, model, batches.validation, config, history) if len(targets.val) else None
    return train_epochs(
        model,
        config,
        seed,
        steps,
        validate,
        history,
        on_epoch=on_epoch,
        group=group,
        checkpoint=checkpoint,
        settings={} if checkpoint is None else _settings(x, targets),
    )


class FitOptions(TypedDict, total=False):
    """The options of `fit` that `train_network` passes on."""

    loss: LossName
    class_weight: ArrayLike | Tensor | None
    sample_weight: ArrayLike | Tensor | None
    on_epoch: Callable[[int], None] | None
    group: Group
    checkpoint: Checkpoint | None


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """The outcome of `train_network`.

    Attributes:
        network: the trained network, in evaluation mode.
        logits: logits of all nodes, (N, C).
        result: the result of `fit`.
    """

    network: GraphNetwork
    logits: Tensor
    result: FitResult


def train_network(
    new_network: Callable[[], GraphNetwork],
    x: NetworkInput,
    op: GraphOperator | None,
    y: ArrayLike | Tensor,
    train: ArrayLike | Tensor,
    val: ArrayLike | Tensor | None = None,
    *,
    config: FitConfig | None = None,
    seed: int = 0,
    **options: Unpack[FitOptions],
) -> TrainedNetwork:
    """Create a network, train it with `fit` and compute its logits.

    The global random state is unchanged. The same seed and number of threads give bitwise the same result.

    Args:
        new_network: function that creates a network, e.g. `functools.partial(S2GNN, 38, 32, 2, alpha=6)`.
        x: node features, or the result of the network's `prepare`.
        op: the operator passed to the network.
        y: labels or values.
        train: training nodes.
        val: validation nodes.
        config: training configuration.
        seed: random seed.
        **options: the other options of `fit`.
    """
    with seeded(seed):
        network = new_network()
    result = fit(network, x, op, y, train, val, config=config, seed=seed, **options)
    return TrainedNetwork(network, predict_logits(network, x, op), result)


@torch.no_grad()
def predict_logits(model: GraphNetwork, x: NetworkInput, op: GraphOperator | None) -> Tensor:
    """Compute the logits (N, C) of `model`, which is in evaluation mode afterwards."""
    model.eval()
    return x.logits(model) if isinstance(x, InParts) else model(x, op)


def _validate(model: GraphNetwork, batch: Batch, config: FitConfig, history: History) -> float:
    """Add the scores on the validation nodes to `history`; returns the monitored score, larger is better."""
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


def _settings(x: NetworkInput, targets: Targets) -> dict[str, Any]:
    """Return the settings of input and targets; a run only resumes with the same settings."""
    return {"targets": targets.digest(), **(x.settings() if isinstance(x, InParts) else {})}


def _check_monitor(monitor: str, targets: Targets) -> None:
    if len(targets.val) and monitor != "loss" and targets.values:
        raise InputError(f'monitor is {monitor!r}, but y has values and no classes: monitor "loss"')
    if len(targets.val) and monitor != "loss" and (monitor == "auc") != targets.several_labels:
        what, score = ("several labels", "auc") if targets.several_labels else ("one class", "accuracy")
        raise InputError(f'monitor is {monitor!r}, but y has {what} for each node: monitor "{score}" or "loss"')
