"""Base classes of studies: name, selection, and results as a table and as JSON."""

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self

from s2gnn.data.catalogue import Kind
from s2gnn.errors import InputError, unknown_name
from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.compare import KnownRuns, Runs
from s2gnn.experiments.experiment import Experiment, make_experiment
from s2gnn.experiments.hyperparameters import Value
from s2gnn.experiments.protocols import BUDGETS, Budget, Protocol
from s2gnn.experiments.records import RecordsFolder
from s2gnn.learning.classical import CLASSICAL
from s2gnn.links import DecoderName
from s2gnn.nn import has_head
from s2gnn.render import Table

Source = Literal["published", "borrowed", "searched", "transferred", "kept", "default", "script"]

CATALOG = resources.files("s2gnn.experiments") / "catalog"
# The budgets whose runs are shown; smoke only checks that things run.
SHOWN = tuple(budget for name, budget in BUDGETS.items() if name != "smoke")


@cache
def catalog() -> dict[str, dict[str, Any]]:
    """Return the configurations of all tables and sweeps by name."""
    files = sorted(CATALOG.iterdir(), key=lambda path: path.name)
    return {
        path.name.removesuffix(".toml"): tomllib.loads(path.read_text(encoding="utf-8"))
        for path in files
        if path.name.endswith(".toml")
    }


@dataclass(frozen=True)
class Selection:
    """The selected part of a study; `None` selects everything, or for `seeds` those of the budget."""

    data: Sequence[str] | None = None
    models: Sequence[str] | None = None
    protocol: str | None = None
    budgets: Sequence[Budget] | None = None
    seeds: int | None = None

    @property
    def options(self) -> str:
        """The same part on the command line, but for its budget."""
        lists = {"data": self.data, "models": self.models}
        given = {name: ",".join(names) for name, names in lists.items() if names}
        given |= {"protocol": self.protocol} if self.protocol else {}
        given |= {"seeds": str(self.seeds)} if self.seeds else {}
        return "".join(f" --{name} {value}" for name, value in given.items())


ALL = Selection()


class Study(ABC):
    """A table or figure, with everything needed to reproduce it.

    Attributes:
        name: name on the command line.
        title: title of the table or figure.
        paper: where in the paper.
    """

    name: str
    title: str
    paper: str

    @property
    @abstractmethod
    def size(self) -> str:
        """The extent of the study in a few words."""

    @abstractmethod
    def table(self, folder: Path, selection: Selection = ALL) -> Table:
        """Return the stored results in `folder` as a table."""

    @abstractmethod
    def json(self, folder: Path, selection: Selection = ALL) -> dict[str, Any]:
        """Return all figures of the stored results, for programs."""

    def redraw(self, folder: Path) -> tuple[str, ...]:
        """Draw the pictures of the stored results in `folder` again, if there are any; their names."""
        del folder
        return ()


class Result(ABC):
    """The stored runs of a study."""

    @property
    @abstractmethod
    def has_runs(self) -> bool:
        """Whether there is anything to show."""

    @abstractmethod
    def table(self) -> Table:
        """Return the result as a table."""

    @abstractmethod
    def json(self) -> dict[str, Any]:
        """Return all figures, for programs."""


