"""Sweep: the accuracy of models on k-NN graphs over one value that varies, all else held."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from s2gnn.learning.hyperparameters import PUBLISHED, Value
from s2gnn.learning.protocol import FAIR, PROTOCOLS, RELEASED, Protocol
from s2gnn.studies.budget import Budget
from s2gnn.studies.cell import Cell, make_cell
from s2gnn.studies.part import check_names
from s2gnn.studies.table import chosen_values, same_training

if TYPE_CHECKING:
    from s2gnn.studies.sweeps.results import SweepResult

# The five data sets on constructed graphs.
CONSTRUCTED = tuple(PUBLISHED)


@dataclass(frozen=True)
class Variant:
    """A model with hyperparameters of its own, as a curve beside that of the model as it is.

    Attributes:
        model: name of the model.
        changes: hyperparameters by name.
        values: the swept values that it is run at.
    """

    model: str
    changes: tuple[tuple[str, Value], ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Line:
    """One curve of every panel.

    Attributes:
        name: of the model, of the yardstick, or of the variant.
        takes: what the swept value is to it: "k" of the graph, the "share" of labelled nodes in %, or a hyperparameter;
            `None` where it plays no part, so that the line is level.
        protocol: how it is trained.
        label: for people.
        variant: of which it is the curve; `None` for a model as it is.
    """

    name: str
    takes: str | None
    protocol: Protocol
    label: str
    variant: Variant | None = None

    @property
    def model(self) -> str:
        """The name of the model or yardstick that is trained."""
        return self.name if self.variant is None else self.variant.model

    def runs_at(self, value: float) -> bool:
        """Whether the line has a point there."""
        return self.variant is None or value in self.variant.values


@dataclass(frozen=True)
class Sweep:
    """A figure: one panel for each data set, one line for each model and protocol, over the same values.

    Attributes:
        name: as on the command line.
        title: what it shows.
        paper: where in the paper.
        axis: what varies, with its unit.
        values: that it takes, in increasing order.
        models: for each model, or variant, what the value is to it, see `Line.takes`.
        printed: what the paper says about it.
        conclude: what the records say about it, in a sentence or two, or in several lines.
        data: the data sets.
        protocols: side by side, where they make a difference.
        hops: how far the network of a cell sees; `None` where that is not the question.
        logarithmic: whether the axis is.
        variants: of `models` those that are a model under another name.
    """

    name: str
    title: str
    paper: str
    axis: str
    values: tuple[float, ...]
    models: Mapping[str, str | None]
    printed: str
    conclude: Callable[["SweepResult"], str]
    data: tuple[str, ...] = CONSTRUCTED
    protocols: tuple[Protocol, ...] = (RELEASED, FAIR)
    hops: Callable[[Cell], int] | None = None
    logarithmic: bool = False
    variants: Mapping[str, Variant] = field(default_factory=dict)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The curves in their order: a model once for all protocols that train it in the same way."""
        lines = []
        for name, takes in self.models.items():
            variant = self.variants.get(name)
            model = name if variant is None else variant.model
            different = [p for p in self.protocols if self._first_alike(model, p, self.protocols) == p]
            for protocol in different:
                label = f"{name}, {protocol.name}" if len(different) > 1 else name
                lines.append(Line(name, takes, protocol, label, variant))
        return tuple(lines)

    def line(self, name: str, protocol: Protocol = FAIR) -> Line | None:
        """The curve of a model or variant under `protocol`; `None` if it was not asked for."""
        return next((x for x in self.lines if x.name == name and same_training(x.model, x.protocol, protocol)), None)

    def chosen(
        self, data: Sequence[str] | None = None, models: Sequence[str] | None = None, protocol: str | None = None
    ) -> "Sweep":
        """The part with these data sets, models and protocol, all if left out."""
        protocols = {known.name: known for known in self.protocols}
        check_names(self.name, "data set", data, self.data)
        check_names(self.name, "model", models, self.models)
        check_names(self.name, "protocol", None if protocol is None else (protocol,), protocols)
        return replace(
            self,
            data=tuple(name for name in self.data if name in (data or self.data)),
            models={name: takes for name, takes in self.models.items() if name in (models or self.models)},
            protocols=self.protocols if protocol is None else (protocols[protocol],),
        )

    def cell(self, data: str, line: Line, value: float, budget: Budget, seeds: int | None = None) -> Cell:
        """What to run for one point: a place of Table II on k-NN graphs, but for the value."""
        protocol = self._first_alike(line.model, line.protocol, tuple(PROTOCOLS.values()))
        changes: dict[str, Value] = dict(chosen_values("table2-knn", data, line.model))
        changes |= {} if line.variant is None else dict(line.variant.changes)
        if line.takes not in (None, "k", "share"):
            changes[str(line.takes)] = value
        return make_cell(
            data,
            line.model,
            replace(protocol, epochs=budget.epochs, patience=budget.patience),
            graph="knn",
            k=int(value) if line.takes == "k" else None,
            changes=changes,
            seeds=seeds or budget.seeds,
            share=value / 100 if line.takes == "share" else None,
        )

    def cells(self, budget: Budget, seeds: int | None = None) -> list[Cell]:
        """All that there is to run, each cell once."""
        points = (
            (data, line, value)
            for data in self.data
            for line in self.lines
            for value in self.values
            if line.runs_at(value)
        )
        return list({cell.config_hash: cell for cell in (self.cell(*p, budget, seeds) for p in points)}.values())

    @staticmethod
    def _first_alike(model: str, protocol: Protocol, protocols: tuple[Protocol, ...]) -> Protocol:
        return next(other for other in protocols if same_training(model, other, protocol))
