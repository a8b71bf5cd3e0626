"""The hyperparameters that a search chooses from: the paper's space, for every model."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from s2gnn.learning.hyperparameters import Hyperparameters, Value
from s2gnn.nn import HeadName, hyperparameters
from s2gnn.nn.arguments import positive_integer

DECIMALS = 4


@dataclass(frozen=True)
class Uniform:
    """Numbers of [low, high], rounded to four decimals as in the paper."""

    low: float
    high: float

    def draw(self, generator: np.random.Generator) -> float:
        """One of them, all with the same probability."""
        return round(float(generator.uniform(self.low, self.high)), DECIMALS)

    def nearest(self, value: Value) -> float:
        """The one nearest to `value`."""
        return round(min(max(float(value), self.low), self.high), DECIMALS)


@dataclass(frozen=True)
class Integers:
    """low, low + 1, …, high."""

    low: int
    high: int

    def draw(self, generator: np.random.Generator) -> int:
        """One of them, all with the same probability."""
        return int(generator.integers(self.low, self.high, endpoint=True))

    def nearest(self, value: Value) -> int:
        """The one nearest to `value`."""
        return min(max(int(value), self.low), self.high)


@dataclass(frozen=True)
class Choice:
    """A few values."""

    values: tuple[Value, ...]

    def draw(self, generator: np.random.Generator) -> Value:
        """One of them, all with the same probability."""
        return self.values[int(generator.integers(len(self.values)))]

    def nearest(self, value: Value) -> Value:
        """`value` if it is one of them, else the number nearest to it, or the first of values that are no numbers."""
        if value in self.values or not all(isinstance(known, int | float) for known in self.values):
            return value if value in self.values else self.values[0]
        return min(self.values, key=lambda known: abs(float(known) - float(value)))


Range = Uniform | Integers | Choice

PAPER_RANGES: Mapping[str, Range] = MappingProxyType(
    {
        "lr": Uniform(0.005, 0.02),
        "weight_decay": Uniform(1e-4, 1e-3),
        "hidden_channels": Choice((16, 32, 64)),
        "num_layers": Integers(2, 5),
        "dropout": Uniform(0.3, 0.7),
        "alpha": Integers(1, 6),
        "epsilon": Uniform(0.5, 2.0),
        "fusion": Choice(("linear", "mlp")),
        "heads": Integers(1, 6),
        "K": Integers(1, 3),
        "powers": Integers(1, 3),
    }
)


@dataclass(frozen=True)
class SearchSpace:
    """What may be chosen for one model: a range for `lr`, for `weight_decay` and for arguments of the model."""

    ranges: Mapping[str, Range]

    def without(self, names: Collection[str]) -> "SearchSpace":
        """The space of the other hyperparameters."""
        return SearchSpace(MappingProxyType({name: of for name, of in self.ranges.items() if name not in names}))

    def draw(self, seed: int, index: int) -> dict[str, Value]:
        """Values of random draw number `index`, which depend on nothing but `seed` and `index`."""
        generator = np.random.default_rng([seed, index])
        return {name: chosen.draw(generator) for name, chosen in self.ranges.items()}

    def nearest(self, hyperparameters: Hyperparameters) -> dict[str, Value]:
        """The values of the space that are nearest to the given ones."""
        given = {"lr": hyperparameters.lr, "weight_decay": hyperparameters.weight_decay, **hyperparameters.model}
        return {name: chosen.nearest(given[name]) for name, chosen in self.ranges.items()}


def search_space(model: str, head: HeadName = "plain", *, max_heads: int = 6) -> SearchSpace:
    """The paper's space, as far as it has an effect on `model`.

    Args:
        model: one of `MODELS`.
        head: SGC has dropout in the head "released" only.
        max_heads: at most so many attention heads; 6 in the paper, fewer where a search must be short.
    """
    accepted = ("lr", "weight_decay", *hyperparameters(model))
    ranges = {name: chosen for name, chosen in PAPER_RANGES.items() if name in accepted}
    if "heads" in ranges:
        ranges["heads"] = Integers(1, min(6, positive_integer(max_heads, "max_heads")))
    if model == "sgc":
        del ranges["hidden_channels"]
        if head == "plain":
            del ranges["dropout"]
    return SearchSpace(MappingProxyType(ranges))
