"""The paper's accuracy tables as packaged configurations: every cell with the number that the paper printed."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal, get_args

from s2gnn.data.catalogue import Kind, entry, graph_title
from s2gnn.errors import InputError
from s2gnn.learning.hyperparameters import PUBLISHED, VARIANTS, Value
from s2gnn.learning.protocol import Protocol, named_protocol
from s2gnn.learning.yardsticks import YARDSTICKS
from s2gnn.nn import has_head
from s2gnn.studies.budget import Budget
from s2gnn.studies.cell import Cell, make_cell
from s2gnn.studies.part import check_names

Source = Literal["published", "borrowed", "searched", "transferred", "kept", "customary", "script"]

# The scores of a table, as records name them and as people do.
METRICS: Mapping[str, str] = MappingProxyType(
    {"test_accuracy": "accuracy", "test_roc_auc": "mean ROC-AUC over the labels"}
)

_FOLDER = resources.files("s2gnn.studies") / "tables"


@dataclass(frozen=True)
class Column:
    """What the models of a table compete on, a column of the paper's tables: a data set on one kind of graph."""

    data: str
    graph: Kind

    @property
    def title(self) -> str:
        """The data set and the graph in a few words."""
        k = entry(self.data).k if self.graph in ("knn", "smooth") else None
        return f"{self.data}, {graph_title(self.graph, k)}"


@dataclass(frozen=True)
class TableCell:
    """One data set, graph and model of a table.

    Attributes:
        data: name of the data set.
        graph: the kind of graph.
        model: name of the model.
        paper: the score and half-width that the paper printed, in %; `None` where it has none.
        source: of the hyperparameters: "published" by the authors; those published for S2-GNN on k-NN graphs and given
            to a variant of it or to a learned graph ("borrowed"); found by a search of ours ("searched"), or by one on
            another data set or graph ("transferred"); customary values that are better on validation nodes than what
            such a search found ("kept"); or values that nobody searched, "customary" ones, or on proteins those of the
            paper's "script".
        values: the hyperparameters that differ from `default_hyperparameters`.
    """

    data: str
    graph: Kind
    model: str
    paper: tuple[float, float] | None = None
    source: Source = "customary"
    values: Mapping[str, Value] = field(default_factory=dict)

    @property
    def column(self) -> Column:
        """Where the model competes."""
        return Column(self.data, self.graph)


