"""What the records say about a table: for every place the runs behind it, their score, and who leads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from s2gnn.learning.metrics import Confidence, PairedComparison, bootstrap_confidence, compare_paired
from s2gnn.learning.protocol import Protocol
from s2gnn.learning.records import Record, Records, canonical_json
from s2gnn.studies.budget import BUDGETS, Budget
from s2gnn.studies.cell import Cell
from s2gnn.studies.table import AccuracyTable, Column, TableCell

# What a table shows; smoke only tells whether things run.
SHOWN = tuple(budget for name, budget in BUDGETS.items() if name != "smoke")

# A lead counts where the p of its paired t-test is below this.
LEVEL = 0.05


@dataclass(frozen=True)
class PlaceResult:
    """The runs of one place of a table under one protocol.

    Attributes:
        runs: by budget and seed, from the cheapest budget on.
        budget: the one that is shown; `None` when there are no runs.
        metric: the score that counts, as records name it.
    """

    runs: Mapping[str, Mapping[int, Record]]
    budget: str | None
    metric: str = "test_accuracy"

    @property
    def most_seeds(self) -> str | None:
        """The budget with the most seeds, of equally many the most thorough; `None` when there are no runs."""
        return _most({name: len(runs) for name, runs in self.runs.items()})

    def under(self, budget: str | None) -> "PlaceResult":
        """The same place with another budget shown."""
        return replace(self, budget=budget)

    @property
    def records(self) -> Mapping[int, Record]:
        """The runs that are shown, by seed."""
        return self.runs[self.budget] if self.budget else {}

    @property
    def scores(self) -> dict[int, float]:
        """Their scores in % by seed."""
        return self._scores(self.records)

    @cached_property
    def score(self) -> Confidence | None:
        """Mean and half-width over seeds in %; `None` without runs."""
        return bootstrap_confidence(list(self.scores.values())) if self.records else None

    def lead(self, other: "PlaceResult") -> PairedComparison | None:
        """The score here minus that of `other`, in points, on the seeds that both have under one budget.

        Of several budgets the one with the most common seeds is taken; `None` where there is none.
        """
        common = {budget: self.runs[budget].keys() & other.runs[budget].keys() for budget in self.runs}
        budget = _most({name: len(seeds) for name, seeds in common.items()})
        if budget is None:
            return None
        ours, theirs = (
            place._scores({seed: place.runs[budget][seed] for seed in common[budget]}) for place in (self, other)
        )
        return compare_paired(ours, theirs)

    def _scores(self, records: Mapping[int, Record]) -> dict[int, float]:
        return {seed: 100 * record.metrics[self.metric] for seed, record in records.items()}


@dataclass(frozen=True)
class TableResult:
    """A table, or a part of one, and the runs behind it, by column, model and name of the protocol.

    Attributes:
        table: what is shown.
        places: of the whole table, so that ranks and leads do not depend on what is shown. Each shows the budget that
            most models of its column have, or what it has if it has no run with that.
        budgets: that budget by column and name of the protocol; `None` of a column without runs.
    """

    table: AccuracyTable
    places: Mapping[tuple[Column, str, str], PlaceResult]
    budgets: Mapping[tuple[Column, str], str | None]

    def chosen(self, data: Sequence[str] | None = None, models: Sequence[str] | None = None) -> "TableResult":
        """The part with these data sets and models, all if left out."""
        return replace(self, table=self.table.chosen(data, models))

    def at(self, cell: TableCell, protocol: Protocol) -> PlaceResult:
        """The runs of one place."""
        return self.places[cell.column, cell.model, protocol.name]

    @property
    def shown(self) -> list[PlaceResult]:
        """The runs of every place that is shown."""
        return [self.at(cell, protocol) for cell in self.table.cells for protocol in self.table.protocols]

    def ranking(self, column: Column, protocol: Protocol) -> list[str]:
        """The models that have runs with the budget of the column, best first."""
        budget = self.budgets[column, protocol.name]
        scores = {
            model: place.score.mean
            for (where, model, under), place in self.places.items()
            if (where, under) == (column, protocol.name) and place.score is not None and place.budget == budget
        }
        return sorted(scores, key=lambda model: -scores[model])

    def lead(self, column: Column, protocol: Protocol, other: str, first: str = "s2gnn") -> PairedComparison | None:
        """The score of `first` minus that of `other`, see `PlaceResult.lead`; `None` where one of them has no place."""
        ours, theirs = (self.places.get((column, model, protocol.name)) for model in (first, other))
        if ours is None or theirs is None:
            return None
        return ours.lead(theirs)

    @property
    def records(self) -> list[Record]:
        """All records behind what is shown, each once."""
        found = {
            (record.config_hash, record.seed): record
            for place in self.shown
            for of_budget in (place, place.under(place.most_seeds))
            for record in of_budget.records.values()
        }
        return list(found.values())


def verdict(lead: PairedComparison) -> int:
    """1 where the first model is ahead, -1 where it is behind, 0 where the seeds do not tell."""
    if lead.p_t is None or lead.p_t >= LEVEL:
        return 0
    return 1 if lead.mean_difference > 0 else -1


def table_result(table: AccuracyTable, records: Records, budgets: Sequence[Budget] = SHOWN) -> TableResult:
    """The runs of every place of `table` with these budgets, from the cheapest on."""
    known = KnownRuns(records.read())
    runs = {
        (cell.column, cell.model, protocol.name): {
            budget.name: known.runs(table.cell(cell, protocol, budget), budget) for budget in budgets
        }
        for cell in table.cells
        for protocol in table.protocols
    }
    models_run = {
        (column, protocol.name): dict.fromkeys((budget.name for budget in budgets), 0)
        for column in table.columns
        for protocol in table.protocols
    }
    for (column, _, under), found in runs.items():
        for budget, of_budget in found.items():
            models_run[column, under][budget] += bool(of_budget)
    common = {where: _most(counts) for where, counts in models_run.items()}
    places = {}
    for (column, model, under), found in runs.items():
        place, most_models = PlaceResult(found, None, table.metric), common[column, under]
        places[column, model, under] = place.under(
            most_models if most_models and found[most_models] else place.most_seeds
        )
    return TableResult(table, places, common)


def _most(counts: Mapping[str, int]) -> str | None:
    """The budget with the most of something, of equally many the most thorough; `None` where no budget has any."""
    best = max(reversed(list(counts)), key=lambda name: counts[name])
    return best if counts[best] else None


class KnownRuns:
    """Records by what a place of a table or of a curve asks for."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._by_config: dict[str, dict[int, Record]] = {}
        self._searched: dict[str, dict[str, dict[int, Record]]] = {}
        for record in records:
            self._by_config.setdefault(record.config_hash, {})[record.seed] = record
            if record.budget.get("name") == "full":
                searches = self._searched.setdefault(_without_hyperparameters(record.config), {})
                searches.setdefault(record.config_hash, {})[record.seed] = record

    def runs(self, cell: Cell, budget: Budget) -> dict[int, Record]:
        """The records of a cell; after a search its hyperparameters are what the search found."""
        if not budget.trials:
            return self._by_config.get(cell.config_hash, {})
        searches = self._searched.get(_without_hyperparameters(cell.config), {})
        return max(searches.values(), key=len, default={})


def _without_hyperparameters(config: Mapping[str, Any]) -> str:
    return canonical_json({name: value for name, value in config.items() if name != "hyperparameters"})
