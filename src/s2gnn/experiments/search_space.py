"""The paper's search space, as Optuna's distributions."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import cast

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from s2gnn.experiments.hyperparameters import Hyperparameters, Value
from s2gnn.nn import HeadName, hyperparameters
from s2gnn.nn.arguments import positive_integer

Distribution = FloatDistribution | IntDistribution | CategoricalDistribution
Space = Mapping[str, Distribution]

DECIMALS = 4  # of a number, as in the paper


def _uniform(low: float, high: float) -> FloatDistribution:
    return FloatDistribution(low, high, step=10**-DECIMALS)


PAPER_SPACE: Space = MappingProxyType(
    {
        "lr": _uniform(0.005, 0.02),
        "weight_decay": _uniform(1e-4, 1e-3),
        "hidden_channels": CategoricalDistribution((16, 32, 64)),
        "num_layers": IntDistribution(2, 5),
        "dropout": _uniform(0.3, 0.7),
        "alpha": IntDistribution(1, 6),
        "epsilon": _uniform(0.5, 2.0),
        "fusion": CategoricalDistribution(("linear", "mlp")),
        "heads": IntDistribution(1, 6),
        "K": IntDistribution(1, 3),
        "powers": IntDistribution(1, 3),
    }
)


def search_space(
    model: str, head: HeadName = "plain", *, max_heads: int = 6, fixed: Collection[str] = ()
) -> dict[str, Distribution]:
    """The paper's space for `model`: the hyperparameters that have an effect on it.

    Args:
        model: one of `MODELS`.
        head: SGC has dropout in the head "released" only.
        max_heads: maximum number of attention heads, 6 in the paper.
        fixed: hyperparameters to omit.
    """
    accepted = {"lr", "weight_decay", *hyperparameters(model)} - set(fixed)
    if model == "sgc":
        accepted -= {"hidden_channels"} if head == "released" else {"hidden_channels", "dropout"}
    space = {name: of for name, of in PAPER_SPACE.items() if name in accepted}
    if "heads" in space:
        space["heads"] = IntDistribution(1, min(6, positive_integer(max_heads, "max_heads")))
    return space


def draw_values(space: Space, seed: int, number: int) -> dict[str, Value]:
    """Uniform random values, which depend on `seed` and `number` only."""
    generator = np.random.default_rng([seed, number])
    values: dict[str, Value] = {}
    for name, of in space.items():
        match of:
            case FloatDistribution():
                values[name] = round(float(generator.uniform(of.low, of.high)), DECIMALS)
            case IntDistribution():
                values[name] = int(generator.integers(of.low, of.high, endpoint=True))
            case CategoricalDistribution():
                values[name] = _choices(of)[int(generator.integers(len(of.choices)))]
    return values


def nearest_values(space: Space, chosen: Hyperparameters) -> dict[str, Value]:
    """The point of the space nearest to `chosen`; the first of choices that are not numbers and have no such value."""
    values: dict[str, Value] = {}
    for name, of in space.items():
        value = chosen.values[name]
        if not isinstance(of, CategoricalDistribution):
            values[name] = round(type(of.low)(np.clip(float(value), of.low, of.high)), DECIMALS)
        elif isinstance(value, str) or value in of.choices:
            values[name] = value if value in of.choices else _choices(of)[0]
        else:
            values[name] = min(_choices(of), key=lambda known: abs(float(known) - float(value)))
    return values


def _choices(of: CategoricalDistribution) -> tuple[Value, ...]:
    return cast(tuple[Value, ...], of.choices)
