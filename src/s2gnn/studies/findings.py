"""The tables in short: accuracies on equal terms, and what these change about the paper's conclusions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from s2gnn.render import Block, Cell, Table, render
from s2gnn.studies.made_by import commits_text
from s2gnn.studies.registry import stored_table
from s2gnn.studies.results import LEVEL, TableResult, verdict
from s2gnn.studies.span import span
from s2gnn.studies.table import Column, load_table, table_names

FINDINGS = "findings"
HEADLINE = "headline"
_HEADLINE_TABLES = ("table2-knn", "table3")
_HEADLINE_MODELS = ("s2gnn", "mlp", "gcn", "sgc", "sign", "cheby")


def findings(folder: Path) -> str:
    """Of every comparison with other models, in Markdown: where S2-GNN is first, and by how much it leads each."""
    tables = sorted(map(load_table, table_names()), key=lambda table: table.paper.startswith("appendix"))  # these last
    comparisons = (t.name for t in tables if t.variant is None and t.printed and t.metric == "test_accuracy")
    results = [stored_table(name, folder) for name in comparisons]
    return "\n".join(f"{_first_places(result)}\n\n{render(_leads(result), 'markdown')}" for result in results)


def headline(folder: Path) -> str:
    """One small table in Markdown: the models that all data sets have, under the fair protocols, on common seeds."""
    results = [stored_table(name, folder) for name in _HEADLINE_TABLES]
    columns = [_HeadlineColumn.of(result, column) for result in results for column in result.table.columns]
    rows = tuple((Cell(model), *(column.entry(model) for column in columns)) for model in _HEADLINE_MODELS)
    header = ("accuracy (%)", *(column.data for column in columns))
    seeds = [column.seeds for column in columns if column.seeds]
    budgets = dict.fromkeys(column.budget for column in columns if column.budget)
    made = "no seed yet"
    if seeds:
        commits = commits_text(record for result in results for record in result.records)
        made = f"{span(seeds)} seeds that all have, budget {', '.join(budgets)}, {commits}"
    note = f"`s2gnn study run table2-knn` and `table3`, {made}."
    return render(Table("", header, (Block("", rows),), (note,)), "markdown")


@dataclass(frozen=True)
class _HeadlineColumn:
    """A data set of the headline.

    Attributes:
        data: its name.
        budget: the one that most models have; `None` without runs.
        seeds: number of seeds that all models shown have with it.
        means: accuracies over these in % by model.
    """

    data: str
    budget: str | None
    seeds: int
    means: Mapping[str, float]

    @classmethod
    def of(cls, result: TableResult, column: Column) -> "_HeadlineColumn":
        fair = result.table.protocols[-1].name
        places = {model: result.places.get((column, model, fair)) for model in _HEADLINE_MODELS}
        budget = result.budgets[column, fair]
        shown = {model: place.scores for model, place in places.items() if place and place.budget == budget}
        found = {model: accuracies for model, accuracies in shown.items() if accuracies}
        seeds = sorted(set.intersection(*map(set, found.values()))) if found else []
        means = {model: float(np.mean([of[seed] for seed in seeds])) for model, of in found.items()} if seeds else {}
        return cls(column.data, budget, len(seeds), means)

    def entry(self, model: str) -> Cell:
        if model not in self.means:
            return Cell("–")
        texts = {name: f"{mean:.1f}" for name, mean in self.means.items()}
        best = f"{max(self.means.values()):.1f}"
        return Cell(texts[model], 1 if texts[model] == best else None)  # what reads alike is marked alike


def _first_places(result: TableResult) -> str:
    table = result.table
    rankings = {column: [result.ranking(column, protocol) for protocol in table.protocols] for column in table.columns}
    measured = {
        column: found
        for column, found in rankings.items()
        if all("s2gnn" in ranking and len(ranking) > 1 for ranking in found)
    }
    if not measured:
        return f"{table.title}: S2-GNN and others have not been run yet."
    counts = [
        f"`{protocol.name}` {sum(found[position][0] == 's2gnn' for found in measured.values())}"
        for position, protocol in enumerate(table.protocols)
    ]
    printed = sum(_first_in_paper(result, column) for column in measured)
    models = [len(ranking) for found in measured.values() for ranking in found]
    return (
        f"{table.title}: on {len(measured)} data sets ({', '.join(column.data for column in measured)}) "
        f"S2-GNN is the first of the {span(models)} models run with one budget, by the mean over all their seeds: "
        f"{', '.join(counts)} times; in the paper {printed} times{_left_out(result, measured)}."
    )


def _left_out(result: TableResult, columns: Collection[Column]) -> str:
    """The models of a table that the paper has no number for, with the data sets where it has one on others."""
    cells = [cell for cell in result.table.cells if cell.column in columns]
    names = []
    for model in result.table.models:
        without = [cell.data for cell in cells if cell.model == model and not cell.paper]
        has_some = any(cell.model == model and cell.paper for cell in cells)
        if without:
            names.append(f"{model} ({', '.join(without)})" if has_some else model)
    return f", without {' and '.join(names)}" if names else ""


def _first_in_paper(result: TableResult, column: Column) -> bool:
    scores = {cell.model: cell.paper[0] for cell in result.table.cells if cell.column == column and cell.paper}
    return max(scores, key=lambda model: scores[model]) == "s2gnn"


def _leads(result: TableResult) -> Table:
    table = result.table
    fair = table.protocols[-1]
    header = (
        "S2-GNN against",
        "paper (points)",
        *(f"{protocol.name} (points)" for protocol in table.protocols),
        "data sets",
        f"{fair.name}: ahead / undecided / behind",
    )
    rows = tuple(_row(result, model) for model in table.models if model != "s2gnn")
    note = (
        "Lead of S2-GNN in points of accuracy, mean over the data sets where both were run under both protocols; "
        f"ahead and behind by the paired t-test on common seeds (p < {LEVEL:g}, not corrected for their number)."
    )
    return Table(table.title, header, (Block(table.title, rows),), (note,))


def _row(result: TableResult, model: str) -> tuple[Cell, ...]:
    table = result.table
    leads = {column: [result.lead(column, under, model) for under in table.protocols] for column in table.columns}
    common = {column: [lead for lead in found if lead] for column, found in leads.items() if all(found)}
    printed = [lead for column in common if (lead := table.printed_lead(column, model)) is not None]
    means = [
        _mean([found[position].mean_difference for found in common.values()])
        for position in range(len(table.protocols))
    ]
    verdicts = [verdict(found[-1]) for found in common.values()]
    counts = " / ".join(str(verdicts.count(sign)) for sign in (1, 0, -1)) if verdicts else "–"
    return tuple(map(Cell, (model, _mean(printed), *means, str(len(common)), counts)))


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):+.2f}" if values else "–"