@dataclass(frozen=True, eq=False)
class StudyCell:
    """A model on a data set and graph, which is trained under every protocol of its study.

    Attributes:
        data: name of the data set.
        graph: kind of the graph.
        model: name of the model; the encoder where links are predicted.
        values: hyperparameters that differ from `default_hyperparameters`.
        source: of the hyperparameters: "published" by the authors; "borrowed", published for S2-GNN on k-NN graphs and
            given to an ablation or to a learned graph; "searched" by us, or "transferred" from a search on other data;
            "kept" defaults that beat a search on validation nodes; "default" ones; or those of the paper's "script".
        paper: score and half-width in the paper, in %.
        published: scores in % by metric that others published.
        decoder: of link prediction.
        variant: name of a model with other `values`, where a study has both.
        swept: the value at which a sweep has this cell.
        k: number of neighbours; `None` for the paper's.
        share: of labelled nodes; `None` for the paper's.
    """

    data: str
    graph: Kind
    model: str
    values: Mapping[str, Value] = field(default_factory=dict)
    source: Source = "default"
    paper: tuple[float, float] | None = None
    published: Mapping[str, float] = field(default_factory=dict)
    decoder: DecoderName | None = None
    variant: str | None = None
    swept: float = 0.0
    k: int | None = None
    share: float | None = None

    @property
    def name(self) -> str:
        """Of the model or its variant, as it is selected."""
        return self.variant or self.model

    @property
    def label(self) -> str:
        """The name; with the fusion, where a model is compared with several."""
        return f"{self.name}, {self.values['fusion']} fusion" if self.decoder and "fusion" in self.values else self.name

    @property
    def title(self) -> str:
        """The label for people."""
        return ", ".join(map(display_name, self.label.split(", ")))


