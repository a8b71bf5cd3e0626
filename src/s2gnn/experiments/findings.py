"""The tables in short: accuracies on equal terms, and what these change about the paper's conclusions."""

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from s2gnn.experiments.compare import DASH, LEVEL, Tally, commits_text, span
from s2gnn.experiments.table import load_table, table_names
from s2gnn.experiments.table_result import OURS, Column, TableResult
from s2gnn.render import Block, Cell, Table, render

_HEADLINE_TABLES = ("table2-knn", "table3")
_HEADLINE_MODELS = (OURS, "mlp", "gcn", "sgc", "sign", "cheby")


def findings(folder: Path) -> str:
    """Where S2-GNN is first and by how much it leads each model, for every comparison of the paper, in Markdown."""
    tables = [load_table(name) for name in table_names()]
    compared = [
        table
        for table in tables
        if table.ablation is None and table.metrics == ("test_accuracy",) and any(cell.paper for cell in table.cells)
    ]
    ordered = sorted(compared, key=lambda table: table.paper.startswith("appendix"))
    results = [table.result(folder) for table in ordered]
    return "\n".join(f"{_first_places(result)}\n\n{render(_leads(result), 'markdown')}" for result in results)


def headline(folder: Path) -> str:
    """One small table in Markdown: fair accuracies on the seeds that all models shown have."""
    results = [load_table(name).result(folder) for name in _HEADLINE_TABLES]
    columns = [(result, column) for result in results for column in result.study.columns]
    rows: dict[str, list[Cell]] = {model: [] for model in _HEADLINE_MODELS}
    seeds: list[int] = []
    budgets: dict[str, None] = {}
    for result, column in columns:
        fair = result.study.protocols[-1]
        shown = {
            cell.model: result.shown[cell, fair.name]
            for cell in result.ranking(column, fair)
            if cell.model in _HEADLINE_MODELS
        }
        scores = {model: of.runs.scores for model, of in shown.items()}
        common = sorted(set.intersection(*map(set, scores.values()))) if scores else []
        means = {model: np.mean([of[seed] for seed in common]) for model, of in scores.items() if common}
        best = f"{max(means.values()):.1f}" if means else None
        for model, row in rows.items():
            text = f"{means[model]:.1f}" if model in means else DASH
            row.append(Cell(text, 1 if text == best else None))  # what reads alike is marked alike
        if common:
            seeds.append(len(common))
            budgets |= dict.fromkeys(str(of.budget) for of in shown.values())
    made = "no runs yet"
    if seeds:
        commits = commits_text(record for result in results for record in result.records)
        made = f"{span(seeds)} seeds that all models have, budget {', '.join(budgets)}, {commits}"
    header = ("accuracy (%)", *(column.data for _, column in columns))
    block = Block("", tuple((Cell(model), *row) for model, row in rows.items()))
    note = f"`s2gnn study run table2-knn` and `table3`, {made}."
    return render(Table("", header, (block,), (note,)), "markdown")


def _first_places(result: TableResult) -> str:
    study = result.study
    rankings = {
        column: [[cell.model for cell in result.ranking(column, protocol)] for protocol in study.protocols]
        for column in study.columns
    }
    measured = {
        column: found
        for column, found in rankings.items()
        if all(OURS in ranking and len(ranking) > 1 for ranking in found)
    }
    if not measured:
        return f"{study.title}: S2-GNN and others have not been run yet."
    counts = [
        f"`{protocol.name}` {sum(found[place][0] == OURS for found in measured.values())}"
        for place, protocol in enumerate(study.protocols)
    ]
    printed = sum(_first_in_paper(result, column) for column in measured)
    models = [len(ranking) for found in measured.values() for ranking in found]
    return (
        f"{study.title}: on {len(measured)} data sets ({', '.join(column.data for column in measured)}) "
        f"S2-GNN is the first of the {span(models)} models run with one budget, by the mean over all their seeds: "
        f"{', '.join(counts)} times; in the paper {printed} times{_without(result, measured)}."
    )


def _without(result: TableResult, columns: Collection[Column]) -> str:
    """The models that the paper has no number for, with the data sets where it has one on others."""
    cells = [cell for cell in result.study.cells if Column.of(cell) in columns]
    names = []
    for model in result.study.models:
        without = [cell.data for cell in cells if cell.model == model and not cell.paper]
        has_some = any(cell.model == model and cell.paper for cell in cells)
        if without:
            names.append(f"{model} ({', '.join(without)})" if has_some else model)
    return f", without {' and '.join(names)}" if names else ""


def _first_in_paper(result: TableResult, column: Column) -> bool:
    scores = {cell.model: cell.paper[0] for cell in result.study.cells if Column.of(cell) == column and cell.paper}
    return max(scores, key=lambda model: scores[model]) == OURS


def _leads(result: TableResult) -> Table:
    study, fair = result.study, result.study.protocols[-1]
    header = (
        "S2-GNN against",
        "paper (points)",
        *(f"{protocol.name} (points)" for protocol in study.protocols),
        "data sets",
        f"{fair.name}: ahead / undecided / behind",
    )
    rows = tuple(_row(result, model) for model in study.models if model != OURS)
    note = (
        "Lead of S2-GNN in points of accuracy, mean over the data sets where both were run under both protocols; "
        f"ahead and behind by the paired t-test on common seeds (p < {LEVEL:g}, not corrected for multiple tests)."
    )
    return Table(study.title, header, (Block(study.title, rows),), (note,))


def _row(result: TableResult, model: str) -> tuple[Cell, ...]:
    study = result.study
    cells = [cell for cell in study.cells if cell.model == model]
    leads = {cell: [result.lead(cell, protocol) for protocol in study.protocols] for cell in cells}
    common = {cell: [lead for lead in found if lead] for cell, found in leads.items() if all(found)}
    printed = [lead for cell in common if (lead := result.paper_lead(cell)) is not None]
    means = [
        _mean([found[place].mean_difference for found in common.values()]) for place in range(len(study.protocols))
    ]
    counts = Tally({cell: found[-1] for cell, found in common.items()}).counts
    return tuple(map(Cell, (model, _mean(printed), *means, str(len(common)), counts)))


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):+.2f}" if values else DASH
