"""The README's table of accuracies: a few models on all data sets, under the fair protocols."""

from pathlib import Path

import numpy as np

from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.compare import DASH, commits_text, span
from s2gnn.experiments.table import load_table
from s2gnn.experiments.table_scores import OURS
from s2gnn.render import Block, Cell, Table, render

_TABLES = ("table2-knn", "table3")
_MODELS = (OURS, "mlp", "gcn", "sgc", "sign", "cheby")


def headline(folder: Path) -> str:
    """Return one small table in Markdown: fair accuracies on the seeds common to all models shown."""
    results = [load_table(name).result(folder) for name in _TABLES]
    columns = [(result, column) for result in results for column in result.study.columns]
    rows: dict[str, list[Cell]] = {model: [] for model in _MODELS}
    seeds: list[int] = []
    budgets: dict[str, None] = {}
    for result, column in columns:
        fair = result.study.protocols[-1]
        shown = {
            cell.model: result.shown[cell, fair.name] for cell in result.ranking(column, fair) if cell.model in _MODELS
        }
        scores = {model: of.runs.scores for model, of in shown.items()}
        common = sorted(set.intersection(*map(set, scores.values()))) if scores else []
        means = {model: np.mean([of[seed] for seed in common]) for model, of in scores.items() if common}
        best = f"{max(means.values()):.1f}" if means else None
        for model, row in rows.items():
            text = f"{means[model]:.1f}" if model in means else DASH
            row.append(Cell(text, 1 if text == best else None))  # ties after rounding are all marked
        if common:
            seeds.append(len(common))
            budgets |= dict.fromkeys(str(of.budget) for of in shown.values())
    made = "no runs yet"
    if seeds:
        commits = commits_text(record for result in results for record in result.records)
        made = f"{span(seeds)} seeds common to all models, budget {', '.join(budgets)}, {commits}"
    header = ("accuracy (%)", *(display_name(column.data) for _, column in columns))
    block = Block("", tuple((Cell(display_name(model)), *row) for model, row in rows.items()))
    note = f"`s2gnn study run table2-knn` and `table3`, {made}."
    return render(Table("", header, (block,), (note,)), "markdown")
