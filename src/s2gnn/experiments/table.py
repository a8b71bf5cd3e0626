"""Tables of scores: models × data sets × protocols, each cell with its published number, from a TOML configuration."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal, get_args

from s2gnn.data.catalogue import Kind, dataset_info, graph_title
from s2gnn.errors import InputError
from s2gnn.experiments.experiment import Experiment, make_experiment
from s2gnn.experiments.hyperparameters import PUBLISHED, VARIANTS, Value
from s2gnn.experiments.protocols import Budget, Protocol, named_protocol
from s2gnn.experiments.study import Selection, check_names
from s2gnn.learning.classical import CLASSICAL
from s2gnn.links import DecoderName
from s2gnn.links.metrics import HITS_AT
from s2gnn.nn import has_head

Source = Literal["published", "borrowed", "searched", "transferred", "kept", "default", "script"]

# Scores as records name them, and as people do.
METRICS: Mapping[str, str] = MappingProxyType(
    {
        "test_accuracy": "accuracy",
        "test_roc_auc": "ROC-AUC",
        "test_average_precision": "AP",
        **{f"test_hits@{k}": f"hits@{k}" for k in HITS_AT},
    }
)
OURS = "s2gnn"
CATALOG = resources.files("s2gnn.experiments") / "catalog"


@dataclass(frozen=True)
class TableCell:
    """One model on one data set and graph.

    Attributes:
        data: name of the data set.
        graph: kind of the graph.
        model: name of the model; the encoder where links are predicted.
        label: name of the row.
        decoder: of link prediction.
        paper: published score and half-width, in %.
        source: of the hyperparameters: "published" by the authors; "borrowed", published for S2-GNN on k-NN graphs and
            given to an ablation or to a learned graph; "searched" by us, or "transferred" from a search on other data;
            "kept" defaults that beat a search on validation nodes; "default" ones; or those of the paper's "script".
        values: hyperparameters that differ from `default_hyperparameters`.
        published: scores in % by metric that others published.
    """

    data: str
    graph: Kind
    model: str
    label: str
    decoder: DecoderName | None = None
    paper: tuple[float, float] | None = None
    source: Source = "default"
    values: Mapping[str, Value] = field(default_factory=dict, compare=False)
    published: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def column(self) -> "Column":
        """Where the model competes: on one graph, or on all graphs of a data set where links are predicted."""
        return Column(self.data, self.graph if self.decoder is None else None)


@dataclass(frozen=True)
class Column:
    """What models are ranked on: a data set, with one kind of graph or with several."""

    data: str
    graph: Kind | None

    @property
    def title(self) -> str:
        """Data set and graph in a few words."""
        if self.graph is None:
            return self.data
        k = dataset_info(self.data).k if self.graph in ("knn", "smooth") else None
        return f"{self.data}, {graph_title(self.graph, k)}"


@dataclass(frozen=True)
class ScoreTable:
    """A table of scores under one or several protocols.

    Attributes:
        name: as on the command line.
        title: what it shows.
        paper: where in the paper.
        protocols: side by side, the released one first.
        cells: in the order of the table, column by column.
        variant: of an ablation, the model that S2-GNN is compared with.
        metrics: the scores, the main one first.
        embedding: width of the embeddings in link prediction.
        legend: replaces the general legend.
        known: the protocols of the whole table, where a part has fewer.
    """

    name: str
    title: str
    paper: str
    protocols: tuple[Protocol, ...]
    cells: tuple[TableCell, ...]
    variant: str | None = None
    metrics: tuple[str, ...] = ("test_accuracy",)
    embedding: int = 16
    legend: str = ""
    known: tuple[Protocol, ...] = ()

    @property
    def data(self) -> tuple[str, ...]:
        """The data sets."""
        return tuple(dict.fromkeys(cell.data for cell in self.cells))

    @property
    def models(self) -> tuple[str, ...]:
        """The models."""
        return tuple(dict.fromkeys(cell.model for cell in self.cells))

    @property
    def columns(self) -> tuple[Column, ...]:
        """What models are ranked on."""
        return tuple(dict.fromkeys(cell.column for cell in self.cells))

    @property
    def folds(self) -> int | None:
        """Number of folds of a cross-validation."""
        return self.protocols[0].folds

    @property
    def links(self) -> bool:
        """Whether links are predicted."""
        return self.cells[0].decoder is not None

    @property
    def size(self) -> str:
        """Models, data sets and protocols."""
        if self.links:
            rows = {(cell.label, cell.graph, cell.decoder) for cell in self.cells}
            return f"{len(rows)} auto-encoders × {len(self.data)} data sets"
        graphs = len({cell.graph for cell in self.cells})
        kinds = f" × {graphs} kinds of graph" if graphs > 1 else ""
        runs = f"{self.folds} folds" if self.folds else f"{len(self.protocols)} protocols"
        return f"{len(self.models)} models × {len(self.data)} data sets{kinds} × {runs}"

    @property
    def without_search(self) -> str | None:
        """Why the table has no hyperparameter search, if so."""
        if self.folds:
            return "uses the same hyperparameters in all folds"
        return "has no search" if self.links else None

    def select(self, selection: Selection) -> "ScoreTable":
        """The part with the selected data sets, models and protocol."""
        protocols = {protocol.name: protocol for protocol in self.protocols}
        check_names(self.name, "data set", selection.data, self.data)
        check_names(self.name, "model", selection.models, self.models)
        check_names(self.name, "protocol", None if selection.protocol is None else (selection.protocol,), protocols)
        data, models = selection.data or self.data, selection.models or self.models
        return replace(
            self,
            cells=tuple(cell for cell in self.cells if cell.data in data and cell.model in models),
            protocols=self.protocols if selection.protocol is None else (protocols[selection.protocol],),
            known=self.known or self.protocols,
        )

    def experiment(self, cell: TableCell, protocol: Protocol, budget: Budget, seeds: int | None = None) -> Experiment:
        """What to run for one cell.

        Protocols that differ by their head alone train a model without a head in the same way; it then runs under the
        first of them. A protocol with folds takes all of them, unless the budget has one seed.
        """
        chosen = budget.limit(first_alike(cell.model, protocol, self.known or self.protocols))
        count = seeds or budget.seeds
        if chosen.folds is not None and seeds is None and count > 1:
            count = chosen.folds
        made = make_experiment(
            cell.data,
            cell.model,
            chosen,
            graph=cell.graph,
            changes=cell.values,
            seeds=count,
            decoder=cell.decoder,
            embedding=self.embedding,
        )
        heads = made.hyperparameters.model.get("heads")
        if isinstance(heads, int) and budget.max_heads is not None and heads > budget.max_heads:
            made = replace(made, hyperparameters=made.hyperparameters.with_values({"heads": budget.max_heads}))
        return made


def first_alike(model: str, protocol: Protocol, protocols: Iterable[Protocol]) -> Protocol:
    """The first of `protocols` that trains `model` as `protocol` does."""
    return next(other for other in protocols if same_training(model, other, protocol))


def same_training(model: str, first: Protocol, second: Protocol) -> bool:
    """Whether two protocols train a model in the same way: they differ by a head, and it has none."""
    headless = model in CLASSICAL or not has_head(model)
    return first == second or (headless and replace(first, name=second.name, head=second.head) == second)


def table_names() -> tuple[str, ...]:
    """The tables of the catalog."""
    return tuple(name for name, content in catalog().items() if "axis" not in content)


@cache
def catalog() -> dict[str, dict[str, Any]]:
    """The configurations of all tables and sweeps by name."""
    files = sorted(CATALOG.iterdir(), key=lambda path: path.name)
    return {
        path.name.removesuffix(".toml"): tomllib.loads(path.read_text(encoding="utf-8"))
        for path in files
        if path.name.endswith(".toml")
    }


@cache
def load_table(name: str) -> ScoreTable:
    """The table called `name`."""
    if name not in table_names():
        raise InputError(f"there is no table {name!r}: choose from {', '.join(table_names())}")
    return parse_table(name, catalog()[name])


def parse_table(name: str, content: Mapping[str, Any]) -> ScoreTable:
    """A table from its configuration, checked.

    A cell without a graph has that of the table; a row stands for a cell on each data set of the table.
    """
    protocols = tuple(named_protocol(protocol) for protocol in content["protocols"])
    given = content.get("cells", ()) or [
        {**row, "data": data, "values": {**content.get("values", {}), **row.get("values", {})}}
        for data in content["data"]
        for row in content["rows"]
    ]
    cells = tuple(_parse_cell(name, {"graph": content.get("graph"), "source": "default", **cell}) for cell in given)
    if len(set(cells)) < len(cells):
        raise InputError(f"{name} has a cell twice")
    metrics = tuple(content.get("metrics", ("test_accuracy",)))
    for metric in metrics:
        if metric not in METRICS:
            raise InputError(f"{name}: metric is {metric!r}, but it must be one of {', '.join(METRICS)}")
    if len({protocol.folds for protocol in protocols}) > 1:
        raise InputError(f"{name}: its protocols have folds or seeds, not both")
    study = ScoreTable(
        name,
        content["title"],
        content["paper"],
        protocols,
        cells,
        content.get("variant"),
        metrics,
        content.get("embedding", 16),
        content.get("legend", ""),
    )
    if study.variant is not None and set(study.models) != {OURS, study.variant}:
        models = ", ".join(study.models)
        raise InputError(f"{name}: an ablation compares s2gnn with {study.variant}, but it has the models {models}")
    return study


def _parse_cell(name: str, content: dict[str, Any]) -> TableCell:
    unknown = content.keys() - {"data", "graph", "model", "decoder", "paper", "source", "values", "published"}
    if unknown:
        raise InputError(f"{name}: a cell has the unknown entry {sorted(unknown)[0]!r}")
    paper, values, model = content.get("paper"), content.get("values", {}), content["model"]
    decoder = content.get("decoder")
    cell = TableCell(
        dataset_info(content["data"]).name,
        content["graph"],
        model,
        f"{model}, {values['fusion']} fusion" if decoder and "fusion" in values else model,
        decoder,
        None if paper is None else (float(paper[0]), float(paper[1])),
        content["source"],
        values,
        content.get("published", {}).get(content["data"], {}),
    )
    where = f"{name}, {cell.data} {cell.model}"
    for what, value, known in (("graph", cell.graph, get_args(Kind)), ("source", cell.source, get_args(Source))):
        if value not in known:
            raise InputError(f"{where}: {what} is {value!r}, but it must be one of {', '.join(known)}")
    if decoder is None and (cell.source in ("searched", "transferred")) != bool(cell.values):
        raise InputError(f"{where}: values are given exactly where they were searched")
    if cell.source in ("published", "borrowed") and (model not in (OURS, *VARIANTS) or cell.data not in PUBLISHED):
        raise InputError(f"{where}: no hyperparameters were published")
    if cell.source == "published" and (model, cell.graph) != (OURS, "knn"):
        raise InputError(f"{where}: hyperparameters were published for s2gnn on k-NN graphs only; others borrow them")
    return cell


def chosen_values(name: str, data: str, model: str) -> Mapping[str, Value]:
    """The hyperparameters of a table's cell that differ from the defaults; none where there is no such cell."""
    return next((cell.values for cell in load_table(name).cells if (cell.data, cell.model) == (data, model)), {})


@cache
def paper_scores() -> Mapping[tuple[str, str, str], tuple[float, float]]:
    """Published score and half-width in %, by data set, kind of graph and model."""
    cells = (cell for name in table_names() for cell in load_table(name).cells)
    return {(cell.data, cell.graph, cell.model): cell.paper for cell in cells if cell.paper is not None}
