"""The paper's search space, as Optuna's distributions."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

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


# What the package adds to S2-GNN; None leaves it off.
ARCHITECTURES: Space = MappingProxyType(
    {
        "fusion": CategoricalDistribution(("linear", "mlp", "attention")),
        "epsilon": CategoricalDistribution((0.5, 1.0, 1.5, 2.0, "learn")),
        "shift": CategoricalDistribution((None, "laplacian", "normalized_adjacency", "normalized_laplacian")),
        "norm": CategoricalDistribution((None, "batch")),
        "residual": CategoricalDistribution((None, True)),
    }
)
# Of the classical baselines, which the paper does not have.
CLASSICAL_SPACES: Mapping[str, Space] = MappingProxyType(
    {"svm": {"C": FloatDistribution(0.01, 100.0, log=True)}, "label-spreading": {"alpha": _uniform(0.05, 0.95)}}
)


def search_space(
    model: str, head: HeadName = "plain", *, max_heads: int = 6, fixed: Collection[str] = ()
) -> dict[str, Distribution]:
    """Return the paper's search space, restricted to the hyperparameters that affect `model`.

    Args:
        model: one of `MODELS`, or a classical baseline; "s2gnn+" also searches `ARCHITECTURES`.
        head: the head of the protocol; SGC only has dropout with "released".
        max_heads: maximum number of attention heads, 6 in the paper.
        fixed: hyperparameters to omit.
    """
    if model in CLASSICAL_SPACES:
        return dict(CLASSICAL_SPACES[model])
    accepted = {"lr", "weight_decay", *hyperparameters(model)} - set(fixed)
    if model == "sgc":
        accepted -= {"hidden_channels"} if head == "released" else {"hidden_channels", "dropout"}
    everything = {**PAPER_SPACE, **ARCHITECTURES} if model == "s2gnn+" else PAPER_SPACE
    space = {name: of for name, of in everything.items() if name in accepted}
    if "heads" in space:
        space["heads"] = IntDistribution(1, min(6, positive_integer(max_heads, "max_heads")))
    return space


def draw_values(space: Space, seed: int, number: int) -> dict[str, Value | None]:
    """Draw uniform random values, which only depend on `seed` and `number`."""
    generator = np.random.default_rng([seed, number])
    values: dict[str, Value | None] = {}
    for name, of in space.items():
        match of:
            case FloatDistribution(log=True):
                values[name] = round(float(np.exp(generator.uniform(np.log(of.low), np.log(of.high)))), DECIMALS)
            case FloatDistribution():
                values[name] = round(float(generator.uniform(of.low, of.high)), DECIMALS)
            case IntDistribution():
                values[name] = int(generator.integers(of.low, of.high, endpoint=True))
            case CategoricalDistribution():
                values[name] = _choices(of)[int(generator.integers(len(of.choices)))]
    return values


def nearest_values(space: Space, chosen: Hyperparameters) -> dict[str, Value | None]:
    """Return the point of the space nearest to `chosen`; for missing non-numeric values, the first choice."""
    values: dict[str, Value | None] = {}
    for name, of in space.items():
        value = chosen.values.get(name)
        if not isinstance(of, CategoricalDistribution):
            values[name] = round(type(of.low)(np.clip(float(value or 0.0), of.low, of.high)), DECIMALS)
        elif isinstance(value, str | None) or value in of.choices:
            values[name] = value if value in of.choices else _choices(of)[0]
        else:
            numbers = [known for known in _choices(of) if isinstance(known, int | float)]
            values[name] = min(numbers, key=lambda known: abs(known - value))
    return values


def _choices(of: CategoricalDistribution) -> tuple[Value | None, ...]:
    return of.choices
