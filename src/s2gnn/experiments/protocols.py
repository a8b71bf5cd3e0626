"""How models are trained and compared (protocols), and how much a study may cost (budgets)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from s2gnn.errors import unknown_name
from s2gnn.learning.config import DecayName, FitConfig


@dataclass(frozen=True)
class Protocol:
    """Everything about training and testing that is not a hyperparameter; the same for all models of a comparison.

    Attributes:
        name: as on the command line.
        head: "released" applies ReLU and dropout to the logits of the baselines, as the released code does; "plain"
            leaves the logits of every model as they are.
        keep: test the weights of the first epoch with the "best" validation score, or of the "last" epoch.
        decay: weight decay acts on "all" parameters or on the "first-layer" only.
        frozen: submodules that are not trained.
        epochs: maximum number of epochs.
        patience: stop after this number of epochs without a better validation score; `None` never stops early.
        batch_size: number of graphs in a step, for graph classification; `None` takes all at once.
        folds: the seeds are the folds of one cross-validation, see `fold_split`; `None` splits by the seed.
        monitor: "loss" selects the epoch by the validation loss; `None` by accuracy, or by ROC-AUC where a node has
            several labels or links are predicted.
    """

    name: str
    head: Literal["plain", "released"]
    keep: Literal["best", "last"] = "best"
    decay: DecayName = "all"
    frozen: tuple[str, ...] = ()
    epochs: int = 500
    patience: int | None = None
    batch_size: int | None = None
    folds: int | None = None
    monitor: Literal["loss"] | None = None

    @property
    def run(self) -> str:
        """The name of a single run: seed, or fold for a cross-validation."""
        return "seed" if self.folds is None else "fold"

    def describe(self) -> dict[str, Any]:
        """Return the protocol in a record key."""
        return {
            "name": self.name,
            "head": self.head,
            "keep": self.keep,
            "decay": self.decay,
            "frozen": list(self.frozen),
            "epochs": self.epochs,
            "patience": self.patience,
            "batch_size": self.batch_size,
            "folds": self.folds,
            "monitor": self.monitor,
        }

    def fit_config(self, lr: float, weight_decay: float, score: Literal["accuracy", "auc"] = "accuracy") -> FitConfig:
        """Return how `fit` trains under this protocol; `score` selects the epoch unless it monitors the loss."""
        return FitConfig(
            lr=lr,
            weight_decay=weight_decay,
            epochs=self.epochs,
            patience=self.patience,
            monitor=self.monitor or score,
            keep=self.keep,
            decay=self.decay,
            frozen=self.frozen,
            batch_size=self.batch_size,
        )


# The released code for constructed graphs, in its older form; its newer form reports the last epoch.
RELEASED = Protocol("released", head="released")
RELEASED_LAST = replace(RELEASED, name="released-last", keep="last")
# The released code for citation networks: its optimizer gets the convolutions only, so that the fusion keeps its random
# initial values, and weight decay for the first of them.
RELEASED_CITATION = replace(RELEASED, name="released-citation", decay="first-layer", frozen=("fusion",))
# Equal terms: every model has a plain head, and all its parameters are trained and decay.
FAIR = Protocol("fair", head="plain")
# The same for as long as a model improves, where 500 epochs are few.
FAIR_CONVERGED = replace(FAIR, name="fair-converged", epochs=3000, patience=300)
# Equal terms on citation networks, with the usual weight decay there.
FAIR_CITATION = replace(FAIR, name="fair-citation", decay="first-layer")
# The released code for graphs that are classified trains like that for citation networks.
RELEASED_GRAPHS = replace(RELEASED_CITATION, name="released-graphs")
FAIR_GRAPHS = replace(FAIR_CITATION, name="fair-graphs")
# The standard comparison of graph classifiers, the risk assessment of Errica et al. (2020). Accuracies tie on so small
# validation sets, so the loss selects the epoch.
TEN_FOLD = replace(FAIR, name="ten-fold", batch_size=32, folds=10, monitor="loss")

PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        protocol.name: protocol
        for protocol in (
            RELEASED,
            RELEASED_LAST,
            RELEASED_CITATION,
            FAIR,
            FAIR_CONVERGED,
            FAIR_CITATION,
            RELEASED_GRAPHS,
            FAIR_GRAPHS,
            TEN_FOLD,
        )
    }
)


@dataclass(frozen=True)
class Rung:
    """A round of a random search by successive halving.

    Attributes:
        configurations: number to train, the best of the round before; in the first round the default and random ones.
        seeds: number of validation seeds.
        epochs: maximum number of epochs; `None` for that of the budget.
    """

    configurations: int
    seeds: int
    epochs: int | None = None


@dataclass(frozen=True)
class Budget:
    """What every experiment of a study may cost.

    Attributes:
        name: as on the command line.
        description: for people.
        seeds: number of test seeds.
        epochs: maximum number of epochs.
        patience: see `Protocol`.
        max_heads: maximum number of attention heads; `None` for no limit.
        rungs: of a search for hyperparameters, see `Search`; without any, those of the study are used.
    """

    name: str
    description: str
    seeds: int
    epochs: int = 500
    patience: int | None = None
    max_heads: int | None = None
    rungs: tuple[Rung, ...] = ()

    def limit(self, protocol: Protocol) -> Protocol:
        """Return `protocol` with the epochs and the patience of this budget."""
        return replace(protocol, epochs=self.epochs, patience=self.patience)


# From the cheapest to the most thorough.
BUDGETS: Mapping[str, Budget] = MappingProxyType(
    {
        budget.name: budget
        for budget in (
            Budget("smoke", "1 seed, 20 epochs: only checks that everything runs", seeds=1, epochs=20, max_heads=1),
            Budget(
                "quick",
                "3 seeds, the study's hyperparameters, early stopping, at most 2 attention heads",
                seeds=3,
                patience=100,
                max_heads=2,
            ),
            Budget("long", "50 seeds, the study's hyperparameters, all 500 epochs", seeds=50),
            Budget(
                "standard",
                "10 seeds after a search of 20 configurations by successive halving",
                seeds=10,
                patience=100,
                rungs=(Rung(20, 1, epochs=60), Rung(7, 1), Rung(3, 3)),
            ),
            Budget(
                "full",
                "as in the paper: 50 seeds after a search of 100 configurations with 5 validation seeds",
                seeds=50,
                rungs=(Rung(100, 5),),
            ),
        )
    }
)


def named_protocol(name: str) -> Protocol:
    """Return the protocol called `name`."""
    if name not in PROTOCOLS:
        raise unknown_name("there is no protocol", name, PROTOCOLS)
    return PROTOCOLS[name]


def named_budget(name: str) -> Budget:
    """Return the budget called `name`."""
    if name not in BUDGETS:
        raise unknown_name("there is no budget", name, BUDGETS)
    return BUDGETS[name]
