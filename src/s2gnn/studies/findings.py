"""The tables in short: accuracies on equal terms, and what these change about the paper's conclusions."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from s2gnn.layout import Block, Entry, Layout, rendered
from s2gnn.studies.registry import stored_table
from s2gnn.studies.results import LEVEL, TableResult, verdict
from s2gnn.studies.table import table_names

FINDINGS = "findings"
HEADLINE = "headline"
_HEADLINE_TABLES = ("table2-knn", "table3")
_HEADLINE_MODELS = ("s2gnn", "mlp", "gcn", "sgc", "sign", "cheby")


def findings(folder: Path) -> str:
    """Of every accuracy table, in Markdown: where S2-GNN is first, and by how much it leads each other model."""
    results = [stored_table(name, folder) for name in table_names()]
    return "\n".join(f"{_first_places(result)}\n\n{rendered(_leads(result), 'markdown')}" for result in results)


def headline(folder: Path) -> str:
    """One small table in Markdown: the models that all data sets have, under the fair protocols."""
    results = [stored_table(name, folder) for name in _HEADLINE_TABLES]
    places = [(result, data) for result in results for data in result.table.data]
    rows = tuple((Entry(model), *(_accuracy(*place, model) for place in places)) for model in _HEADLINE_MODELS)
    header = ("accuracy (%)", *(data for _, data in places))
    seeds = [len(place.records) for result in results for place in result.places.values() if place.records]
    count = f"{_span(seeds)} seeds" if seeds else "no seed yet"
    commits = dict.fromkeys(commit for result in results for commit in result.commits)
    note = f"`s2gnn study run table2-knn` and `table3`, {count}, commits {', '.join(commits) or '–'}."
    return rendered(Layout("", header, (Block("", rows),), (note,)), "markdown")


def _accuracy(result: TableResult, data: str, model: str) -> Entry:
    fair = result.table.protocols[-1]
    place = result.places.get((data, model, fair.name))
    if place is None or place.score is None:
        return Entry("–")
    return Entry(f"{place.score.mean:.1f}", 1 if result.ranking(data, fair)[0] == model else None)


def _first_places(result: TableResult) -> str:
    table = result.table
    rankings = {data: [result.ranking(data, protocol) for protocol in table.protocols] for data in table.data}
    measured = {
        data: found
        for data, found in rankings.items()
        if all("s2gnn" in ranking and len(ranking) > 1 for ranking in found)
    }
    if not measured:
        return f"{table.title}: S2-GNN and others have not been run yet."
    counts = [
        f"`{protocol.name}` {sum(found[position][0] == 's2gnn' for found in measured.values())}"
        for position, protocol in enumerate(table.protocols)
    ]
    printed = sum(_first_in_paper(result, data) for data in measured)
    models = [len(ranking) for found in measured.values() for ranking in found]
    return (
        f"{table.title}: on {len(measured)} data sets ({', '.join(measured)}) S2-GNN is the first of the "
        f"{_span(models)} models run, by the mean over all seeds: "
        f"{', '.join(counts)} times; in the paper {printed} times, where there is no MLP."
    )


def _span(counts: Sequence[int]) -> str:
    return " to ".join(map(str, dict.fromkeys((min(counts), max(counts)))))


def _first_in_paper(result: TableResult, data: str) -> bool:
    scores = {cell.model: cell.paper[0] for cell in result.table.cells if cell.data == data and cell.paper}
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
    leads = {data: [result.lead(data, protocol, model) for protocol in table.protocols] for data in table.data}
    common = {data: [lead for lead in found if lead] for data, found in leads.items() if all(found)}
    paper = {(cell.data, cell.model): cell.paper for cell in table.cells}
    printed = [
        ours[0] - theirs[0]
        for data in common
        if (ours := paper.get((data, "s2gnn"))) and (theirs := paper.get((data, model)))
    ]
    means = [_mean([found[position].mean_difference for found in common.values()]) for position in range(2)]
    verdicts = [verdict(found[-1]) for found in common.values()]
    counts = " / ".join(str(verdicts.count(sign)) for sign in (1, 0, -1)) if verdicts else "–"
    return tuple(map(Entry, (model, _mean(printed), *means, str(len(common)), counts)))


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):+.2f}" if values else "–"
