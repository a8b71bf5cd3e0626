"""The results of a table: the runs of every cell, ranks and leads, as a table and as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from s2gnn.data.catalogue import dataset_info
from s2gnn.experiments.compare import DASH, LEVEL, KnownRuns, Runs, lead_text, made_by, most, verdict
from s2gnn.experiments.experiment import Experiment
from s2gnn.experiments.protocols import Budget, Protocol
from s2gnn.experiments.records import Record, Records, RecordsFolder
from s2gnn.experiments.study import ALL, Selection, TrainedStudy, usable_budgets
from s2gnn.experiments.table import METRICS, OURS, Column, ScoreTable, TableCell
from s2gnn.learning.metrics import PairedComparison
from s2gnn.render import Block, Cell, Table


class TableStudy(TrainedStudy):
    """A table of scores as a study."""

    def __init__(self, definition: ScoreTable) -> None:
        super().__init__(definition.name, definition.title, definition.paper, definition.without_search)
        self.definition = definition

    @property
    def size(self) -> str:
        """Models, data sets and protocols."""
        return self.definition.size

    def experiments(self, selection: Selection, budget: Budget, seeds: int | None = None) -> list[Experiment]:
        """All experiments of the selection."""
        part = self.definition.select(selection)
        return [part.experiment(cell, protocol, budget, seeds) for cell in part.cells for protocol in part.protocols]

    def result(self, folder: Path, selection: Selection = ALL) -> "TableResult":
        """The runs that the files of `folder` have; ranks and leads are those of the whole table."""
        return table_result(self.definition, RecordsFolder(folder, self.name), selection)

    def table(self, folder: Path, selection: Selection = ALL) -> Table:
        """The results as a table."""
        return self.result(folder, selection).table()

    def json(self, folder: Path, selection: Selection = ALL) -> dict[str, Any]:
        """All figures for programs."""
        return self.result(folder, selection).json()


@dataclass(frozen=True)
class TableResult:
    """The selected part of a table with its runs.

    Attributes:
        study: the selected part.
        runs: of every cell of the whole table, by protocol and budget.
        budgets: by column and protocol the budget that most models have.
    """

    study: ScoreTable
    runs: Mapping[tuple[TableCell, str], Mapping[str, Runs]]
    budgets: Mapping[tuple[Column, str], str | None]

    def budget(self, cell: TableCell, protocol: Protocol) -> str | None:
        """The budget that is shown: that of the column, or the one with the most seeds."""
        common, runs = self.budgets[cell.column, protocol.name], self.runs[cell, protocol.name]
        return common if common and runs[common].records else self.most_seeds(cell, protocol)

    def most_seeds(self, cell: TableCell, protocol: Protocol) -> str | None:
        """The budget with the most seeds; `None` without runs."""
        return most({name: len(runs) for name, runs in self.runs[cell, protocol.name].items()})

    def under(self, cell: TableCell, protocol: Protocol, budget: str | None, metric: str | None = None) -> Runs:
        """The runs of a cell under a budget."""
        metric = metric or self.study.metrics[0]
        return Runs({}, metric) if budget is None else self.runs[cell, protocol.name][budget].by(metric)

    def shown(self, cell: TableCell, protocol: Protocol, metric: str | None = None) -> Runs:
        """The runs that are shown."""
        return self.under(cell, protocol, self.budget(cell, protocol), metric)

    def ranking(self, column: Column, protocol: Protocol, metric: str | None = None) -> list[TableCell]:
        """The cells of a column with runs of its budget, best first."""
        means = {
            cell: mean
            for cell, name in self.runs
            if (cell.column, name) == (column, protocol.name)
            and self.budget(cell, protocol) == self.budgets[column, protocol.name]
            and (mean := self.shown(cell, protocol, metric).mean) is not None
        }
        return sorted(means, key=lambda cell: -means[cell])

    def lead(self, cell: TableCell, protocol: Protocol, metric: str | None = None) -> PairedComparison | None:
        """The score of S2-GNN minus that of `cell` on common seeds of one budget, that with the most of them.

        S2-GNN has the same graph and decoder; of several fusions that with the best validation score counts.
        """
        place = (cell.data, cell.graph, cell.decoder)
        ours = {
            other: validation
            for other, name in self.runs
            if name == protocol.name
            and (other.model, other.data, other.graph, other.decoder) == (OURS, *place)
            and (validation := self.shown(other, protocol).validation) is not None
        }
        if cell.model == OURS or not ours:
            return None
        best = max(ours, key=lambda other: ours[other])
        first, second = self.runs[best, protocol.name], self.runs[cell, protocol.name]
        budget = most({name: len(first[name].records.keys() & second[name].records.keys()) for name in first})
        metric = metric or self.study.metrics[0]
        return None if budget is None else first[budget].by(metric).lead(second[budget].by(metric))

    def printed_lead(self, cell: TableCell) -> float | None:
        """The published score of S2-GNN minus that of `cell`, in points."""
        ours = next((c.paper for c, _ in self.runs if (c.column, c.model) == (cell.column, OURS)), None)
        return ours[0] - cell.paper[0] if ours and cell.paper else None

    def find(self, column: Column, model: str) -> TableCell | None:
        """The cell of a model in a column."""
        return next((cell for cell, _ in self.runs if (cell.column, cell.model) == (column, model)), None)

    @property
    def records(self) -> list[Record]:
        """All records behind what is shown, each once."""
        found = {(r.key, r.seed): r for _, runs in self.all_shown() for r in runs.records.values()}
        return list(found.values())

    def all_shown(self) -> Iterable[tuple[str, Runs]]:
        """The runs behind every row, with their budget."""
        for cell in self.study.cells:
            for protocol in self.study.protocols:
                for budget in dict.fromkeys((self.budget(cell, protocol), self.most_seeds(cell, protocol))):
                    if budget is not None:
                        yield budget, self.under(cell, protocol, budget)

    def table(self) -> Table:
        """One block for each column, one row for each model, and a row for a budget with more seeds."""
        study = self.study
        names = [protocol.name.split("-")[0] for protocol in study.protocols]
        scores = [(protocol, metric) for protocol in study.protocols for metric in study.metrics]
        main = METRICS[study.metrics[0]]
        leads = f", {main}" if study.links else "" if study.folds else f", {names[-1]}"
        header = (
            *(("encoder", "graph", "decoder") if study.links else ("model",)),
            *(f"{METRICS[metric] if study.links else protocol.name} (%)" for protocol, metric in scores),
            *self._printed_header(names),
            f"S2-GNN leads{leads} (points)",
            f"{study.protocols[0].run}s",
            "budget",
            *(() if study.links else ("hyperparameters",)),
        )
        blocks = []
        for column in study.columns:
            marks = {place: self._marks(column, *place) for place in scores}
            rows = [row for cell in study.cells if cell.column == column for row in self._rows(cell, marks)]
            blocks.append(Block(f"{column.title}: {dataset_info(column.data).title}", tuple(rows)))
        return Table(f"{study.title} ({study.paper})", header, tuple(blocks), self._notes())

    def _printed_header(self, names: Sequence[str]) -> tuple[str, ...]:
        if self.study.links:
            return ("published by others: ROC-AUC, AP (%)",)
        printed = any(cell.paper for cell in self.study.cells)
        return ("paper (%)", *(f"{name} − paper" for name in names)) if printed else ()

    def _marks(self, column: Column, protocol: Protocol, metric: str) -> dict[TableCell, int]:
        """1 for the best and 2 for the second best; a single model is not ranked."""
        ranking = self.ranking(column, protocol, metric)
        return {cell: place for place, cell in enumerate(ranking[:2], start=1)} if len(ranking) > 1 else {}

    def _rows(
        self, cell: TableCell, marks: Mapping[tuple[Protocol, str], Mapping[TableCell, int]]
    ) -> list[tuple[Cell, ...]]:
        study = self.study
        shown = [self.budget(cell, protocol) for protocol in study.protocols]
        lead = lead_text(self.lead(cell, study.protocols[-1]), study.protocols[0].run)
        rows = [self._row(cell, cell.label, shown, marks, lead)]
        thorough = [self.most_seeds(cell, protocol) for protocol in study.protocols]
        if thorough != shown:
            rows.append(self._row(cell, f"{cell.label}, {_joined(thorough)}", thorough, {}, DASH))
        return rows

    def _row(
        self,
        cell: TableCell,
        label: str,
        budgets: Sequence[str | None],
        marks: Mapping[tuple[Protocol, str], Mapping[TableCell, int]],
        lead: str,
    ) -> tuple[Cell, ...]:
        study = self.study
        places = list(zip(study.protocols, budgets, strict=True))
        runs = [self.under(cell, protocol, budget) for protocol, budget in places]
        scores = [
            Cell(
                self.under(cell, protocol, budget, metric).text(folds=study.folds is not None),
                marks.get((protocol, metric), {}).get(cell),
            )
            for protocol, budget in places
            for metric in study.metrics
        ]
        seen = DASH if cell.model == "mlp" else cell.graph  # an MLP sees no graph
        texts = (
            *self._printed(cell, runs),
            lead,
            _joined([str(len(of_protocol)) if of_protocol.records else None for of_protocol in runs]),
            _joined(budgets),
            *(() if study.links else (cell.source,)),
        )
        place = (seen, cell.decoder) if cell.decoder else ()
        return (*map(Cell, (label, *place)), *scores, *map(Cell, texts))

    def _printed(self, cell: TableCell, runs: Sequence[Runs]) -> tuple[str, ...]:
        if self.study.links:
            return (", ".join(f"{value:.1f}" for value in cell.published.values()) or DASH,)
        if not any(other.paper for other in self.study.cells):
            return ()
        if cell.paper is None:
            return (DASH,) * (1 + len(runs))
        mean = cell.paper[0]
        differences = (DASH if of.score is None else f"{of.score.mean - mean:+.2f}" for of in runs)
        return "{:.2f} ± {:.2f}".format(*cell.paper), *differences

    def _notes(self) -> tuple[str, ...]:
        study = self.study
        notes = [*self._link_verdicts()] if study.links else [*self._ablation_notes()]
        improving = still_improving_text(self._still_improving())
        if improving and not study.links:
            notes.append(improving)
        budgets = dict.fromkeys(budget for runs in self.runs.values() for budget in runs)
        made = (
            made_by(study.name, self.all_shown(), study.protocols[0].run)
            if self.records
            else f"No runs yet with budget {', '.join(budgets)}: s2gnn study run {study.name}"
        )
        return (*notes, study.legend or _legend(study), made)

    def _still_improving(self) -> dict[str, list[str]]:
        """The models whose best epoch was among the last, by column and protocol; runs in two columns count once."""
        found: dict[str, list[str]] = {}
        seen: set[str] = set()
        for cell in self.study.cells:
            for protocol in self.study.protocols:
                runs = self.shown(cell, protocol)
                keys = {record.key for record in runs.records.values()}
                if not keys & seen and runs.still_improving:
                    found.setdefault(f"{cell.column.title}, {protocol.name}", []).append(cell.model)
                seen |= keys
        return found

    def _link_verdicts(self) -> Iterable[str]:
        """For each data set: where S2-GNN is ahead of the other encoders, and where behind."""
        (protocol,) = self.study.protocols
        for data in self.study.data:
            cells = [cell for cell in self.study.cells if cell.data == data]
            leads = [(cell, lead) for cell in cells if (lead := self.lead(cell, protocol)) is not None]
            if leads:
                ahead, behind = ([cell for cell, lead in leads if verdict(lead) == sign] for sign in (1, -1))
                yield (
                    f"{data}: in {len(leads)} comparisons of ROC-AUC with another encoder that has the same decoder "
                    f"and graph, S2-GNN is ahead in {len(ahead)}{_named(ahead)}, behind in {len(behind)}"
                    f"{_named(behind)}, and the rest is undecided (p < {LEVEL:g}, not corrected for multiple tests)."
                )

    def ablation(self) -> dict[str, Any] | None:
        """On how many graphs S2-GNN leads its variant, here and in the paper; `None` of another table."""
        study = self.study
        if study.variant is None:
            return None
        cells = [cell for cell in study.cells if cell.model == study.variant]
        leads = [lead for cell in cells if (lead := self.lead(cell, study.protocols[-1])) is not None]
        printed = [points for cell in cells if (points := self.printed_lead(cell)) is not None]
        verdicts = [verdict(lead) for lead in leads]
        return {
            "variant": study.variant,
            "graphs": len(study.columns),
            "measured": _leads([lead.mean_difference for lead in leads]),
            "ahead": verdicts.count(1),
            "behind": verdicts.count(-1),
            "paper": _leads(printed),
        }

    def _ablation_notes(self) -> Iterable[str]:
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
        study = self.study
        content = {"study": study.name, "title": study.title, "paper": study.paper}
        if study.links:
            return {**content, "rows": [self._link_json(cell) for cell in study.cells]}
        found = self.ablation()
        return {
            **content,
            "metric": study.metrics[0],
            **({"ablation": found} if found else {}),
            "cells": [
                {
                    "data": cell.data,
                    "graph": cell.graph,
                    "model": cell.model,
                    "paper": cell.paper,
                    "hyperparameters": cell.source,
                    "measured": {protocol.name: self._cell_json(cell, protocol) for protocol in study.protocols},
                }
                for cell in study.cells
            ],
        }

    def _cell_json(self, cell: TableCell, protocol: Protocol) -> dict[str, Any]:
        lead = self.lead(cell, protocol)
        by_budget = self.runs[cell, protocol.name]
        return {
            **_runs_json(self.shown(cell, protocol)),
            "budget": self.budget(cell, protocol),
            "s2gnn_leads": lead.describe() if lead else None,
            "budgets": {name: _runs_json(runs) for name, runs in by_budget.items() if runs.records},
        }

    def _link_json(self, cell: TableCell) -> dict[str, Any]:
        (protocol,) = self.study.protocols
        scores = {}
        for metric in self.study.metrics:
            runs, lead = self.shown(cell, protocol, metric), self.lead(cell, protocol, metric)
            scores[metric] = {
                "score": asdict(runs.score) if runs.score else None,
                "seeds": {str(seed): value for seed, value in runs.scores.items()},
                "s2gnn_leads": lead.describe() if lead else None,
            }
        return {
            "data": cell.data,
            "encoder": cell.label,
            "graph": cell.graph,
            "decoder": cell.decoder,
            "published": dict(cell.published) or None,
            "budget": self.budget(cell, protocol),
            "scores": scores,
        }


def table_result(study: ScoreTable, records: Records, selection: Selection = ALL) -> TableResult:
    """A whole table with the runs that `records` have, or the selected part of it."""
    known = KnownRuns(records.read())
    budgets = usable_budgets(study.name, selection, study.without_search)
    runs = {
        (cell, protocol.name): {
            budget.name: known.of(study.experiment(cell, protocol, budget), budget, study.metrics[0])
            for budget in budgets
        }
        for cell in study.cells
        for protocol in study.protocols
    }
    models_run = {(cell.column, name): dict.fromkeys((b.name for b in budgets), 0) for cell, name in runs}
    for (cell, name), by_budget in runs.items():
        for budget, found in by_budget.items():
            models_run[cell.column, name][budget] += bool(found.records)
    return TableResult(study.select(selection), runs, {where: most(counts) for where, counts in models_run.items()})


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


def _named(cells: Sequence[TableCell]) -> str:
    names = (", ".join(filter(None, (c.label, c.graph if c.model != "mlp" else "", c.decoder))) for c in cells)
    return f" ({'; '.join(names)})" if cells else ""


def _runs_json(runs: Runs) -> dict[str, Any]:
    return {
        "score": asdict(runs.score) if runs.score else None,
        "scores": {str(seed): value for seed, value in runs.scores.items()},
        "commits": runs.commits,
    }


def _legend(study: ScoreTable) -> str:
    score = METRICS[study.metrics[0]]
    if study.folds:
        return (
            f"Test {score}, mean over those of the {study.folds} stratified folds that were run ± their standard "
            "deviation; a tenth of the graphs outside a fold selects the epoch. Hyperparameters are the same in all "
            "folds. The best and the second best of each column are marked. The p-value of a lead is that of a paired "
            "t-test over folds, which is too small because their training sets overlap. A dash means not run."
        )
    return (
        f"Test {score}, mean over seeds ± the larger distance to the bootstrapped 95 % interval, which is rough for "
        "three seeds. The best and the second best of the models with the same budget are marked, by the mean over all "
        "their seeds. Leads and the p-values of their paired t-tests are over the seeds that both have under the same "
        "budget. Where a model has more seeds under another budget, these are in a row of their own. A dash means not "
        "run, or not in the paper."
    )
