"""Train an ensemble: the same network from several seeds, each with different validation rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.learning import FitConfig, History, seeded, train_network
from s2gnn.learning.targets import LossName
from s2gnn.nn import GraphNetwork
from s2gnn.nn.arguments import positive_integer
from s2gnn.nn.inputs import NetworkInput
from s2gnn.operators import GraphOperator
from s2gnn.ranges import SEED

Fraction = float | Literal["auto"] | None
WeightDecay = float | Literal["auto"]
NetworkCount = int | Literal["auto"]
Network = TypeVar("Network", bound=GraphNetwork)

AUTO_DECAY = 0.5
AUTO_NETWORKS = 3
# With more rows, a network takes minutes, and there are usually enough labels that the seed matters little.
AUTO_NETWORKS_ROWS = 20_000
AUTO_FRACTION = 0.2
# With fewer labelled rows, per class or for a number, validation rows are too few to choose by and are missed in
# training: with 24 to 60 labels per class, tables lose up to a few points.
AUTO_FRACTION_ROWS_PER_CLASS = 100
AUTO_FRACTION_ROWS = 200


@dataclass(frozen=True)
class Objective:
    """The targets of the networks' training; `loss` and weights are passed to `s2gnn.learning.fit`."""

    y: NDArray[Any]  # classes 0..C−1, (N,), or numbers, (N, outputs) or (N,); ignored at unlabelled rows
    labelled: NDArray[np.int64]  # the rows whose y is known
    n_outputs: int  # width of the network's output
    loss: LossName = "cross-entropy"
    class_weight: NDArray[np.float64] | None = None
    sample_weight: NDArray[np.float64] | None = None  # of each row, (N,); ignored at unlabelled rows


@dataclass(frozen=True)
class Ensemble(Generic[Network]):
    """Trained networks."""

    networks: tuple[Network, ...]  # in evaluation mode
    logits: NDArray[np.float64]  # of all rows, (number of networks, N, outputs)
    histories: tuple[History, ...]  # one for each network
    kept_epochs: tuple[int, ...]  # the epoch, counted from 0, whose weights each network has


def train_ensemble(
    make: Callable[[], Network],
    prepare: Callable[[Network], tuple[NetworkInput, GraphOperator | None]],
    objective: Objective,
    config: FitConfig,
    *,
    seeds: Sequence[int],
    validation_fraction: Fraction = "auto",
    device: torch.device | None = None,
    on_progress: Callable[[float], None] = lambda _: None,
) -> Ensemble[Network]:
    """Train a network from each of `seeds`, which also draws its validation rows.

    Args:
        make: creates a new network.
        prepare: what all networks are called with, made once by a network that is then discarded.
        objective: the targets and loss.
        config: the training configuration.
        seeds: one for each network.
        validation_fraction: see `hold_out`.
        device: where to train, by default on the CPU; the trained networks and their logits are on the CPU.
        on_progress: called with the fraction of the epochs that is finished.
    """
    strata = None if objective.loss == "squared-error" else objective.y[objective.labelled]

    def make_there() -> Network:
        return make().to(device or "cpu")

    with seeded(seeds[0]):  # constructors draw random numbers; the caller's generator stays unchanged
        x, op = prepare(make_there())
    trained = []
    for number, seed in enumerate(seeds):
        train, val = hold_out(objective.labelled, strata, validation_fraction, np.random.default_rng(seed))

        def report(epoch: int, number: int = number) -> None:
            on_progress((number + (epoch + 1) / config.epochs) / len(seeds))

        trained.append(
            train_network(
                make_there,
                x,
                op,
                objective.y,
                train,
                val,
                config=config,
                seed=seed,
                loss=objective.loss,
                class_weight=objective.class_weight,
                sample_weight=objective.sample_weight,
                on_epoch=report,
            )
        )
    return Ensemble(
        tuple(cast(Network, one.network.cpu()) for one in trained),
        np.stack([one.logits.cpu().double().numpy() for one in trained]),
        tuple(one.result.history for one in trained),
        tuple(one.result.best_epoch for one in trained),
    )


def hold_out(
    rows: NDArray[np.int64], strata: NDArray[np.int64] | None, fraction: Fraction, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the labelled `rows` into training rows and validation rows, which may be none.

    Args:
        rows: labelled rows, (n,).
        strata: their classes, (n,), each of which keeps its share and at least one training row; `None` for no classes.
        fraction: the share to hold out; `None` or 0 for none; "auto" holds out a fifth of at least 100 rows per class,
            or of at least 200 without classes, and nothing of fewer.
        rng: draws the rows.
    """
    groups = np.zeros(len(rows), dtype=np.int64) if strata is None else strata
    if fraction == "auto":
        enough = AUTO_FRACTION_ROWS if strata is None else AUTO_FRACTION_ROWS_PER_CLASS * len(np.unique(groups))
        fraction = AUTO_FRACTION if len(rows) >= enough else 0.0
    held = np.zeros(len(rows), dtype=np.bool_)
    for group in np.unique(groups):
        members = rng.permutation(np.flatnonzero(groups == group))
        held[members[: min(round(len(members) * (fraction or 0.0)), len(members) - 1)]] = True
    return rows[~held], rows[held]


def check_fraction(fraction: Fraction) -> None:
    """Raise unless `fraction` is "auto", `None` or a number in [0, 1)."""
    if fraction is None or (isinstance(fraction, str) and fraction == "auto"):
        return
    if isinstance(fraction, bool) or not isinstance(fraction, int | float | np.number) or not 0 <= fraction < 1:
        raise InputError(f'validation_fraction is {fraction!r}, but it must be "auto", None or a number in [0, 1)')


def check_seed(random_state: Any) -> None:
    """Raise unless `random_state` is an integer or, as in scikit-learn, `None` or a `RandomState`."""
    if isinstance(random_state, int | np.integer):
        SEED.checked(random_state, "random_state")
    elif not (random_state is None or isinstance(random_state, np.random.RandomState)):
        raise InputError(f"random_state is {random_state!r}, but it must be None, an integer or a numpy RandomState")


def weight_decay_for(wanted: WeightDecay, n_labelled: int) -> float:
    """Return the weight decay; "auto" is 0.5 divided by the number of labelled rows.

    The loss is a mean over these rows, so this is the same penalty relative to their sum for any number of rows.
    """
    return AUTO_DECAY / n_labelled if isinstance(wanted, str) and wanted == "auto" else wanted


def number_of_networks(wanted: NetworkCount, n_rows: int, *, alone: bool) -> int:
    """Return the number of networks; "auto" is 1 in a blend, 3 for networks alone, or 1 beyond 20,000 rows."""
    if isinstance(wanted, str) and wanted == "auto":
        return AUTO_NETWORKS if alone and n_rows <= AUTO_NETWORKS_ROWS else 1
    return positive_integer(wanted, "n_networks")
