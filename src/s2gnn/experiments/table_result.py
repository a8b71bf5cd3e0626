"""The results of a table: the runs of every cell, ranks and leads, as a table and as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from s2gnn.data.catalogue import Kind, dataset_info, graph_title
from s2gnn.experiments.compare import DASH, LEVEL, Runs, Tally, lead_text, made_by, most
from s2gnn.experiments.protocols import Protocol
from s2gnn.experiments.records import Record
from s2gnn.experiments.study import Result, Selection, StudyCell
from s2gnn.learning.metrics import PairedComparison
from s2gnn.links.metrics import HITS_AT
from s2gnn.render import Block, Cell, Table

if TYPE_CHECKING:
    from s2gnn.experiments.table import TableStudy

# Scores as records name them, and as people do.
METRICS: Mapping[str, str] = MappingProxyType(
    {
        "test_accuracy": "accuracy",
        "test_roc_auc": "ROC-AUC",
        "test_average_precision": "AP",
        **{f"test_hits@{k}": f"hits@{k}" for k in HITS_AT},
    }
)
OURS = "s2gnn"
_MANY = 10  # seeds, from which on a bootstrapped interval is not rough


class Column(NamedTuple):
    """What models are ranked on: a data set with one kind of graph, or with all where links are predicted."""

    data: str
    graph: Kind | None

    @classmethod
    def of(cls, cell: StudyCell) -> "Column":
        """Where a model competes."""
        return cls(cell.data, cell.graph if cell.decoder is None else None)

    @property
    def title(self) -> str:
        """Data set and graph in a few words."""
        if self.graph is None:
            return self.data
        k = dataset_info(self.data).k if self.graph in ("knn", "smooth") else None
        return f"{self.data}, {graph_title(self.graph, k)}"


class Shown(NamedTuple):
    """The runs of a cell that are shown.

    Attributes:
        budget: of the runs, that of most models of the column or else that with the most seeds; `None` without runs.
        most_seeds: the budget with the most seeds.
        ranked: whether the budget is that of most models of the column.
        runs: under the budget.
    """

    budget: str | None
    most_seeds: str | None
    ranked: bool
    runs: Runs

    @classmethod
    def of(cls, by_budget: Mapping[str, Runs], common: str | None) -> "Shown":
        """What is shown of the runs by budget, where `common` is the budget of most models of the column."""
        most_seeds = most({name: len(runs) for name, runs in by_budget.items()})
        ranked = common is not None and bool(by_budget[common].records)
        budget = common if ranked else most_seeds
        return cls(budget, most_seeds, ranked, by_budget[budget or next(iter(by_budget))])


@dataclass(frozen=True)
class TableResult(Result):
    """The selected part of a table with its runs.

    Attributes:
        study: the selected part.
        selection: what was selected.
        runs: of every cell of the whole table, by cell and protocol, then by budget.
        shown: what is shown of them.
    """

    study: "TableStudy"
    selection: Selection
    runs: Mapping[tuple[StudyCell, str], Mapping[str, Runs]]
    shown: Mapping[tuple[StudyCell, str], Shown]

    def scores(self, cell: StudyCell, protocol: Protocol, metric: str | None = None) -> Runs:
        """The runs that are shown, by a metric."""
        return self.shown[cell, protocol.name].runs.by(metric or self.study.metrics[0])

    def ranking(self, column: Column, protocol: Protocol, metric: str | None = None) -> list[StudyCell]:
        """The cells of a column with runs of its budget, best first."""
        means = {
            cell: mean
            for (cell, name), shown in self.shown.items()
            if (Column.of(cell), name, shown.ranked) == (column, protocol.name, True)
            and (mean := self.scores(cell, protocol, metric).mean) is not None
        }
        return sorted(means, key=lambda cell: -means[cell])

    def lead(self, cell: StudyCell, protocol: Protocol, metric: str | None = None) -> PairedComparison | None:
        """The score of S2-GNN minus that of `cell` on common seeds of one budget, that with the most of them.

        S2-GNN has the same graph and decoder; of several fusions that with the best validation score counts.
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
        budget = most({name: len(first[name].records.keys() & second[name].records.keys()) for name in first})
        metric = metric or self.study.metrics[0]
        return None if budget is None else first[budget].by(metric).lead(second[budget].by(metric))

    def paper_lead(self, cell: StudyCell) -> float | None:
        """The score of S2-GNN minus that of `cell` in the paper, in points."""
        ours = self.find(Column.of(cell), OURS)
        return ours.paper[0] - cell.paper[0] if ours and ours.paper and cell.paper else None

    def find(self, column: Column, model: str) -> StudyCell | None:
        """The cell of a model in a column."""
        return next((cell for cell, _ in self.runs if (Column.of(cell), cell.model) == (column, model)), None)

    @property
    def records(self) -> list[Record]:
        """All records behind what is shown, each once."""
        found = {(r.key, r.seed): r for _, runs in self._all_shown() for r in runs.records.values()}
        return list(found.values())

    def _all_shown(self) -> Iterator[tuple[str, Runs]]:
        """The runs behind every row, with their budget."""
        for cell in self.study.cells:
            for protocol in self.study.protocols:
                shown = self.shown[cell, protocol.name]
                for budget in dict.fromkeys((shown.budget, shown.most_seeds)):
                    if budget is not None:
                        yield budget, self.runs[cell, protocol.name][budget]

    def table(self) -> Table:
        """One block for each column, one row for each model, and a row for a budget with more seeds."""
        study = self.study
        names = [protocol.name.split("-")[0] for protocol in study.protocols]
        scores = [(protocol, metric) for protocol in study.protocols for metric in study.metrics]
        paper = ("paper (%)", *(f"{name} − paper" for name in names)) if any(c.paper for c in study.cells) else ()
        leads = f", {METRICS[study.metrics[0]]}" if study.links else "" if study.folds else f", {names[-1]}"
        header = (
            *(("encoder", "graph", "decoder") if study.links else ("model",)),
            *(f"{METRICS[metric] if study.links else protocol.name} (%)" for protocol, metric in scores),
            *(("published by others: ROC-AUC, AP (%)",) if study.links else paper),
            f"S2-GNN leads{leads} (points)",
            f"{study.protocols[0].run}s",
            "budget",
            *(() if study.links else ("hyperparameters",)),
        )
        blocks = []
        for column in study.columns:
            marks = {
                (cell, protocol.name, metric): rank
                for protocol, metric in scores
                if len(ranking := self.ranking(column, protocol, metric)) > 1  # a single model is not ranked
                for rank, cell in enumerate(ranking[:2], start=1)
            }
            rows = [row for cell in study.cells if Column.of(cell) == column for row in self._rows(cell, marks)]
            blocks.append(Block(f"{column.title}: {dataset_info(column.data).title}", tuple(rows)))
        return Table(f"{study.title} ({study.paper})", header, tuple(blocks), self._notes())

    def _rows(self, cell: StudyCell, marks: Mapping[tuple[StudyCell, str, str], int]) -> Iterator[tuple[Cell, ...]]:
        protocols = self.study.protocols
        shown = [self.shown[cell, protocol.name] for protocol in protocols]
        lead = lead_text(self.lead(cell, protocols[-1]), protocols[0].run)
        budgets, most_seeds = [of.budget for of in shown], [of.most_seeds for of in shown]
        yield self._row(cell, cell.label, budgets, marks, lead)
        if most_seeds != budgets:
            yield self._row(cell, f"{cell.label}, {_joined(most_seeds)}", most_seeds, {}, DASH)

    def _row(
        self,
        cell: StudyCell,
        label: str,
        budgets: Sequence[str | None],
        marks: Mapping[tuple[StudyCell, str, str], int],
        lead: str,
    ) -> tuple[Cell, ...]:
        study = self.study
        names = [protocol.name for protocol in study.protocols]
        runs = [self.runs[cell, name][b] if b else Runs({}) for name, b in zip(names, budgets, strict=True)]
        scores = [
            Cell(of.by(metric).text(folds=study.folds is not None), marks.get((cell, name, metric)))
            for name, of in zip(names, runs, strict=True)
            for metric in study.metrics
        ]
        texts = (
            *self._printed(cell, runs),
            lead,
            _joined([str(len(of)) if of.records else None for of in runs]),
            _joined(budgets),
            *(() if study.links else (cell.source,)),
        )
        # An MLP sees no graph.
        place = (DASH if cell.model == "mlp" else cell.graph, cell.decoder) if cell.decoder else ()
        return (*map(Cell, (label, *place)), *scores, *map(Cell, texts))

    def _printed(self, cell: StudyCell, runs: Sequence[Runs]) -> tuple[str, ...]:
        if self.study.links:
            return (", ".join(f"{value:.1f}" for value in cell.published.values()) or DASH,)
        if not any(other.paper for other in self.study.cells):
            return ()
        if cell.paper is None:
            return (DASH,) * (1 + len(runs))
        mean = cell.paper[0]
        differences = (DASH if of.mean is None else f"{of.mean - mean:+.2f}" for of in runs)
        return "{:.2f} ± {:.2f}".format(*cell.paper), *differences

    def _notes(self) -> tuple[str, ...]:
        study = self.study
        improving = None if study.links else still_improving_text(self._still_improving())
        budgets = dict.fromkeys(budget for runs in self.runs.values() for budget in runs)
        command = f"{study.name}{self.selection.options}"
        made = (
            made_by(command, self._all_shown(), study.protocols[0].run)
            if self.records
            else f"No runs yet with budget {', '.join(budgets)}: s2gnn study run {command}"
        )
        verdicts = self._link_verdicts() if study.links else self._ablation_notes()
        return (*verdicts, *((improving,) if improving else ()), study.legend or self._legend(), made)

    def _legend(self) -> str:
        study, score = self.study, METRICS[self.study.metrics[0]]
        if study.folds:
            return (
                f"Test {score}, mean over those of the {study.folds} stratified folds that were run ± their standard "
                "deviation; a tenth of the graphs outside a fold selects the epoch. Hyperparameters are the same in "
                "all folds. The best and the second best of each column are marked. The p-value of a lead is that of a "
                "paired t-test over folds, which is too small because their training sets overlap. A dash means not "
                "run."
            )
        few = min((len(runs) for _, runs in self._all_shown() if len(runs) > 1), default=_MANY)
        rough = f", which is rough for {few} seeds" if few < _MANY else ""
        return (
            f"Test {score}, mean over seeds ± half-width of the bootstrapped 95 % interval{rough}. The best and the "
            "second best of the models with the same budget are marked, by the mean over all their seeds. Leads and "
            "the p-values of their paired t-tests are over the seeds that both have under the same budget. Where a "
            "model has more seeds under another budget, these are in a row of their own. A dash means not run, or not "
            "in the paper."
        )

    def _still_improving(self) -> dict[str, list[str]]:
        """The models whose best epoch was among the last, by column and protocol; runs in two columns count once."""
        found: dict[str, list[str]] = {}
        seen: set[str] = set()
        for cell in self.study.cells:
            for protocol in self.study.protocols:
                runs = self.scores(cell, protocol)
                keys = {record.key for record in runs.records.values()}
                if not keys & seen and runs.still_improving:
                    found.setdefault(f"{Column.of(cell).title}, {protocol.name}", []).append(cell.model)
                seen |= keys
        return found

    def _link_verdicts(self) -> Iterator[str]:
        """For each data set: where S2-GNN is ahead of the other encoders, and where behind."""
        (protocol,) = self.study.protocols
        for data in self.study.data:
            cells = [cell for cell in self.study.cells if cell.data == data]
            tally = Tally.of({cell: self.lead(cell, protocol) for cell in cells})
            if tally.leads:
                yield (
                    f"{data}: in {len(tally.leads)} comparisons of ROC-AUC with another encoder that has the same "
                    f"decoder and graph, S2-GNN is ahead in {len(tally.ahead)}{_named(tally.ahead)}, behind in "
                    f"{len(tally.behind)}{_named(tally.behind)}, and the rest is undecided (p < {LEVEL:g}, not "
                    "corrected for multiple tests)."
                )

    def ablation(self) -> dict[str, Any] | None:
        """On how many graphs S2-GNN leads its variant, here and in the paper; `None` of another table."""
        study = self.study
        if study.ablation is None:
            return None
        cells = [cell for cell in study.cells if cell.model == study.ablation]
        tally = Tally.of({cell: self.lead(cell, study.protocols[-1]) for cell in cells})
        paper = [points for cell in cells if (points := self.paper_lead(cell)) is not None]
        return {
            "variant": study.ablation,
            "graphs": len(study.columns),
            "measured": _leads([lead.mean_difference for lead in tally.leads.values()]),
            "ahead": len(tally.ahead),
            "behind": len(tally.behind),
            "paper": _leads(paper),
        }

    def _ablation_notes(self) -> Iterator[str]:
        found = self.ablation()
        if found is None:
            return
        variant, measured, paper = found["variant"], found["measured"], found["paper"]
        counts = f"No graph has runs of both S2-GNN and {variant} yet."
        if measured["mean"] is not None:
            so_far = "" if measured["graphs"] == found["graphs"] else f" run so far, of {found['graphs']},"
            counts = (
                f"S2-GNN leads {variant} on {measured['ahead']} of the {measured['graphs']} graphs{so_far} by the mean "
                f"over common seeds, and by {measured['mean']:+.2f} points on average; by the paired t-test "
                f"(p < {LEVEL:g}, not corrected for multiple tests) it is ahead on {found['ahead']} and behind on "
                f"{found['behind']}."
            )
        if paper["mean"] is not None:
            counts += (
                f" In the paper it leads on {paper['ahead']} of {paper['graphs']}, by {paper['mean']:+.2f} points on "
                "average."
            )
        yield counts
        yield (
            f"Both use the hyperparameters published for S2-GNN on k-NN graphs; the paper searched those of {variant} "
            "separately (budget full does). Neither has ReLU or dropout on its logits under either protocol, so one "
            "run appears in both columns."
        )

    def json(self) -> dict[str, Any]:
        """All figures for programs."""
        study, ablation = self.study, self.ablation()
        return {
            "study": study.name,
            "title": study.title,
            "paper": study.paper,
            "metric": study.metrics[0],
            **({"ablation": ablation} if ablation else {}),
            "cells": [
                {
                    "data": cell.data,
                    "graph": cell.graph,
                    "model": cell.model,
                    **({"label": cell.label, "decoder": cell.decoder} if cell.decoder else {}),
                    "paper": cell.paper,
                    **({"published": dict(cell.published) or None} if study.links else {}),
                    "hyperparameters": cell.source,
                    "measured": {protocol.name: self._cell_json(cell, protocol) for protocol in study.protocols},
                }
                for cell in study.cells
            ],
        }

    def _cell_json(self, cell: StudyCell, protocol: Protocol) -> dict[str, Any]:
        def figures(metric: str) -> dict[str, Any]:
            lead = self.lead(cell, protocol, metric)
            return {
                **_runs_json(self.scores(cell, protocol, metric)),
                "s2gnn_leads": lead.describe() if lead else None,
            }

        main, *others = self.study.metrics
        by_budget = self.runs[cell, protocol.name]
        return {
            **figures(main),
            "budget": self.shown[cell, protocol.name].budget,
            "budgets": {name: _runs_json(runs) for name, runs in by_budget.items() if runs.records},
            **({"metrics": {metric: figures(metric) for metric in others}} if others else {}),
        }


def still_improving_text(found: Mapping[str, Sequence[str]]) -> str | None:
    """Which models were still improving at the last epoch, by place; `None` without any."""
    if not found:
        return None
    places = "; ".join(f"{', '.join(models)} ({place})" for place, models in found.items())
    return f"Still improving at the last epoch in most runs, so that more epochs may raise their scores: {places}."


def _joined(texts: Sequence[str | None]) -> str:
    shown = [text or DASH for text in texts]
    return shown[0] if len(set(shown)) == 1 else " / ".join(shown)


def _leads(differences: Sequence[float]) -> dict[str, Any]:
    mean = sum(differences) / len(differences) if differences else None
    return {"graphs": len(differences), "ahead": sum(value > 0 for value in differences), "mean": mean}


def _named(cells: Iterable[StudyCell]) -> str:
    names = [", ".join(filter(None, (c.label, c.graph if c.model != "mlp" else "", c.decoder))) for c in cells]
    return f" ({'; '.join(names)})" if names else ""


def _runs_json(runs: Runs) -> dict[str, Any]:
    return {
        "score": asdict(runs.score) if runs.score else None,
        "scores": {str(seed): value for seed, value in runs.scores.items()},
        "commits": runs.commits,
    }
