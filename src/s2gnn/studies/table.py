"""The paper's accuracy tables as packaged configurations: every cell with the number that the paper printed."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

from s2gnn.data.catalogue import Kind, entry
from s2gnn.errors import InputError
from s2gnn.learning.hyperparameters import PUBLISHED, Value
from s2gnn.learning.protocol import Protocol, named_protocol
from s2gnn.learning.yardsticks import YARDSTICKS
from s2gnn.nn.models import has_head
from s2gnn.studies.budget import Budget
from s2gnn.studies.cell import Cell, make_cell

Source = Literal["published", "searched", "transferred", "customary"]

_FOLDER = resources.files("s2gnn.studies") / "tables"


@dataclass(frozen=True)
class TableCell:
    """One data set and model of a table.

    Attributes:
        data: name of the data set.
        model: name of the model.
        paper: the accuracy and half-width that the paper printed, in %; `None` where it has none.
        source: of the hyperparameters: "published" by the authors, found by a search of ours ("searched"), by one on
            another data set or graph ("transferred"), or "customary" values that nobody searched.
        values: the hyperparameters that differ from `default_hyperparameters`.
    """

    data: str
    model: str
    paper: tuple[float, float] | None = None
    source: Source = "customary"
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class AccuracyTable:
    """A table of the paper: accuracy of models (rows) on data sets (columns), under several protocols.

    Attributes:
        name: as on the command line.
        title: what it shows.
        paper: where in the paper.
        graph: the kind of graph.
        protocols: side by side; first the released one.
        cells: in the order of the table, data set by data set.
    """

    name: str
    title: str
    paper: str
    graph: Kind
    protocols: tuple[Protocol, ...]
    cells: tuple[TableCell, ...]

    @property
    def data(self) -> tuple[str, ...]:
        """The data sets in their order."""
        return tuple(dict.fromkeys(cell.data for cell in self.cells))

    @property
    def models(self) -> tuple[str, ...]:
        """The models in their order."""
        return tuple(dict.fromkeys(cell.model for cell in self.cells))

    def chosen(self, data: Sequence[str] | None = None, models: Sequence[str] | None = None) -> "AccuracyTable":
        """The part with these data sets and models, all if left out."""
        for name, wanted, known in (("data set", data, self.data), ("model", models, self.models)):
            for value in wanted or ():
                if value not in known:
                    raise InputError(f"{self.name} has no {name} {value!r}: choose from {', '.join(known)}")
        kept = (
            cell for cell in self.cells if cell.data in (data or self.data) and cell.model in (models or self.models)
        )
        return replace(self, cells=tuple(kept))

    def cell(self, wanted: TableCell, protocol: Protocol, budget: Budget, seeds: int | None = None) -> Cell:
        """What to run for one place of the table.

        Protocols that differ by their head alone train a model without a head in the same way; it is then run under
        the first of them and stands in both columns.
        """
        chosen = next(other for other in self.protocols if same_training(wanted.model, other, protocol))
        chosen = replace(chosen, epochs=budget.epochs, patience=budget.patience)
        cell = make_cell(
            wanted.data, wanted.model, chosen, graph=self.graph, changes=wanted.values, seeds=seeds or budget.seeds
        )
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
    """A table from its configuration in TOML, checked."""
    content = tomllib.loads(text)
    if content["graph"] not in get_args(Kind):
        raise InputError(f"{name}: graph is {content['graph']!r}, but it must be one of {', '.join(get_args(Kind))}")
    protocols = tuple(named_protocol(protocol) for protocol in content["protocols"])
    cells = tuple(_parse_cell(name, cell) for cell in content["cells"])
    places = [(cell.data, cell.model) for cell in cells]
    if len(set(places)) < len(places):
        raise InputError(f"{name} has a place twice")
    return AccuracyTable(name, content["title"], content["paper"], content["graph"], protocols, cells)


def _parse_cell(name: str, content: dict[str, Any]) -> TableCell:
    unknown = content.keys() - {"data", "model", "paper", "source", "values"}
    if unknown:
        raise InputError(f"{name}: a cell has the unknown entry {sorted(unknown)[0]!r}")
    paper = content.get("paper")
    cell = TableCell(
        entry(content["data"]).name,
        content["model"],
        None if paper is None else (float(paper[0]), float(paper[1])),
        content["source"],
        content.get("values", {}),
    )
    where = f"{name}, {cell.data} {cell.model}"
    if cell.source not in get_args(Source):
        raise InputError(f"{where}: source is {cell.source!r}, but it must be one of {', '.join(get_args(Source))}")
    if (cell.source in ("searched", "transferred")) != bool(cell.values):
        raise InputError(f"{where}: values are given exactly where they were searched")
    if cell.source == "published" and (cell.model != "s2gnn" or cell.data not in PUBLISHED):
        raise InputError(f"{where}: no hyperparameters were published")
    return cell


def chosen_values(name: str, data: str, model: str) -> Mapping[str, Value]:
    """The hyperparameters that a place of a table has other than by default; none where the table has no such place."""
    return next((cell.values for cell in load_table(name).cells if (cell.data, cell.model) == (data, model)), {})


@cache
def paper_scores() -> Mapping[tuple[str, str, str], tuple[float, float]]:
    """What the paper printed, accuracy and half-width in %, by data set, kind of graph and model."""
    tables = map(load_table, table_names())
    return {
        (cell.data, table.graph, cell.model): cell.paper
        for table in tables
        for cell in table.cells
        if cell.paper is not None
    }
