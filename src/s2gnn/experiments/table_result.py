"""The results of a study of a table, rendered as a table and as JSON."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

import numpy as np

from s2gnn.data.catalogue import dataset_info
from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.compare import DASH, RULE, Runs, lead_text, made_by, span
from s2gnn.experiments.protocols import BUDGETS, Protocol
from s2gnn.experiments.records import Record
from s2gnn.experiments.study import Result, StudyCell
from s2gnn.experiments.table_scores import ENOUGH, NEAR, Column, Reproduced, TableScores
from s2gnn.links.metrics import HITS_AT
from s2gnn.render import Block, Cell, Table

# Display names of the metrics in the records.
METRICS: Mapping[str, str] = MappingProxyType(
    {
        "test_accuracy": "accuracy",
        "test_roc_auc": "ROC-AUC",
        "test_average_precision": "AP",
        **{f"test_hits@{k}": f"hits@{k}" for k in HITS_AT},
    }
)
_MARKS: Mapping[Reproduced | None, str] = MappingProxyType(
    {"yes": " ✓", "other hyperparameters": " ○", "compatible": " ?", "no": " ✗", None: ""}
)
_UNRANKED = " †"
_IGNORES_GRAPH = " ‡"
# Short names of the hyperparameters that the tables show.
_SYMBOLS: Mapping[str, str] = MappingProxyType(
    {"alpha": "α", "epsilon": "ε", "K": "K", "num_layers": "layers", "hidden_channels": "width", "fusion": "fusion"}
)
_MANY = 10  # with fewer seeds a bootstrapped interval is rough


class TableResult(TableScores, Result):
    """The selected part of a table with its runs, as tables and as JSON."""

    def table(self) -> Table:
        """Return one block for each column, with rows for each model: see `_rows`."""
        study = self.study
        names = [protocol.name.split("-")[0] for protocol in study.protocols]
        scores = [(protocol, metric) for protocol in study.protocols for metric in study.metrics]
        paper = ("paper (%)", "reproduced") if any(cell.paper for cell in study.cells) else ()
        leads = f", {METRICS[study.metrics[0]]}" if study.links else "" if study.folds else f", {names[-1]}"
        header = (
            *(("encoder", "graph", "decoder") if study.links else ("model",)),
            *(f"{METRICS[metric] if study.links else protocol.name} (%)" for protocol, metric in scores),
            *(("published by others: ROC-AUC, AP (%)",) if study.links else paper),
            f"S2-GNN leads{leads} (points)",
            f"{study.protocols[0].run}s",
            "budget",
            *(() if study.links else ("hyperparameters", "values")),
        )
        hidden = self._without_runs()
        blocks = []
        for column in study.columns:
            marks = {
                (cell, protocol.name, metric): rank
                for protocol, metric in scores
                if len(ranking := self.ranking(column, protocol, metric)) > 1  # a single model is not ranked
                for rank, cell in enumerate(ranking[:2], start=1)
            }
            cells = [cell for cell in study.cells if Column.of(cell) == column and cell not in hidden]
            if not cells:
                continue
            rows = [row for cell in cells for row in self._rows(cell, marks)]
            blocks.append(Block(f"{column.heading}: {dataset_info(column.data).title}", tuple(rows)))
        return Table(f"{study.title} ({study.paper})", header, tuple(blocks), self._notes())

    def _without_runs(self) -> set[StudyCell]:
        """Return the cells to hide: those without runs, if budgets are selected and others have runs."""
        ran = {cell for (cell, _), shown in self.shown.items() if shown.runs.records}
        cells = set(self.study.cells)
        return cells - ran if self.selection.budgets and cells & ran else set()

    def compact(self) -> Table:
        """Return a column for each data set, with one block for the last protocol and one for the first and the paper.

        The notes are findings; those of `table` explain the columns.
        """
        study, columns = self.study, self.study.columns
        first, last = study.protocols[0], study.protocols[-1]
        rankings = {column: self.ranking(column, last)[:2] for column in columns}

        def fair(cell: StudyCell) -> Cell:
            best, shown = rankings[Column.of(cell)], self.shown[cell, last.name]
            rank = best.index(cell) + 1 if cell in best and len(best) > 1 else None
            mark = _UNRANKED if shown.runs.records and not shown.ranked else ""
            mark += _IGNORES_GRAPH if shown.runs.ignores_graph else ""
            return Cell(f"{self.scores(cell, last).text(folds=study.folds is not None)}{mark}", rank)

        def released(cell: StudyCell) -> Cell:
            judged, shown = self.judged.get(cell), self.shown[cell, first.name]
            if study.ablation and judged and judged.budget != shown.budget:
                judged = None  # a model and its variant are compared under one budget
            runs = self.decisive(cell) if judged else shown.runs
            measured = runs.mean
            found = DASH if measured is None else f"{measured:.1f}"
            same_budget = shown.ranked and (judged is None or judged.budget == shown.budget)
            mark = "" if measured is None or same_budget else _UNRANKED
            mark += _IGNORES_GRAPH if runs.ignores_graph else ""
            verdict = _MARKS[judged.verdict if judged else None]
            return Cell(f"{found}{mark} ({cell.paper[0]:.1f}{verdict})" if cell.paper else f"{found}{mark}")

        blocks = [(f"{last.name} (%)", fair)]
        if any(cell.paper for cell in study.cells):
            marks = "✓ reproduced, ○ with other hyperparameters, ? too uncertain, ✗ not reproduced"
            blocks.append((f"{first.name} (paper in brackets) (%): {marks}", released))
        rows = {name: tuple(self._row_of(model, columns, entry) for model in study.models) for name, entry in blocks}
        places = ["" if study.one_kind else f", {column.place}" for column in columns]
        texts = "".join(cell.text for block in rows.values() for row in block for cell in row)
        marked = {
            _UNRANKED: "Another budget than the other models; not ranked.",
            _IGNORES_GRAPH: "K = 1: ignores the graph, as an MLP does.",
        }
        return Table(
            f"{study.title} ({study.paper})",
            ("model", *(display_name(column.data) + place for column, place in zip(columns, places, strict=True))),
            tuple(Block(name, of) for name, of in rows.items()),
            (
                *(f"{mark.strip()} {note}" for mark, note in marked.items() if mark in texts),
                *self._findings(),
            ),
        )

    def _row_of(self, model: str, columns: Sequence[Column], entry: Callable[[StudyCell], Cell]) -> tuple[Cell, ...]:
        cells = [self.find(column, model) for column in columns]
        return (Cell(display_name(model)), *(entry(cell) if cell else Cell(DASH) for cell in cells))

    def _rows(self, cell: StudyCell, marks: Mapping[tuple[StudyCell, str, str], int]) -> Iterator[tuple[Cell, ...]]:
        """Yield the runs that are ranked, and further rows for more seeds and for the runs compared with the paper."""
        protocols = self.study.protocols
        shown = [self.shown[cell, protocol.name] for protocol in protocols]
        tally = self.tally(protocols[-1])
        lead = lead_text(tally.leads[cell], tally.verdicts[cell]) if cell in tally.leads else DASH
        budgets, most_seeds = [of.budget for of in shown], [of.most_seeds for of in shown]
        yield self._row(cell, cell.title, budgets, marks, lead)
        if most_seeds != budgets:
            yield self._row(cell, f"{cell.title}, {_joined(most_seeds)}", most_seeds, {}, DASH)
        judged = self.judged.get(cell)
        if judged and judged.budget not in (budgets[0], most_seeds[0]):
            yield self._row(cell, f"{cell.title}, {judged.budget}", [judged.budget] * len(protocols), {}, DASH)

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
            *self._printed(cell, budgets[0]),
            lead,
            _joined([str(len(of)) if of.records else None for of in runs]),
            _joined(budgets),
            *(() if study.links else (_joined([self._source(cell, budget) for budget in budgets]),)),
            *(() if study.links else (_joined([_values_text(of) for of in runs]),)),
        )
        # An MLP sees no graph.
        place = (DASH if cell.model == "mlp" else cell.graph, cell.decoder) if cell.decoder else ()
        return (*map(Cell, (label, *place)), *scores, *map(Cell, texts))

    def _printed(self, cell: StudyCell, budget: str | None) -> tuple[str, ...]:
        if self.study.links:
            return (", ".join(f"{value:.1f}" for value in cell.published.values()) or DASH,)
        if not any(other.paper for other in self.study.cells):
            return ()
        if cell.paper is None:
            return DASH, DASH
        judged = self.judged.get(cell)
        verdict = judged.verdict if judged and judged.budget == budget else DASH
        return "{:.2f} ± {:.2f}".format(*cell.paper), verdict

    def _findings(self) -> tuple[str, ...]:
        improving = None if self.study.links else still_improving_text(self.still_improving())
        verdicts = self._link_verdicts() if self.study.links else self._ablation_notes()
        return tuple(note for note in (*verdicts, improving, self._failed_trials()) if note)

    def _notes(self) -> tuple[str, ...]:
        study = self.study
        budgets = dict.fromkeys(budget for runs in self.runs.values() for budget in runs)
        command = f"{study.name}{self.selection.options}"
        made = (
            made_by(command, self.all_shown(), study.protocols[0].run)
            if self.has_runs
            else f"No runs yet with budget {', '.join(budgets)}: s2gnn study run {command}"
        )
        legend = (
            f"{study.legend} Verdicts: {RULE} for all comparisons of the table." if study.legend else self._legend()
        )
        return (*self._findings(), legend, made)

    def _failed_trials(self) -> str:
        """Return the number of failed trials of each search, and one of its errors."""
        found: dict[str, list[Record]] = {}
        for cell in self.study.cells:
            for protocol in self.study.protocols:
                for trial in self.failed.get((cell, protocol.name), ()):
                    place = f"{cell.title} ({Column.of(cell).heading}, {trial.experiment['protocol']['name']})"
                    known = found.setdefault(place, [])
                    known += [] if trial in known else [trial]
        searches = "; ".join(f"{place} {len(trials)}, {trials[0].error}" for place, trials in found.items())
        return f"Failed trials, which have the lowest score of their search: {searches}." if searches else ""

    def _source(self, cell: StudyCell, budget: str | None) -> str:
        """Return the source of the hyperparameters of runs."""
        if not (budget and BUDGETS[budget].rungs):
            return cell.source
        return "searched" if self.study.search_cell(cell) is cell else "transferred"

    def _legend(self) -> str:
        study, score = self.study, METRICS[self.study.metrics[0]]
        if study.folds:
            return (
                f"Test {score}: mean ± standard deviation over the folds that were run, of {study.folds} stratified "
                "folds. The epoch is selected on a tenth of the graphs outside the fold; all folds have the same "
                f"hyperparameters. The best and second best of each column are marked. Leads: {RULE}. Training sets of "
                "folds overlap, so these tests are too confident. A dash means not run."
            )
        few = min((len(runs) for _, runs in self.all_shown() if len(runs) > 1), default=_MANY)
        rough = f", which is rough for {few} seeds" if few < _MANY else ""
        return (
            f"Test {score}: mean over seeds ± half-width of the bootstrapped 95 % interval{rough}. The best and second "
            "best of the models with the same budget are marked. Leads, with their 95 % intervals, are on the common "
            f"seeds of both models under one budget: {RULE} for all comparisons of the table.{self._detectable()} A "
            "number is reproduced if the mean of our released runs, with the published hyperparameters or, if none are "
            f"published, after a search, differs from it by at most {NEAR} points and not significantly (by their 95 % "
            "intervals), and compatible if a larger difference is not significant; the verdict is in the row of these "
            f"runs, which have at least {ENOUGH} seeds. Further rows of a model have more seeds, or are compared with "
            "the paper. A dash means not run, not in the paper, or too few seeds."
        )

    def _detectable(self) -> str:
        """Return the smallest lead that the tests can detect with these seeds."""
        found = [of for lead in self.tally(self.study.protocols[-1]).leads.values() if (of := lead.detectable)]
        if not found:
            return ""
        usual = f"{np.median(found):.1f} points (median, {span(found, '.1f')})"
        return f" With these seeds a single test, before correction, detects a lead of {usual} with probability 0.8."

    def _link_verdicts(self) -> Iterator[str]:
        """Yield for each data set how often S2-GNN is ahead of and behind the other encoders."""
        (protocol,) = self.study.protocols
        for data in self.study.data:
            cells = [cell for cell in self.study.cells if cell.data == data]
            tally = self.tally(protocol).on(cells)
            if tally.leads:
                ahead, behind = tally.where("ahead"), tally.where("behind")
                yield (
                    f"{display_name(data)}: in {len(tally.leads)} comparisons of ROC-AUC with another encoder on the "
                    f"same graph and with the same decoder, S2-GNN is ahead in {len(ahead)}{_named(ahead)}, level in "
                    f"{len(tally.where('level'))}, behind in {len(behind)}{_named(behind)}, undecided in "
                    f"{len(tally.where('undecided'))}."
                )

    def _ablation_notes(self) -> Iterator[str]:
        found = self.ablation()
        if found is None:
            return
        variant, measured, paper = display_name(found["variant"]), found["measured"], found["paper"]
        counts = f"No graph has runs of both S2-GNN and the variant with {variant} yet."
        if measured["mean"] is not None:
            so_far = "" if measured["graphs"] == found["graphs"] else f" run so far (of {found['graphs']})"
            counts = (
                f"Mean accuracy of S2-GNN on common seeds is higher than with {variant} on {measured['ahead']} of "
                f"the {measured['graphs']} graphs{so_far}, by {measured['mean']:+.2f} points on average; the "
                f"difference is significant on {found['ahead'] + found['behind']} (ahead on {found['ahead']}, behind "
                f"on {found['behind']})."
            )
        if paper["mean"] is not None:
            counts += (
                f" In the paper it is higher on {paper['ahead']} of {paper['graphs']} graphs, by {paper['mean']:+.2f} "
                "points on average."
            )
        yield counts
        yield (
            "Both models use the hyperparameters published for S2-GNN on k-NN graphs, except under the budgets "
            "standard and full, which search those of the variant separately, as the paper did. Neither model has ReLU "
            "or dropout on its logits under either protocol, so one run appears in both columns."
        )

    def json(self) -> dict[str, Any]:
        """Return all figures as a JSON object."""
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
                    "reproduced": self.reproduced(cell),
                    "hyperparameters": cell.source,
                    "measured": {protocol.name: self._cell_json(cell, protocol) for protocol in study.protocols},
                }
                for cell in study.cells
            ],
        }

    def _cell_json(self, cell: StudyCell, protocol: Protocol) -> dict[str, Any]:
        def figures(metric: str) -> dict[str, Any]:
            lead = self.lead(cell, protocol, metric)
            verdict = self.tally(protocol).verdicts.get(cell) if metric == main else None
            return {
                **_runs_json(self.scores(cell, protocol, metric)),
                "s2gnn_leads": {**lead.describe(), "verdict": verdict} if lead else None,
            }

        main, *others = self.study.metrics
        by_budget = self.runs[cell, protocol.name]
        return {
            **figures(main),
            "budget": (budget := self.shown[cell, protocol.name].budget),
            "hyperparameters": self._source(cell, budget) if budget else None,
            "values": self.shown[cell, protocol.name].runs.hyperparameters,
            "budgets": {name: _runs_json(runs) for name, runs in by_budget.items() if runs.records},
            "failed_trials": [
                {"budget": trial.budget["name"], "key": trial.key, "seed": trial.seed, "error": trial.error}
                for trial in self.failed.get((cell, protocol.name), ())
            ],
            **({"metrics": {metric: figures(metric) for metric in others}} if others else {}),
        }


def still_improving_text(found: Mapping[str, Sequence[str]]) -> str | None:
    """Return a note on the models that were still improving at the last epoch; `None` if there are none."""
    if not found:
        return None
    places = "; ".join(f"{', '.join(models)} ({place})" for place, models in found.items())
    return f"Still improving at the last epoch in most runs, so more epochs may raise their scores: {places}."


def _joined(texts: Sequence[str | None]) -> str:
    shown = [text or DASH for text in texts]
    return shown[0] if len(set(shown)) == 1 else " / ".join(shown)


def _values_text(runs: Runs) -> str | None:
    """Return the values of the hyperparameters in `_SYMBOLS`; `None` if there are none."""
    known = runs.hyperparameters
    texts = [
        f"{symbol} = {display_name(known[name]) if name == 'fusion' else known[name]}"
        for name, symbol in _SYMBOLS.items()
        if name in known
    ]
    ignored = " (ignores the graph)" if runs.ignores_graph else ""
    return f"{', '.join(texts)}{ignored}" if texts else None


def _named(cells: Iterable[StudyCell]) -> str:
    names = [", ".join(filter(None, (c.title, c.graph if c.model != "mlp" else "", c.decoder))) for c in cells]
    return f" ({'; '.join(names)})" if names else ""


def _runs_json(runs: Runs) -> dict[str, Any]:
    return {
        "score": asdict(runs.score) if runs.score else None,
        "scores": {str(seed): value for seed, value in runs.scores.items()},
        "commits": runs.commits,
    }
