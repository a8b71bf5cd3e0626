"""Tables of scores: models × data sets × protocols, each cell with its published number, from a TOML configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from s2gnn.experiments.compare import KnownRuns, Runs, failed_trials, most
from s2gnn.experiments.experiment import Experiment
from s2gnn.experiments.hyperparameters import Hyperparameters, Value
from s2gnn.experiments.protocols import Budget, Protocol, named_protocol
from s2gnn.experiments.records import RecordsFolder, search_records
from s2gnn.experiments.study import ALL, Selection, StudyCell, TrainedStudy, catalog
from s2gnn.experiments.table_result import TableResult
from s2gnn.experiments.table_scores import Column, Shown


@dataclass(frozen=True, kw_only=True)
class TableStudy(TrainedStudy):
    """A table of scores under one or several protocols.

    Attributes:
        ablation: variant of S2-GNN in an ablation study; `None` for other tables.
        legend: replaces the general legend.
    """

    ablation: str | None = None
    legend: str = ""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns within which models are ranked."""
        return tuple(dict.fromkeys(map(Column.of, self.cells)))

    @property
    def one_kind(self) -> bool:
        """Whether all graphs are of one kind."""
        return len({cell.graph for cell in self.cells}) == 1

    @property
    def folds(self) -> int | None:
        """The number of folds of a cross-validation; `None` without one."""
        return self.protocols[0].folds

    @property
    def links(self) -> bool:
        """Whether links are predicted."""
        return self.cells[0].decoder is not None

    @property
    def size(self) -> str:
        """Models, data sets and protocols."""
        if self.links:
            rows = {(cell.label, cell.graph, cell.decoder) for cell in self.cells}
            return f"{len(rows)} auto-encoders × {len(self.data)} data sets"
        graphs = len({cell.graph for cell in self.cells})
        kinds = f" × {graphs} kinds of graph" if graphs > 1 else ""
        runs = f"{self.folds} folds" if self.folds else f"{len(self.protocols)} protocols"
        return f"{len(self.models)} models × {len(self.data)} data sets{kinds} × {runs}"

    def result(self, folder: Path, selection: Selection = ALL) -> TableResult:
        """Return the selected part with its runs; ranks and leads are those of the whole table."""
        budgets = self.budgets(selection)
        runs = self.runs(folder, budgets)
        common = {}
        for protocol in self.protocols:
            for column in self.columns:
                found = [runs[cell, protocol.name] for cell in self.cells if Column.of(cell) == column]
                common[column, protocol.name] = _common_budget(found)
        shown = {
            (cell, protocol): Shown.of(by_budget, common[Column.of(cell), protocol])
            for (cell, protocol), by_budget in runs.items()
        }
        searches = [budget for budget in budgets if budget.rungs]
        trials = search_records(RecordsFolder(folder, self.name)).read() if searches else []
        failed = {
            (cell, protocol.name): [
                trial
                for budget in searches
                for trial in failed_trials(trials, self.experiment(self.search_cell(cell), protocol, budget), budget)
            ]
            for cell, protocol in (product(self.cells, self.protocols) if any(t.error for t in trials) else ())
        }
        return TableResult(self.select(selection), selection, runs, shown, failed)


def _common_budget(found: Sequence[Mapping[str, Runs]]) -> str | None:
    """Return the most thorough budget that more than half of the models have, or else the one that most have.

    Args:
        found: the runs of each model of a column by budget, from the cheapest.
    """
    models = [{name for name, runs in by_budget.items() if runs.records} for by_budget in found]
    counts = {name: sum(name in names for names in models) for name in found[0]}
    usual = [name for name, count in counts.items() if 2 * count > sum(map(bool, models))]
    return usual[-1] if usual else most(counts)


def table_names() -> tuple[str, ...]:
    """Return the tables of the catalog."""
    return tuple(name for name, content in catalog().items() if "axis" not in content)


@cache
def load_table(name: str) -> TableStudy:
    """Load the table `name` of the catalog."""
    return parse_table(name, catalog()[name])


def parse_table(name: str, configuration: Mapping[str, Any]) -> TableStudy:
    """Create a table from its configuration.

    Cells without a graph use the table's graph; a row defines one cell for each data set of the table.
    """
    content = dict(configuration)
    rows, data, shared = (content.pop(key, default) for key, default in (("rows", ()), ("data", ()), ("values", {})))
    of_rows = [
        {
            **row,
            "data": each,
            "values": {**shared, **row.get("values", {})},
            "published": row.get("published", {}).get(each, {}),
        }
        for each in data
        for row in rows
    ]
    graph = content.pop("graph", None)
    cells = [
        StudyCell(**{"graph": graph, **cell, "paper": tuple(cell["paper"]) if "paper" in cell else None})
        for cell in (*content.pop("cells", ()), *of_rows)
    ]
    protocols = tuple(map(named_protocol, content.pop("protocols")))
    without_search = "has no search" if rows else None
    if protocols[0].folds:
        without_search = "uses the same hyperparameters in all folds"
    return TableStudy(
        name=name,
        cells=tuple(cells),
        protocols=protocols,
        alike=protocols,
        without_search=without_search,
        metrics=tuple(content.pop("metrics", ("test_accuracy",))),
        **content,
    )


def chosen_values(name: str, data: str, model: str) -> Mapping[str, Value]:
    """Return the hyperparameters of a table's cell that differ from the defaults; empty if there is no such cell."""
    return next((cell.values for cell in load_table(name).cells if (cell.data, cell.model) == (data, model)), {})


def tuned_experiment(
    name: str, data: str, model: str, protocol: Protocol, budget: Budget, folder: Path
) -> tuple[Experiment, str]:
    """Return a table's cell with the hyperparameters found by the search of `budget`, and their source.

    The source is the name of the budget. If the budget has no search, or `folder` no record of a run after it, the
    hyperparameters and their source are those of the table.
    """
    table = load_table(name)
    cell = next(cell for cell in table.cells if (cell.data, cell.model) == (data, model))
    wanted = table.experiment(cell, protocol, budget)
    found = KnownRuns(RecordsFolder(folder, name).read()).of(wanted, budget).experiment if budget.rungs else {}
    if not found:
        return table.experiment(cell, protocol, replace(budget, rungs=())), cell.source
    chosen = Hyperparameters(found["lr"], found["weight_decay"], found["arguments"])
    return replace(wanted, hyperparameters=chosen), budget.name


@cache
def paper_scores() -> Mapping[tuple[str, str, str], tuple[float, float]]:
    """Return published scores and half-widths in %, by data set, kind of graph and model."""
    cells = (cell for name in table_names() for cell in load_table(name).cells)
    return {(cell.data, cell.graph, cell.model): cell.paper for cell in cells if cell.paper is not None}