@dataclass(frozen=True, kw_only=True)
class TrainedStudy(Study):
    """A study whose runs are trained one by one and stored as records.

    Attributes:
        cells: in the order of the table or figure.
        protocols: side by side, the released one first.
        alike: a model is trained under the first of these that does the same as the protocol.
        without_search: why the study has no hyperparameter search; `None` where it may have one.
        searched_on: for a data set or a kind of graph, the data set or kind of graph that its searches are run on, for
            all models alike: {"smooth": {"graph": "knn"}} tests on learned graphs what is found on k-NN graphs.
        metrics: the scores, the main one first.
        embedding: width of the embeddings in link prediction.
    """

    name: str
    title: str
    paper: str
    cells: tuple[StudyCell, ...]
    protocols: tuple[Protocol, ...]
    alike: tuple[Protocol, ...]
    without_search: str | None = None
    searched_on: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    metrics: tuple[str, ...] = ("test_accuracy",)
    embedding: int = 16

    @property
    def data(self) -> tuple[str, ...]:
        """The data sets."""
        return tuple(dict.fromkeys(cell.data for cell in self.cells))

    @property
    def models(self) -> tuple[str, ...]:
        """The models and variants."""
        return tuple(dict.fromkeys(cell.name for cell in self.cells))

    def select(self, selection: Selection) -> Self:
        """Return the part with the selected data sets, models and protocol."""
        known = {protocol.name: protocol for protocol in self.protocols}
        check_names(self.name, "data set", selection.data, self.data)
        check_names(self.name, "model", selection.models, self.models)
        check_names(self.name, "protocol", (selection.protocol,) if selection.protocol else None, known)
        data, models = selection.data or self.data, selection.models or self.models
        return replace(
            self,
            cells=tuple(cell for cell in self.cells if cell.data in data and cell.name in models),
            protocols=(known[selection.protocol],) if selection.protocol else self.protocols,
        )

    def trained_as(self, model: str, protocol: Protocol) -> Protocol:
        """Return the first protocol that trains `model` as `protocol` does."""
        return next(other for other in self.alike if same_training(model, other, protocol))

    def experiment(self, cell: StudyCell, protocol: Protocol, budget: Budget, seeds: int | None = None) -> Experiment:
        """Return the experiment of a cell; a protocol with folds runs all of them, unless the budget has one seed."""
        chosen = budget.limit(self.trained_as(cell.model, protocol))
        made = make_experiment(
            cell.data,
            cell.model,
            chosen,
            graph=cell.graph,
            k=cell.k,
            changes={} if budget.rungs else cell.values,
            seeds=seeds or (chosen.folds if chosen.folds and budget.seeds > 1 else budget.seeds),
            share=cell.share,
            decoder=cell.decoder,
            embedding=self.embedding,
        )
        heads = made.hyperparameters.model.get("heads")
        if isinstance(heads, int) and budget.max_heads is not None and heads > budget.max_heads:
            made = replace(made, hyperparameters=made.hyperparameters.with_values({"heads": budget.max_heads}))
        return made

    def experiments(self, selection: Selection, budget: Budget) -> list[Experiment]:
        """Return all experiments of the selection."""
        part = self.select(selection)
        return [
            part.experiment(cell, protocol, budget, selection.seeds)
            for cell in part.cells
            for protocol in part.protocols
        ]

    def search_cell(self, cell: StudyCell) -> StudyCell:
        """Return the cell on which the hyperparameters of a cell are searched."""
        changes = self.searched_on.get(cell.data, self.searched_on.get(cell.graph, {}))
        return replace(cell, **changes) if changes else cell

    def searches(self, selection: Selection, budget: Budget) -> dict[str, Experiment]:
        """Return the experiments on whose searches others of the selection rely, by the keys of those others."""
        if not (budget.rungs and self.searched_on):
            return {}
        part = self.select(selection)
        searched = replace(part, cells=tuple(map(self.search_cell, part.cells)))
        pairs = zip(*(each.experiments(ALL, budget) for each in (part, searched)), strict=True)
        return {wanted.key: on for wanted, on in pairs if on != wanted}

    def budgets(self, selection: Selection) -> list[Budget]:
        """Return the selected budgets, by default all shown, except those that search where there is no search."""
        found = [budget for budget in selection.budgets or SHOWN if not (budget.rungs and self.without_search)]
        if not found:
            known = ", ".join(budget.name for budget in BUDGETS.values() if not budget.rungs)
            raise InputError(
                f"{self.name} {self.without_search}, so it has no runs of a budget with a search: choose from {known}"
            )
        return found

    def runs(self, folder: Path, budgets: Iterable[Budget]) -> dict[tuple[StudyCell, str], dict[str, Runs]]:
        """Return the runs that the files of `folder` have, by cell and protocol, then by budget."""
        known = KnownRuns(RecordsFolder(folder, self.name).read())
        found: dict[tuple[StudyCell, str], dict[str, Runs]] = {}
        for cell in self.cells:
            for protocol in self.protocols:
                alike = next((p for p in self.protocols if same_training(cell.model, p, protocol)), protocol)
                found[cell, protocol.name] = found.get((cell, alike.name)) or {
                    budget.name: known.of(self.experiment(cell, protocol, budget), budget, self.metrics[0])
                    for budget in budgets
                }
        return found

    @abstractmethod
    def result(self, folder: Path, selection: Selection = ALL) -> Result:
        """Return the selected part with the runs that the files of `folder` have."""

    def table(self, folder: Path, selection: Selection = ALL) -> Table:
        """Return the results as a table; where there are none but smoke runs, a note says so."""
        result = self.result(folder, selection)
        table, smoke = result.table(), replace(selection, budgets=[BUDGETS["smoke"]])
        if result.has_runs or selection.budgets or not self.result(folder, smoke).has_runs:
            return table
        note = f"The only runs are smoke runs: s2gnn study show {self.name}{selection.options} --budget smoke"
        return replace(table, notes=(*table.notes, note))

    def json(self, folder: Path, selection: Selection = ALL) -> dict[str, Any]:
        """Return all figures for programs."""
        return self.result(folder, selection).json()

    def draw(self, folder: Path, budget: Budget) -> tuple[str, ...]:
        """Write the pictures of the records, if the study has any; the suffixes of the files."""
        del folder, budget
        return ()


def same_training(model: str, first: Protocol, second: Protocol) -> bool:
    """Return whether two protocols train a model in the same way: they differ by a head, and it has none."""
    headless = model in CLASSICAL or not has_head(model)
    return first == second or (headless and replace(first, name=second.name, head=second.head) == second)


def check_names(study: str, kind: str, wanted: Iterable[str] | None, known: Collection[str]) -> None:
    """Raise unless the study has every wanted name of a `kind`, such as "data set"."""
    for name in wanted or ():
        if name not in known:
            raise unknown_name(f"{study} has no {kind}", name, known)
