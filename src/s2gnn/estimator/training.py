"""Training of an estimator's networks: the same network from several starts, on one graph."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from s2gnn.estimator.holdout import Fraction, hold_out
from s2gnn.graphs import Graph
from s2gnn.learning import FitConfig, History, fit, predict_logits, seeded
from s2gnn.learning.targets import LossName
from s2gnn.nn import S2GNN, S2GNNConfig
from s2gnn.nn.arguments import positive_integer

WeightDecay = float | Literal["auto"]
NetworkCount = int | Literal["auto"]

AUTO_DECAY = 0.5
AUTO_NETWORKS = 3
# Beyond, a network takes minutes, and there are mostly labels enough for the start to matter little.
AUTO_ROWS = 20_000


@dataclass(frozen=True)
class Task:
    """What is to be learned.

    Attributes:
        y: classes 0..C−1, (N,), or numbers, (N, outputs); what stands at rows that are not labelled is not looked at.
        labelled: the rows whose `y` is known.
        n_outputs: width of the network's output.
        loss: of `fit`.
        class_weight: of `fit`.
    """

    y: NDArray[Any]
    labelled: NDArray[np.int64]
    n_outputs: int
    loss: LossName = "cross-entropy"
    class_weight: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Networks:
    """Trained networks and what they know of the training rows.

    Attributes:
        models: in evaluation mode.
        states: for each model the inputs of its layers after the first, see `layer_inputs`.
        logits: of the training rows, (number of models, N, outputs).
        histories: one for each model.
        kept_epochs: the epoch, counted from 0, whose weights each model has.
    """

    models: tuple[S2GNN, ...]
    states: tuple[tuple[NDArray[np.float32], ...], ...]
    logits: NDArray[np.float64]
    histories: tuple[History, ...]
    kept_epochs: tuple[int, ...]


def weight_decay_for(wanted: WeightDecay, n_labelled: int) -> float:
    """The weight decay that is wanted; "auto" is 0.5 divided by the number of labelled rows.

    The loss is the mean over these rows: so the penalty stays the same beside the sum over them, however many they are.
    """
    return AUTO_DECAY / n_labelled if wanted == "auto" else wanted


def number_of_networks(wanted: NetworkCount, n_rows: int) -> int:
    """How many networks learn from a table of `n_rows`: as many as are wanted; "auto" is 3, beyond 20,000 rows 1."""
    if wanted == "auto":
        return AUTO_NETWORKS if n_rows <= AUTO_ROWS else 1
    return positive_integer(wanted, "n_networks")


def train_networks(
    task: Task,
    X: Any,
    graph: Graph,
    config: S2GNNConfig,
    training: FitConfig,
    validation_fraction: Fraction,
    seeds: list[int],
    on_progress: Callable[[float], None],
) -> Networks:
    """Train a network from each of `seeds`, which also draws the rows that it is validated on.

    `on_progress` is called with the share of the epochs that is done.
    """
    models, states, logits, histories, kept = [], [], [], [], []
    strata = None if task.loss == "squared-error" else task.y[task.labelled]
    inputs = None
    for number, seed in enumerate(seeds):
        with seeded(seed):  # the constructor draws, and the caller's generator is to stay as it is
            model = S2GNN.from_config(config)
        inputs = inputs or model.prepare(X, graph)
        train, val = hold_out(task.labelled, strata, validation_fraction, np.random.default_rng(seed))

        def report(epoch: int, number: int = number) -> None:
            on_progress((number + (epoch + 1) / training.epochs) / len(seeds))

        result = fit(
            model,
            *inputs,
            task.y,
            train,
            val,
            config=training,
            seed=seed,
            loss=task.loss,
            class_weight=task.class_weight,
            on_epoch=report,
        )
        models.append(model)
        states.append(layer_inputs(model, *inputs))
        logits.append(predict_logits(model, *inputs).double().numpy())
        histories.append(result.history)
        kept.append(result.best_epoch)
    return Networks(tuple(models), tuple(states), np.stack(logits), tuple(histories), tuple(kept))


@torch.no_grad()
def layer_inputs(model: S2GNN, x: Any, op: Any) -> tuple[NDArray[np.float32], ...]:
    """What the layers after the first were given of the training rows, each (N, hidden); `x`, `op` of `prepare`."""
    model.eval()
    return tuple(output.numpy() for output in model.layer_outputs(x, op)[:-1])
