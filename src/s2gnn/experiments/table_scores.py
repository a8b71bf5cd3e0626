"""The statistics of a table: runs of every cell, ranks, leads, verdicts, and which numbers are reproduced."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import hypot
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from s2gnn.data.catalogue import Kind, dataset_info, graph_title
from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.compare import Runs, Tally, most
from s2gnn.experiments.protocols import BUDGETS, Protocol
from s2gnn.experiments.records import Record
from s2gnn.experiments.study import Selection, StudyCell
from s2gnn.learning.metrics import Confidence, PairedComparison

if TYPE_CHECKING:
    from s2gnn.experiments.table import TableStudy

OURS = "s2gnn"
Reproduced = Literal["yes", "other hyperparameters", "compatible", "no"]
NEAR = 2  # points between a reproduced mean and the published one
ENOUGH = 5  # minimum number of common seeds of a comparison, and of seeds in a comparison with the paper


class Column(NamedTuple):
    """The unit within which models are ranked: a data set with one kind of graph, or all its graphs for links."""

    data: str
    graph: Kind | None

    @classmethod
    def of(cls, cell: StudyCell) -> "Column":
        """Return the column of a cell."""
        return cls(cell.data, cell.graph if cell.decoder is None else None)

    @property
    def title(self) -> str:
        """Data set and graph, e.g. "cancer-b, knn, k = 30"."""
        return ", ".join(filter(None, (self.data, self._graph_title())))

    @property
    def heading(self) -> str:
        """The same for people, e.g. "Cancer-B, k-NN, k = 30"."""
        return ", ".join(filter(None, (display_name(self.data), self.place)))

    @property
    def place(self) -> str:
        """The graph for people; empty without one."""
        return self._graph_title(display_name)

    def _graph_title(self, name: Callable[[str], str] = str) -> str:
        if self.graph is None:
            return ""
        k = dataset_info(self.data).k if self.graph in ("knn", "smooth") else None
        return graph_title(name(self.graph), k)


class Judged(NamedTuple):
    """Whether a published number is reproduced, and the budget of the runs that decide it."""

    verdict: Reproduced
    budget: str


class Shown(NamedTuple):
    """The runs of a cell that are shown.

    Attributes:
        budget: the common budget of the column or, if the cell has no runs under it, the budget with the most seeds;
            `None` without runs.
        most_seeds: the budget with the most seeds.
        ranked: whether `budget` is the common one.
        runs: the runs under `budget`.
    """

    budget: str | None
    most_seeds: str | None
    ranked: bool
    runs: Runs

    @classmethod
    def of(cls, by_budget: Mapping[str, Runs], common: str | None) -> "Shown":
        """Select from the runs by budget, where `common` is the common budget of the column."""
        most_seeds = most({name: len(runs) for name, runs in by_budget.items()})
        ranked = common is not None and bool(by_budget[common].records)
        budget = common if ranked else most_seeds
        return cls(budget, most_seeds, ranked, by_budget[budget or next(iter(by_budget))])


@dataclass(frozen=True, eq=False)
class TableScores:
    """The selected part of a table with its runs.

    Attributes:
        study: the selected part.
        selection: the selection of data sets, models and budgets.
        runs: the runs of every cell of the whole table, by cell and protocol, then by budget.
        shown: the runs that are shown, by cell and protocol.
        failed: failed trials of searches, by cell and protocol.
    """

    study: "TableStudy"
    selection: Selection
    runs: Mapping[tuple[StudyCell, str], Mapping[str, Runs]]
    shown: Mapping[tuple[StudyCell, str], Shown]
    failed: Mapping[tuple[StudyCell, str], Sequence[Record]]

    def scores(self, cell: StudyCell, protocol: Protocol, metric: str | None = None) -> Runs:
        """Return the runs that are shown, scored by a metric."""
        return self.shown[cell, protocol.name].runs.by(metric or self.study.metrics[0])

    def ranking(self, column: Column, protocol: Protocol, metric: str | None = None) -> list[StudyCell]:
        """Return the cells of a column that have runs under its common budget, best first."""
        means = {
            cell: mean
            for (cell, name), shown in self.shown.items()
            if (Column.of(cell), name, shown.ranked) == (column, protocol.name, True)
            and (mean := self.scores(cell, protocol, metric).mean) is not None
        }
        return sorted(means, key=lambda cell: -means[cell])

    def lead(self, cell: StudyCell, protocol: Protocol, metric: str | None = None) -> PairedComparison | None:
        """Return the score of S2-GNN minus the score of `cell`, on common seeds of one budget.

        The budget is the most thorough one with at least `ENOUGH` common seeds, or the one with the most common
        seeds. S2-GNN has the same graph and decoder; if there are several fusions, the one with the best validation
        score is compared.
        """
        ours = {
            other: validation
            for other, name in self.runs
            if (name, other.model) == (protocol.name, OURS)
            and (other.data, other.graph, other.decoder) == (cell.data, cell.graph, cell.decoder)
            and (validation := self.scores(other, protocol).validation) is not None
        }
        if cell.model == OURS or not ours:
            return None
        best = max(ours, key=lambda other: ours[other])
        first, second = self.runs[best, protocol.name], self.runs[cell, protocol.name]
        common = {name: len(first[name].records.keys() & second[name].records.keys()) for name in first}
        enough = [name for name, count in common.items() if count >= ENOUGH]
        budget = enough[-1] if enough else most(common)
        metric = metric or self.study.metrics[0]
        return None if budget is None else first[budget].by(metric).lead(second[budget].by(metric))

    @cached_property
    def _tallies(self) -> dict[str, Tally[StudyCell]]:
        cells = dict.fromkeys(cell for cell, _ in self.runs)
        return {of.name: Tally.of({cell: self.lead(cell, of) for cell in cells}) for of in self.study.protocols}

    def tally(self, protocol: Protocol) -> Tally[StudyCell]:
        """Return the leads of S2-GNN and their verdicts, corrected for all comparisons of the whole table."""
        return self._tallies[protocol.name]

    @cached_property
    def judged(self) -> Mapping[StudyCell, Judged]:
        """The verdicts on published numbers, by cell.

        A number is reproduced, under the released protocol, if our mean does not differ significantly from it and by at
        most `NEAR` points; it is compatible if a larger difference is not significant, as the intervals are wide. The
        paper's hyperparameters are the published ones or, if there are none, those of a search in its space, as in the
        paper. Among budgets with the same kind of hyperparameters, the one with the most seeds is compared. Cells
        without a published number, or with fewer than `ENOUGH` seeds, have no verdict.
        """
        cells = dict.fromkeys(cell for cell, _ in self.runs)
        return {cell: judged for cell in cells if cell.paper and (judged := self._judge(cell, *cell.paper))}

    def _judge(self, cell: StudyCell, mean: float, half_width: float) -> Judged | None:
        judged: dict[bool, Judged] = {}  # key: whether the hyperparameters are the paper's
        found = self.runs[cell, self.study.protocols[0].name]
        for name, runs in sorted(found.items(), key=lambda item: len(item[1])):
            if runs.score is not None and runs.score.n >= ENOUGH:
                as_printed = bool(BUDGETS[name].rungs) != (cell.source == "published")
                judged[as_printed] = Judged(_agreement((mean, half_width), runs.score), name)
        found_as_printed, other = judged.get(True), judged.get(False)
        if found_as_printed and found_as_printed.verdict == "no" and other and other.verdict == "yes":
            return Judged("other hyperparameters", other.budget)
        return found_as_printed

    def reproduced(self, cell: StudyCell) -> Reproduced | None:
        """Return the verdict on the published number; `None` without one."""
        judged = self.judged.get(cell)
        return judged.verdict if judged else None

    def decisive(self, cell: StudyCell) -> Runs:
        """Return the runs under the first protocol that the published number is compared with, or those shown."""
        first, judged = self.study.protocols[0], self.judged.get(cell)
        return self.runs[cell, first.name][judged.budget] if judged else self.scores(cell, first)

    def budgets_shown(self, cell: StudyCell, protocol: Protocol) -> list[str]:
        """Return the budgets whose runs of a cell are shown, each in a row."""
        shown, judged = self.shown[cell, protocol.name], self.judged.get(cell)
        budgets = (shown.budget, shown.most_seeds, judged.budget if judged else None)
        return [budget for budget in dict.fromkeys(budgets) if budget is not None]

    def paper_lead(self, cell: StudyCell) -> float | None:
        """Return the score of S2-GNN minus the score of `cell` in the paper, in points."""
        ours = self.find(Column.of(cell), OURS)
        return ours.paper[0] - cell.paper[0] if ours and ours.paper and cell.paper else None

    def find(self, column: Column, model: str) -> StudyCell | None:
        """Return the cell of a model in a column."""
        return next((cell for cell, _ in self.runs if (Column.of(cell), cell.model) == (column, model)), None)

    @property
    def records(self) -> list[Record]:
        """The distinct records of the runs that are shown."""
        found = {(r.key, r.seed): r for _, runs in self.all_shown() for r in runs.records.values()}
        return list(found.values())

    @property
    def has_runs(self) -> bool:
        """Whether there are runs that are shown."""
        return bool(self.records)

    def all_shown(self) -> Iterator[tuple[str, Runs]]:
        """Yield the runs of every row, with their budget."""
        for cell in self.study.cells:
            for protocol in self.study.protocols:
                for budget in self.budgets_shown(cell, protocol):
                    yield budget, self.runs[cell, protocol.name][budget]

    def still_improving(self) -> dict[str, list[str]]:
        """Return models whose best epoch was among the last, by column and protocol; shared runs count once."""
        found: dict[str, list[str]] = {}
        seen: set[str] = set()
        for cell in self.study.cells:
            for protocol in self.study.protocols:
                runs = self.scores(cell, protocol)
                keys = {record.key for record in runs.records.values()}
                if not keys & seen and runs.still_improving:
                    found.setdefault(f"{Column.of(cell).heading}, {protocol.name}", []).append(cell.title)
                seen |= keys
        return found

    def ablation(self) -> dict[str, Any] | None:
        """Count the graphs on which S2-GNN leads its variant, here and in the paper; `None` if not an ablation."""
        study = self.study
        if study.ablation is None:
            return None
        cells = [cell for cell in study.cells if cell.model == study.ablation]
        tally = self.tally(study.protocols[-1]).on(cells)
        paper = [points for cell in cells if (points := self.paper_lead(cell)) is not None]
        return {
            "variant": study.ablation,
            "graphs": len(study.columns),
            "measured": _leads([lead.mean_difference for lead in tally.leads.values()]),
            "ahead": len(tally.where("ahead")),
            "behind": len(tally.where("behind")),
            "paper": _leads(paper),
        }


def _agreement(paper: tuple[float, float], ours: Confidence) -> Reproduced:
    """Compare two means by the half-widths of their 95 % intervals."""
    difference = abs(ours.mean - paper[0])
    if difference > hypot(ours.half_width, paper[1]):
        return "no"
    return "yes" if difference <= NEAR else "compatible"


def _leads(differences: Sequence[float]) -> dict[str, Any]:
    mean = sum(differences) / len(differences) if differences else None
    return {"graphs": len(differences), "ahead": sum(value > 0 for value in differences), "mean": mean}
