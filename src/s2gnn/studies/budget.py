"""How much a study may cost: the seeds, the epochs, and where hyperparameters come from."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from s2gnn.errors import InputError


@dataclass(frozen=True)
class Budget:
    """What every cell of a study is given.

    Attributes:
        name: as on the command line.
        description: for people.
        seeds: the first so many of the 50 test seeds.
        epochs: at most so many.
        patience: stop after so many epochs without a better validation score; `None` never stops early.
        max_heads: attention networks have at most so many heads; `None` for what their hyperparameters say.
        trials: of a search for hyperparameters on the validation seeds; none takes those of the study's configuration.
    """

    name: str
    description: str
    seeds: int
    epochs: int = 500
    patience: int | None = None
    max_heads: int | None = None
    trials: int = 0


# From the cheapest to the most thorough.
BUDGETS: Mapping[str, Budget] = MappingProxyType(
    {
        budget.name: budget
        for budget in (
            Budget("smoke", "1 seed, 20 epochs: whether everything runs", seeds=1, epochs=20, max_heads=1),
            Budget(
                "quick",
                "3 seeds, the hyperparameters of the configuration, early stopping, at most 2 heads",
                seeds=3,
                patience=100,
                max_heads=2,
            ),
            Budget("long", "50 seeds, the hyperparameters of the configuration, all 500 epochs", seeds=50),
            Budget("full", "as the paper: a search of 100 trials with 5 seeds, then 50 seeds", seeds=50, trials=100),
        )
    }
)


def named_budget(name: str) -> Budget:
    """The budget called `name`."""
    if name not in BUDGETS:
        raise InputError(f"there is no budget {name!r}: choose from {', '.join(BUDGETS)}")
    return BUDGETS[name]


def searchless_budget(name: str) -> Budget:
    """The budget called `name` for a study whose hyperparameters are given, so that "full" is "long"."""
    budget = named_budget(name)
    return BUDGETS["long"] if budget.trials else budget
