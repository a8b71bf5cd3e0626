"""What the records say about the auto-encoders, as numbers and as something to look at."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from s2gnn.data.catalogue import entry
from s2gnn.learning.metrics import PairedComparison
from s2gnn.learning.records import Records, RecordsFolder
from s2gnn.links.metrics import HITS_AT
from s2gnn.render import Block, Cell, Table
from s2gnn.studies.budget import BUDGETS, Budget
from s2gnn.studies.links.table import LINKS, LinkRow, LinkTable
from s2gnn.studies.made_by import made_by
from s2gnn.studies.part import WHOLE, Part
from s2gnn.studies.results import LEVEL, SHOWN, KnownRuns, PlaceResult, verdict
from s2gnn.studies.view import shown_lead, shown_score

# As records name them, and as people do.
METRICS: Mapping[str, str] = MappingProxyType(
    {
        "test_roc_auc": "ROC-AUC",
        "test_average_precision": "AP",
        **{f"test_hits@{k}": f"hits@{k}" for k in HITS_AT},
    }
)


@dataclass(frozen=True)
class LinkResult:
    """The table, or a part of it, and the runs behind it, by data set and row.

    Attributes:
        table: what is shown.
        rows: of the whole table, so that ranks and leads do not depend on what is shown.
        places: the runs of all these rows.
    """

    table: LinkTable
    rows: tuple[LinkRow, ...]
    places: Mapping[tuple[str, tuple[str, str, str]], PlaceResult]

    def chosen(self, data: Sequence[str] | None = None, models: Sequence[str] | None = None) -> "LinkResult":
        """The part with these data sets and encoders, all if left out."""
        return replace(self, table=self.table.chosen(data, models))

    @property
    def shown(self) -> list[PlaceResult]:
        """The runs of every place that is shown."""
        return [self.at(data, row) for data in self.table.data for row in self.table.rows]

    def at(self, data: str, row: LinkRow, metric: str = "test_roc_auc") -> PlaceResult:
        """The runs of one place, scored by `metric`."""
        return replace(self.places[data, row.key], metric=metric)

    def lead(self, data: str, row: LinkRow, metric: str = "test_roc_auc") -> PairedComparison | None:
        """By how many points S2-GNN with the same decoder on the same graph is ahead of `row`, on common seeds.

        Of its fusions that with the best validation ROC-AUC counts. An encoder that sees no graph is compared with
        S2-GNN on the training edges.
        """
        ours = self._ours(data, row)
        if ours is None or row.model == "s2gnn":
            return None
        return self.at(data, ours, metric).lead(self.at(data, row, metric))

    def _ours(self, data: str, row: LinkRow) -> LinkRow | None:
        rows = [r for r in self.rows if (r.model, r.graph, r.decoder) == ("s2gnn", row.graph, row.decoder)]
        scores = [(score.mean, r) for r in rows if (score := self.at(data, r, "val_roc_auc").score) is not None]
        return max(scores, key=lambda found: found[0])[1] if scores else None


def link_result(table: LinkTable, records: Records, budgets: Sequence[Budget] = SHOWN) -> LinkResult:
    """The runs of every place with these budgets, of those that have no search."""
    known = KnownRuns(records.read())
    searchless = [budget for budget in budgets if not budget.trials]
    places = {}
    for data in table.data:
        for row in table.rows:
            runs = {budget.name: known.runs(table.cell(data, row, budget), budget) for budget in searchless}
            place = PlaceResult(runs, None, "test_roc_auc")
            places[data, row.key] = place.under(place.most_seeds)
    return LinkResult(table, table.rows, places)


def stored_links(folder: Path, part: Part = WHOLE) -> LinkResult:
    """The table, or the part that is to be shown, with the runs that the files of `folder` have."""
    whole = link_result(LINKS, RecordsFolder(folder, LINKS.name), part.budgets or SHOWN)
    return whole.chosen(part.data, part.models)


def links_layout(result: LinkResult) -> Table:
    """One block for each data set, one row for each auto-encoder."""
    table = result.table
    header = (
        "encoder",
        "graph",
        "decoder",
        *(f"{title} (%)" for title in METRICS.values()),
        "others printed: ROC-AUC, AP (%)",
        "S2-GNN leads, ROC-AUC (points)",
        "seeds",
        "budget",
    )
    blocks = [
        Block(f"{data}: {entry(data).title}", tuple(_line(result, data, row) for row in table.rows))
        for data in table.data
    ]
    notes = (*_verdicts(result), _legend(), _made_by(result))
    return Table(f"{table.title} ({table.paper})", header, tuple(blocks), notes)


def _verdicts(result: LinkResult) -> list[str]:
    """Of every data set with runs: where S2-GNN is ahead of the other encoders and where behind, in words."""
    found = []
    for data in result.table.data:
        leads = [(row, lead) for row in result.table.rows if (lead := result.lead(data, row)) is not None]
        if leads:
            ahead, behind = ([row for row, lead in leads if verdict(lead) == sign] for sign in (1, -1))
            counts = (
                f"ahead in {len(ahead)}{_named(ahead)}, behind in {len(behind)}{_named(behind)}, undecided in the rest"
            )
            found.append(
                f"{data}: of {len(leads)} comparisons of ROC-AUC with another encoder, with the same decoder and on "
                f"the same graph, or the given one where it sees none, S2-GNN is {counts} (p < {LEVEL:g}, not "
                "corrected for their number)."
            )
    return found


def _named(rows: Sequence[LinkRow]) -> str:
    names = (", ".join((row.title, *((row.graph,) if row.model != "mlp" else ()), row.decoder)) for row in rows)
    return f" ({'; '.join(names)})" if rows else ""


def _made_by(result: LinkResult) -> str:
    places = result.shown
    records = [record for place in places for record in place.records.values()]
    if not records:
        return f"No run yet: s2gnn study run {result.table.name}"
    seeds = {name: [len(place.records) for place in places if place.budget == name] for name in BUDGETS}
    return made_by(result.table.name, records, seeds)


def _line(result: LinkResult, data: str, row: LinkRow) -> tuple[Cell, ...]:
    place = result.at(data, row)
    scores = [Cell(shown_score(result.at(data, row, metric)), _rank(result, data, row, metric)) for metric in METRICS]
    printed = row.published.get(data)
    texts = (
        ", ".join(f"{value:.1f}" for value in printed.values()) if printed else "–",
        shown_lead(result.lead(data, row)),
        str(len(place.records)) if place.records else "–",
        place.budget or "–",
    )
    names = (row.title, "–" if row.model == "mlp" else row.graph, row.decoder)
    return (*map(Cell, names), *scores, *map(Cell, texts))


def _rank(result: LinkResult, data: str, row: LinkRow, metric: str) -> int | None:
    """1 for the best mean of a column, 2 for the second best."""
    means = {
        other.key: score.mean for other in result.rows if (score := result.at(data, other, metric).score) is not None
    }
    order = sorted(means, key=lambda key: -means[key])[:2]
    return order.index(row.key) + 1 if row.key in order else None


def _legend() -> str:
    return (
        "Held-out edges against as many pairs without an edge, the same for every model of a seed: 85 % of the edges "
        "train, 5 % choose the epoch by ROC-AUC, 10 % test. Mean over seeds ± half-width of the bootstrapped 95 % "
        "interval; the best and the second best of each column are marked. “Given” is the graph of the training edges, "
        "without weights; “diffusion” is made of these. hits@K is the share of edges above the K-th best pair without "
        "one. The lead is that of S2-GNN with the same decoder on the same graph, or on the given one where an encoder "
        "sees none, of its fusions that with the best validation ROC-AUC, with the p of its paired t-test. Others: "
        "Kipf and Welling 2016, GAE, on splits of their own. A dash is not run, or has no such number."
    )


def links_json(result: LinkResult) -> dict[str, Any]:
    """All figures of the table for a program."""
    table = result.table
    return {
        "study": table.name,
        "title": table.title,
        "paper": table.paper,
        "rows": [
            {
                "data": data,
                "encoder": row.title,
                "graph": row.graph,
                "decoder": row.decoder,
                "published": row.published.get(data),
                "budget": result.at(data, row).budget,
                "scores": {metric: _score_json(result, data, row, metric) for metric in METRICS},
            }
            for data in table.data
            for row in table.rows
        ],
    }


def _score_json(result: LinkResult, data: str, row: LinkRow, metric: str) -> dict[str, Any]:
    place, lead = result.at(data, row, metric), result.lead(data, row, metric)
    return {
        "score": asdict(place.score) if place.score else None,
        "seeds": {str(seed): value for seed, value in place.scores.items()},
        "s2gnn_leads": asdict(lead) if lead else None,
    }