@dataclass(frozen=True)
class AccuracyTable:
    """A table of the paper: scores of models (rows) on data sets and graphs (columns), under several protocols.

    Attributes:
        name: as on the command line.
        title: what it shows.
        paper: where in the paper.
        protocols: side by side; first the released one.
        cells: in the order of the table, column by column.
        variant: of an ablation, the model that S2-GNN is compared with, itself without one of its parts.
        metric: the score, one of `METRICS`.
    """

    name: str
    title: str
    paper: str
    protocols: tuple[Protocol, ...]
    cells: tuple[TableCell, ...]
    variant: str | None = None
    metric: str = "test_accuracy"

    @property
    def data(self) -> tuple[str, ...]:
        """The data sets in their order."""
        return tuple(dict.fromkeys(cell.data for cell in self.cells))

    @property
    def graphs(self) -> tuple[Kind, ...]:
        """The kinds of graph in their order."""
        return tuple(dict.fromkeys(cell.graph for cell in self.cells))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The data sets and graphs in their order."""
        return tuple(dict.fromkeys(cell.column for cell in self.cells))

    @property
    def models(self) -> tuple[str, ...]:
        """The models in their order."""
        return tuple(dict.fromkeys(cell.model for cell in self.cells))

    @property
    def printed(self) -> bool:
        """Whether the paper has numbers for this table."""
        return any(cell.paper for cell in self.cells)

    @property
    def folds(self) -> int | None:
        """The folds of a table that is made by cross-validation; `None` of one made by many seeds."""
        return self.protocols[0].folds

    @property
    def run(self) -> str:
        """What one run of a place is called: a seed, or a fold in a cross-validation."""
        return self.protocols[0].run

    def printed_lead(self, column: Column, other: str) -> float | None:
        """The score of S2-GNN minus that of `other` as printed, in points; `None` where the paper has not both."""
        printed = {cell.model: cell.paper for cell in self.cells if cell.column == column}
        ours, theirs = printed.get("s2gnn"), printed.get(other)
        return ours[0] - theirs[0] if ours and theirs else None

    def chosen(self, data: Sequence[str] | None = None, models: Sequence[str] | None = None) -> "AccuracyTable":
        """The part with these data sets and models, all if left out."""
        check_names(self.name, "data set", data, self.data)
        check_names(self.name, "model", models, self.models)
        kept = (
            cell for cell in self.cells if cell.data in (data or self.data) and cell.model in (models or self.models)
        )
        return replace(self, cells=tuple(kept))

    def cell(self, wanted: TableCell, protocol: Protocol, budget: Budget, seeds: int | None = None) -> Cell:
        """What to run for one place of the table.

        Protocols that differ by their head alone train a model without a head in the same way; it is then run under
        the first of them and stands in both columns. A protocol with folds takes all of them, unless the budget has one
        seed.
        """
        chosen = next(other for other in self.protocols if same_training(wanted.model, other, protocol))
        chosen = replace(chosen, epochs=budget.epochs, patience=budget.patience)
        count = seeds or budget.seeds
        if chosen.folds is not None and seeds is None and count > 1:
            count = chosen.folds  # a cross-validation has all its folds; one is enough to see that it runs
        cell = make_cell(wanted.data, wanted.model, chosen, graph=wanted.graph, changes=wanted.values, seeds=count)
        heads = cell.hyperparameters.model.get("heads")
        if isinstance(heads, int) and budget.max_heads is not None and heads > budget.max_heads:
            fewer = cell.hyperparameters.with_values({"heads": budget.max_heads})
            cell = replace(cell, hyperparameters=fewer)
        return cell


def same_training(model: str, first: Protocol, second: Protocol) -> bool:
    """Whether two protocols train a model in the same way: they differ by a head, and it has none."""
    headless = model in YARDSTICKS or not has_head(model)
    return first == second or (headless and replace(first, name=second.name, head=second.head) == second)


def table_names() -> tuple[str, ...]:
    """The tables that come with the package."""
    found = (path.name for path in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


@cache
def load_table(name: str) -> AccuracyTable:
    """The table called `name`."""
    if name not in table_names():
        raise InputError(f"there is no table {name!r}: choose from {', '.join(table_names())}")
    return parse_table(name, (_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def parse_table(name: str, text: str) -> AccuracyTable:
    """A table from its configuration in TOML, checked; a cell without a graph has that of the table."""
    content = tomllib.loads(text)
    protocols = tuple(named_protocol(protocol) for protocol in content["protocols"])
    cells = tuple(_parse_cell(name, {"graph": content.get("graph"), **cell}) for cell in content["cells"])
    places = [(cell.column, cell.model) for cell in cells]
    if len(set(places)) < len(places):
        raise InputError(f"{name} has a place twice")
    metric = content.get("metric", "test_accuracy")
    if metric not in METRICS:
        raise InputError(f"{name}: metric is {metric!r}, but it must be one of {', '.join(METRICS)}")
    table = AccuracyTable(name, content["title"], content["paper"], protocols, cells, content.get("variant"), metric)
    if len({protocol.folds for protocol in protocols}) > 1:
        raise InputError(f"{name}: its protocols have folds or seeds, not both")
    if table.variant is not None and set(table.models) != {"s2gnn", table.variant}:
        raise InputError(
            f"{name}: an ablation compares s2gnn with {table.variant}, but it has the models {', '.join(table.models)}"
        )
    return table


def _parse_cell(name: str, content: dict[str, Any]) -> TableCell:
    unknown = content.keys() - {"data", "graph", "model", "paper", "source", "values"}
    if unknown:
        raise InputError(f"{name}: a cell has the unknown entry {sorted(unknown)[0]!r}")
    paper = content.get("paper")
    cell = TableCell(
        entry(content["data"]).name,
        content["graph"],
        content["model"],
        None if paper is None else (float(paper[0]), float(paper[1])),
        content["source"],
        content.get("values", {}),
    )
    where = f"{name}, {cell.data} {cell.model}"
    for what, value, known in (("graph", cell.graph, get_args(Kind)), ("source", cell.source, get_args(Source))):
        if value not in known:
            raise InputError(f"{where}: {what} is {value!r}, but it must be one of {', '.join(known)}")
    if (cell.source in ("searched", "transferred")) != bool(cell.values):
        raise InputError(f"{where}: values are given exactly where they were searched")
    if cell.source in ("published", "borrowed") and (
        cell.model not in ("s2gnn", *VARIANTS) or cell.data not in PUBLISHED
    ):
        raise InputError(f"{where}: no hyperparameters were published")
    if cell.source == "published" and (cell.model, cell.graph) != ("s2gnn", "knn"):
        raise InputError(f"{where}: hyperparameters were published for s2gnn on k-NN graphs only; others borrow them")
    return cell


def chosen_values(name: str, data: str, model: str) -> Mapping[str, Value]:
    """The hyperparameters that a place of a table has other than by default; none where the table has no such place."""
    return next((cell.values for cell in load_table(name).cells if (cell.data, cell.model) == (data, model)), {})


@cache
def paper_scores() -> Mapping[tuple[str, str, str], tuple[float, float]]:
    """What the paper printed, score and half-width in %, by data set, kind of graph and model."""
    tables = map(load_table, table_names())
    return {
        (cell.data, cell.graph, cell.model): cell.paper
        for table in tables
        for cell in table.cells
        if cell.paper is not None
    }
