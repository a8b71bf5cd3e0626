"""An accuracy table with its runs as something to look at: measured beside published, released beside fair."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from s2gnn.data.catalogue import entry
from s2gnn.learning.metrics import PairedComparison
from s2gnn.learning.protocol import Protocol
from s2gnn.render import Block, Cell, Table
from s2gnn.studies.ablation import ablation, ablation_notes
from s2gnn.studies.budget import BUDGETS
from s2gnn.studies.made_by import made_by
from s2gnn.studies.results import PlaceResult, TableResult
from s2gnn.studies.table import METRICS, AccuracyTable, TableCell
from s2gnn.studies.unfinished import unfinished

_NONE = "–"


def table_layout(result: TableResult) -> Table:
    """One block for each data set and graph, one row for each model."""
    table = result.table
    names = [protocol.name.split("-")[0] for protocol in table.protocols]
    header = (
        "model",
        *(f"{protocol.name} (%)" for protocol in table.protocols),
        *(("paper (%)", *(f"{name} − paper" for name in names)) if table.printed else ()),
        "S2-GNN leads (points)" if table.folds else f"S2-GNN leads, {names[-1]} (points)",
        f"{table.run}s",
        "budget",
        "hyperparameters",
    )
    blocks = []
    for column in table.columns:
        ranks = {protocol: _leaders(result.ranking(column, protocol)) for protocol in table.protocols}
        rows = [row for cell in table.cells if cell.column == column for row in _rows(result, cell, ranks)]
        blocks.append(Block(f"{column.title}: {entry(column.data).title}", tuple(rows)))
    found, late = ablation(result), unfinished(result)
    notes = (*(ablation_notes(found) if found else ()), *((late,) if late else ()), _legend(table), _made_by(result))
    return Table(f"{table.title} ({table.paper})", header, tuple(blocks), notes)


def _leaders(ranking: list[str]) -> list[str]:
    """The best and the second best; nobody is the best alone."""
    return ranking[:2] if len(ranking) > 1 else []


def _rows(result: TableResult, cell: TableCell, ranks: Mapping[Protocol, list[str]]) -> list[tuple[Cell, ...]]:
    """A place as the other models of its column are shown; below it, without a mark, the budget with more seeds."""
    table = result.table
    protocols = table.protocols
    places = [result.at(cell, protocol) for protocol in protocols]
    marks = [ranks[protocol].index(cell.model) + 1 if cell.model in ranks[protocol] else None for protocol in protocols]
    lead = None if cell.model == "s2gnn" else result.lead(cell.column, protocols[-1], cell.model)
    rows = [_row(table, cell.model, cell, places, marks, shown_lead(lead, table.run))]
    thorough = [place.under(place.most_seeds) for place in places]
    if [place.budget for place in thorough] != [place.budget for place in places]:
        more = _both([place.budget or _NONE for place in thorough])
        rows.append(_row(table, f"{cell.model}, {more}", cell, thorough, [None] * len(places), _NONE))
    return rows


def _row(
    table: AccuracyTable,
    name: str,
    cell: TableCell,
    places: Sequence[PlaceResult],
    marks: Sequence[int | None],
    lead: str,
) -> tuple[Cell, ...]:
    scores = [Cell(shown_score(place, table.folds), mark) for place, mark in zip(places, marks, strict=True)]
    printed = "{:.2f} ± {:.2f}".format(*cell.paper) if cell.paper else _NONE
    texts = (
        *((printed, *(_difference(place, cell) for place in places)) if table.printed else ()),
        lead,
        _both([str(len(place.records)) if place.records else _NONE for place in places]),
        _both([place.budget or _NONE for place in places]),
        cell.source,
    )
    return (Cell(name), *scores, *map(Cell, texts))


def shown_score(place: PlaceResult, folds: int | None = None) -> str:
    """A place as mean ± half-width, or ± the standard deviation of its folds; a dash without runs."""
    score = place.score
    if score is None:
        return _NONE
    spread = np.std(list(place.scores.values())) if folds else score.half_width
    return f"{score.mean:.2f} ± {spread:.2f}" if score.n > 1 else f"{score.mean:.2f}"


def _difference(place: PlaceResult, cell: TableCell) -> str:
    score = place.score
    return _NONE if score is None or cell.paper is None else f"{score.mean - cell.paper[0]:+.2f}"


def shown_lead(lead: PairedComparison | None, run: str = "seed") -> str:
    """A lead in points with the test behind it, on so many seeds or other runs; a dash where there is none."""
    if lead is None:
        return _NONE
    test = f"{lead.n} {run}" if lead.p_t is None else f"{lead.n} {run}s, p {_p(lead.p_t)}"
    return f"{lead.mean_difference:+.2f} ({test})"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _both(texts: list[str]) -> str:
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)


def _legend(table: AccuracyTable) -> str:
    score = METRICS[table.metric]
    if table.folds:
        return (
            f"Test {score}, mean over those of the {table.folds} stratified folds that were run ± their standard "
            "deviation, as is customary; of the graphs outside a fold a tenth chooses the epoch. Hyperparameters are "
            "the same in all folds. The best and the second best of each column are marked. The p of a lead is that of "
            "the paired t-test over folds, which is too small because their training graphs overlap. A dash is not run."
        )
    return (
        f"Test {score}, mean over seeds ± its distance to the farther end of the bootstrapped 95 % interval, "
        "a rough one with three seeds. The best and the second best of the models with the same budget are marked, by "
        "the mean over all their seeds. The lead and the p of its paired t-test are on the seeds that both have under "
        "the same budget, where they have any. Where a model has more seeds with another budget, these are in a row of "
        "their own. A dash is not run, or not in the paper."
    )


def _made_by(result: TableResult) -> str:
    places = result.shown
    if not result.records:
        budgets = dict.fromkeys(budget for place in places for budget in place.runs)
        return f"No run yet with budget {', '.join(budgets)}: s2gnn study run {result.table.name}"
    seeds = {name: [len(place.runs.get(name, {})) for place in places] for name in BUDGETS}
    return made_by(result.table.name, result.records, seeds, result.table.run)


def table_json(result: TableResult) -> dict[str, Any]:
    """All figures of a table for a program."""
    table, found = result.table, ablation(result)
    return {
        "study": table.name,
        "title": table.title,
        "paper": table.paper,
        "metric": table.metric,
        **({"ablation": asdict(found)} if found else {}),
        "cells": [
            {
                "data": cell.data,
                "graph": cell.graph,
                "model": cell.model,
                "paper": cell.paper,
                "hyperparameters": cell.source,
                "measured": {protocol.name: _place_json(result, cell, protocol) for protocol in table.protocols},
            }
            for cell in table.cells
        ],
    }


def _place_json(result: TableResult, cell: TableCell, protocol: Protocol) -> dict[str, Any]:
    place = result.at(cell, protocol)
    lead = None if cell.model == "s2gnn" else result.lead(cell.column, protocol, cell.model)
    return {
        **_shown_json(place),
        "budget": place.budget,
        "s2gnn_leads": asdict(lead) if lead else None,
        "budgets": {name: _shown_json(place.under(name)) for name, runs in place.runs.items() if runs},
    }


def _shown_json(place: PlaceResult) -> dict[str, Any]:
    return {
        "score": asdict(place.score) if place.score else None,
        "scores": {str(seed): value for seed, value in place.scores.items()},
        "commits": sorted({record.commit or "unknown" for record in place.records.values()}),
    }
