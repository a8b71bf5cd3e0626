"""What all studies share: a name, what of it is asked for, and its results as a table and as JSON."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2gnn.errors import InputError
from s2gnn.experiments.experiment import Experiment
from s2gnn.experiments.protocols import BUDGETS, Budget
from s2gnn.render import Table

# The budgets whose runs are shown; smoke only checks that things run.
SHOWN = tuple(budget for name, budget in BUDGETS.items() if name != "smoke")


@dataclass(frozen=True)
class Selection:
    """The data sets, models, protocol and budgets of a study that are asked for; `None` for all."""

    data: Sequence[str] | None = None
    models: Sequence[str] | None = None
    protocol: str | None = None
    budgets: Sequence[Budget] | None = None


ALL = Selection()


class Study(ABC):
    """A table or figure, with everything that is needed to make it again.

    Attributes:
        name: as on the command line.
        title: what it shows.
        paper: where in the paper.
    """

    name: str
    title: str
    paper: str

    @property
    @abstractmethod
    def size(self) -> str:
        """The extent of the study in a few words."""

    @abstractmethod
    def table(self, folder: Path, selection: Selection = ALL) -> Table:
        """The stored results in `folder` as a table."""

    @abstractmethod
    def json(self, folder: Path, selection: Selection = ALL) -> dict[str, Any]:
        """All figures of the stored results, for programs."""


class TrainedStudy(Study):
    """A study whose runs are trained one by one and stored as records.

    Attributes:
        without_search: why the study has no hyperparameter search; `None` where it may have one.
    """

    def __init__(self, name: str, title: str, paper: str, without_search: str | None) -> None:
        self.name, self.title, self.paper, self.without_search = name, title, paper, without_search

    @abstractmethod
    def experiments(self, selection: Selection, budget: Budget, seeds: int | None = None) -> list[Experiment]:
        """All experiments of the selection."""

    def draw(self, folder: Path, budget: Budget) -> tuple[str, ...]:
        """Write the pictures of the records, if the study has any; the suffixes of the files."""
        del folder, budget
        return ()


def usable_budgets(study: str, selection: Selection, without_search: str | None) -> list[Budget]:
    """The selected budgets, by default all that are shown, without those that search where a study has no search."""
    budgets = [b for b in selection.budgets or SHOWN if not (b.trials and without_search)]
    if not budgets:
        known = ", ".join(b.name for b in BUDGETS.values() if not b.trials)
        raise InputError(f"{study} {without_search}, so it has no runs with budget full: choose from {known}")
    return budgets


def check_names(study: str, kind: str, wanted: Iterable[str] | None, known: Collection[str]) -> None:
    """Raise unless the study has every wanted name of a `kind`, such as "data set"."""
    for name in wanted or ():
        if name not in known:
            raise InputError(f"{study} has no {kind} {name!r}: choose from {', '.join(known) or 'none'}")
