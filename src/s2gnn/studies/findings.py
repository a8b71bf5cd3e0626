"""The tables in short: accuracies on equal terms, and what these change about the paper's conclusions."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from s2gnn.layout import Block, Entry, Layout, rendered
from s2gnn.studies.registry import stored_table
from s2gnn.studies.results import LEVEL, TableResult, verdict
from s2gnn.studies.table import Column, load_table, table_names

FINDINGS = "findings"
HEADLINE = "headline"
_HEADLINE_TABLES = ("table2-knn", "table3")
_HEADLINE_MODELS = ("s2gnn", "mlp", "gcn", "sgc", "sign", "cheby")


def findings(folder: Path) -> str:
    """Of every comparison with other models, in Markdown: where S2-GNN is first, and by how much it leads each."""
    comparisons = (name for name in table_names() if load_table(name).variant is None)
    results = [stored_table(name, folder) for name in comparisons]
    return "\n".join(f"{_first_places(result)}\n\n{rendered(_leads(result), 'markdown')}" for result in results)


def headline(folder: Path) -> str:
    """One small table in Markdown: the models that all data sets have, under the fair protocols."""
    results = [stored_table(name, folder) for name in _HEADLINE_TABLES]
    places = [(result, column) for result in results for column in result.table.columns]
    rows = tuple((Entry(model), *(_accuracy(*place, model) for place in places)) for model in _HEADLINE_MODELS)
    header = ("accuracy (%)", *(column.data for _, column in places))
    seeds = [len(place.records) for result in results for place in result.places.values() if place.records]
    count = f"{_span(seeds)} seeds" if seeds else "no seed yet"
    commits = dict.fromkeys(commit for result in results for commit in result.commits)
    note = f"`s2gnn study run table2-knn` and `table3`, {count}, commits {', '.join(commits) or '–'}."
    return rendered(Layout("", header, (Block("", rows),), (note,)), "markdown")


def _accuracy(result: TableResult, column: Column, model: str) -> Entry:
    fair = result.table.protocols[-1]
    place = result.places.get((column, model, fair.name))
    if place is None or place.score is None:
        return Entry("–")
    return Entry(f"{place.score.mean:.1f}", 1 if result.ranking(column, fair)[0] == model else None)


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
        f"S2-GNN is the first of the {_span(models)} models run, by the mean over all seeds: "
        f"{', '.join(counts)} times; in the paper {printed} times, where there is no MLP."
    )


def _span(counts: Sequence[int]) -> str:
    return " to ".join(map(str, dict.fromkeys((min(counts), max(counts)))))


def _first_in_paper(result: TableResult, column: Column) -> bool:
    scores = {cell.model: cell.paper[0] for cell in result.table.cells if cell.column == column and cell.paper}
    return max(scores, key=lambda model: scores[model]) == "s2gnn"


def _leads(result: TableResult) -> Layout:
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
    return Layout(table.title, header, (Block(table.title, rows),), (note,))


def _row(result: TableResult, model: str) -> tuple[Entry, ...]:
    table = result.table
    leads = {column: [result.lead(column, under, model) for under in table.protocols] for column in table.columns}
    common = {column: [lead for lead in found if lead] for column, found in leads.items() if all(found)}
    printed = [lead for column in common if (lead := table.printed_lead(column, model)) is not None]
    means = [_mean([found[position].mean_difference for found in common.values()]) for position in range(2)]
    verdicts = [verdict(found[-1]) for found in common.values()]
    counts = " / ".join(str(verdicts.count(sign)) for sign in (1, 0, -1)) if verdicts else "–"
    return tuple(map(Entry, (model, _mean(printed), *means, str(len(common)), counts)))


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):+.2f}" if values else "–"
