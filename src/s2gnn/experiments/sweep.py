"""Sweeps: the accuracy of models on k-NN graphs over one value, from a TOML configuration, and their results."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from s2gnn.experiments.compare import DASH, KnownRuns, Runs, counted, made_by, span
from s2gnn.experiments.experiment import Experiment, make_experiment
from s2gnn.experiments.hyperparameters import PUBLISHED, Value
from s2gnn.experiments.protocols import FAIR, PROTOCOLS, Budget, Protocol, named_protocol
from s2gnn.experiments.records import Records, RecordsFolder
from s2gnn.experiments.study import ALL, SHOWN, Selection, TrainedStudy, check_names, usable_budgets
from s2gnn.experiments.table import catalog, chosen_values, first_alike, paper_scores, same_training
from s2gnn.files import write_atomically
from s2gnn.pictures import picture
from s2gnn.render import Block, Cell, Table

# A sweep has no search.
DRAWN = tuple(budget for budget in SHOWN if not budget.trials)


@dataclass(frozen=True)
class Line:
    """One curve of every panel.

    Attributes:
        name: of the model or of its variant.
        model: that is trained.
        takes: what the swept value is: "k" of the graph, the "share" of labelled nodes in %, or a hyperparameter;
            `None` where it has no effect, so that the line is level.
        protocol: how the model is trained.
        label: for people.
        changes: hyperparameters of a variant.
        values: at which a variant runs; `None` for all.
    """

    name: str
    model: str
    takes: str | None
    protocol: Protocol
    label: str
    changes: tuple[tuple[str, Value], ...] = ()
    values: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Sweep:
    """A figure with one panel for each data set and one line for each model and protocol, over the same values.

    Attributes:
        name: as on the command line.
        title: what it shows.
        paper: where in the paper.
        axis: what varies, with its unit.
        values: in increasing order.
        models: by model or variant what the value is, see `Line.takes`.
        printed: the statement of the paper.
        finding: name of the conclusion, see `sweep_findings`.
        data: the data sets.
        protocols: side by side, where they make a difference.
        variants: models under another name: `model`, its `changes` and the `values` at which it runs.
        logarithmic: whether the axis is.
        hops: whether to show how far a network sees.
    """

    name: str
    title: str
    paper: str
    axis: str
    values: tuple[float, ...]
    models: Mapping[str, str]
    printed: str
    finding: str
    data: tuple[str, ...] = tuple(PUBLISHED)
    protocols: tuple[Protocol, ...] = (PROTOCOLS["released"], FAIR)
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    logarithmic: bool = False
    hops: bool = False

    @property
    def lines(self) -> tuple[Line, ...]:
        """The curves: a model once for all protocols that train it in the same way."""
        lines = []
        for name, takes in self.models.items():
            variant = self.variants.get(name, {})
            model = variant.get("model", name)
            values = tuple(variant["values"]) if variant else None
            different = [p for p in self.protocols if first_alike(model, p, self.protocols) == p]
            for protocol in different:
                label = f"{name}, {protocol.name}" if len(different) > 1 else name
                changes = tuple(variant.get("changes", {}).items())
                lines.append(Line(name, model, takes or None, protocol, label, changes, values))
        return tuple(lines)

    def line(self, name: str, protocol: Protocol = FAIR) -> Line | None:
        """The curve of a model or variant under `protocol`; `None` if it is not selected."""
        return next((x for x in self.lines if x.name == name and same_training(x.model, x.protocol, protocol)), None)

    def select(self, selection: Selection) -> "Sweep":
        """The part with the selected data sets, models and protocol."""
        protocols = {known.name: known for known in self.protocols}
        check_names(self.name, "data set", selection.data, self.data)
        check_names(self.name, "model", selection.models, self.models)
        check_names(self.name, "protocol", None if selection.protocol is None else (selection.protocol,), protocols)
        models = selection.models or self.models
        return replace(
            self,
            data=tuple(name for name in self.data if name in (selection.data or self.data)),
            models={name: takes for name, takes in self.models.items() if name in models},
            protocols=self.protocols if selection.protocol is None else (protocols[selection.protocol],),
        )

    def experiment(self, data: str, line: Line, value: float, budget: Budget, seeds: int | None = None) -> Experiment:
        """What to run for one point: a cell of Table II on k-NN graphs, but for the value."""
        protocol = first_alike(line.model, line.protocol, PROTOCOLS.values())
        changes = {**chosen_values("table2-knn", data, line.model), **dict(line.changes)}
        if line.takes not in (None, "k", "share"):
            changes[str(line.takes)] = value
        return make_experiment(
            data,
            line.model,
            budget.limit(protocol),
            graph="knn",
            k=int(value) if line.takes == "k" else None,
            changes=changes,
            seeds=seeds or budget.seeds,
            share=value / 100 if line.takes == "share" else None,
        )


@dataclass(frozen=True)
class Panel:
    """The curves of one data set, all from runs of one budget.

    Attributes:
        data: name of the data set.
        budget: of the runs.
        points: runs by line and value; empty ones included.
    """

    data: str
    budget: Budget
    points: Mapping[tuple[Line, float], Runs]

    def curve(self, line: Line) -> dict[float, float]:
        """The mean accuracy of a line by value, where there are runs."""
        return {
            value: runs.mean for (other, value), runs in self.points.items() if other == line and runs.mean is not None
        }

    @property
    def coverage(self) -> tuple[int, int]:
        """The number of points with runs, and of runs."""
        sizes = list(map(len, self.points.values()))
        return sum(size > 0 for size in sizes), sum(sizes)

    @property
    def has_curve(self) -> bool:
        """Whether a line that varies has runs at two values or more."""
        return any(len(self.curve(line)) > 1 for line, _ in self.points if line.takes is not None)


@dataclass(frozen=True)
class SweepResult:
    """A sweep and its panels, those that have a curve."""

    sweep: Sweep
    panels: tuple[Panel, ...]

    def runs_title(self, panels: Sequence[Panel] | None = None) -> str:
        """The budget and the number of seeds behind panels, in a few words."""
        shown = self.panels if panels is None else panels
        budgets = dict.fromkeys(panel.budget.name for panel in shown)
        counts = [len(runs) for panel in shown for runs in panel.points.values() if runs.records]
        return f"{' and '.join(budgets)}, {counted(counts)}"


def sweep_result(sweep: Sweep, records: Records, budgets: Sequence[Budget] = DRAWN) -> SweepResult:
    """The runs of every point of `sweep`.

    A panel shows one budget, that with runs at the most points, then with the most runs, then the most thorough; and of
    its seeds those that most of its points have. So points of a curve differ by their value only, even where another
    study has more runs of some.
    """
    known = KnownRuns(records.read())
    found = []
    for data in sweep.data:
        best = max((_panel(sweep, data, budget, known) for budget in reversed(budgets)), key=lambda p: p.coverage)
        if best.has_curve:
            found.append(best)
    return SweepResult(sweep, tuple(found))


def _panel(sweep: Sweep, data: str, budget: Budget, known: KnownRuns) -> Panel:
    points = {
        (line, value): known.of(sweep.experiment(data, line, value, budget))
        for line in sweep.lines
        for value in sweep.values
    }
    filled = [runs.records for runs in points.values() if runs.records]
    counts = Counter(seed for records in filled for seed in records)
    common = {seed for seed, count in counts.items() if 2 * count > len(filled)}
    return Panel(
        data,
        budget,
        {
            place: Runs({seed: record for seed, record in runs.records.items() if seed in common})
            for place, runs in points.items()
        },
    )


class SweepStudy(TrainedStudy):
    """A sweep as a study; `conclude` summarizes its results in a few sentences."""

    def __init__(self, sweep: Sweep, conclude: Callable[[SweepResult], str]) -> None:
        super().__init__(sweep.name, sweep.title, sweep.paper, "varies one hyperparameter and keeps the others")
        self.sweep = sweep
        self._conclude = conclude

    @property
    def size(self) -> str:
        """Lines, values and data sets."""
        sweep = self.sweep
        lines = "1 line" if len(sweep.lines) == 1 else f"{len(sweep.lines)} lines"
        return f"{lines} × {len(sweep.values)} values × {len(sweep.data)} data sets, a picture"

    def experiments(self, selection: Selection, budget: Budget, seeds: int | None = None) -> list[Experiment]:
        """All experiments of the selection."""
        sweep = self.sweep.select(selection)
        return [
            sweep.experiment(data, line, value, budget, seeds)
            for data in sweep.data
            for line in sweep.lines
            for value in line.values or sweep.values
        ]

    def result(self, folder: Path, selection: Selection = ALL) -> SweepResult:
        """The runs that the files of `folder` have; none before the first run of this study."""
        sweep, records = self.sweep.select(selection), RecordsFolder(folder, self.name)
        budgets = usable_budgets(self.name, selection, self.without_search)
        return sweep_result(sweep, records, budgets) if records.path.is_file() else SweepResult(sweep, ())

    def table(self, folder: Path, selection: Selection = ALL) -> Table:
        """The results as a table."""
        return self._table(self.result(folder, selection))

    def json(self, folder: Path, selection: Selection = ALL) -> dict[str, Any]:
        """All figures for programs."""
        return self._json(self.result(folder, selection))

    def draw(self, folder: Path, budget: Budget) -> tuple[str, ...]:
        """Write NAME.csv, NAME.png and NAME.svg of all runs; before any is shown, of the runs of `budget`."""
        from s2gnn.experiments.sweep_figure import draw_curves

        records = RecordsFolder(folder, self.name)
        results = (sweep_result(self.sweep, records, budgets) for budgets in (DRAWN, [budget]))
        result = next((found for found in results if found.panels), None)
        if result is None:
            return ()
        figure = draw_curves(result)
        rows = pd.DataFrame([row for row, _ in _points(result)])
        files = {"csv": rows.to_csv(index=False).encode(), **{f: picture(figure, f) for f in ("png", "svg")}}
        for suffix, content in files.items():
            write_atomically(folder / f"{self.name}.{suffix}", content)
        return tuple(files)

    def _table(self, result: SweepResult) -> Table:
        """One row for each value: a column for each data set where there is one line, else a block for each."""
        sweep, lines = result.sweep, result.sweep.lines
        title = f"{sweep.title} ({sweep.paper})"
        if not result.panels:
            return Table(title, ("",), (), (f"No records yet: s2gnn study run {sweep.name}",))
        if len(lines) == 1:
            names = [panel.data for panel in result.panels]
            heading = f"Accuracy of {lines[0].label} (%), {result.runs_title()}"
            blocks = [Block(heading, _rows(result, [(panel, lines[0]) for panel in result.panels], axis=0))]
        else:
            names = [line.label for line in lines]
            blocks = [
                Block(
                    f"Accuracy on {panel.data} (%), {result.runs_title([panel])}",
                    _rows(result, [(panel, line) for line in lines], axis=1),
                )
                for panel in result.panels
            ]
        printed = f"The paper: {sweep.printed} {_table2(result)}"
        shown = [(panel.budget.name, runs) for panel in result.panels for runs in panel.points.values()]
        notes = (_legend(result), printed, *self._conclude(result).splitlines(), made_by(sweep.name, shown))
        return Table(title, (sweep.axis, *names), tuple(blocks), notes)

    def _json(self, result: SweepResult) -> dict[str, Any]:
        sweep = result.sweep
        return {
            "study": sweep.name,
            "title": sweep.title,
            "paper": sweep.paper,
            "axis": sweep.axis,
            "values": sweep.values,
            "printed": sweep.printed,
            "finding": self._conclude(result) if result.panels else None,
            "points": [
                {**row, "accuracies": {str(seed): score for seed, score in runs.scores.items()}}
                for row, runs in _points(result)
            ],
        }


def _rows(result: SweepResult, columns: Sequence[tuple[Panel, Line]], axis: int) -> tuple[tuple[Cell, ...], ...]:
    """Cells by value and column; the best along `axis` is marked."""
    values = result.sweep.values
    means = np.array([[panel.points[line, value].mean for panel, line in columns] for value in values], dtype=float)
    best = means == np.fmax.reduce(means, axis=axis, keepdims=True)
    return tuple(
        (
            Cell(f"{value:g}"),
            *(
                Cell(_text(result, panel, line, value), 1 if mark else None)
                for (panel, line), mark in zip(columns, marks, strict=True)
            ),
        )
        for value, marks in zip(values, best, strict=True)
    )


def _text(result: SweepResult, panel: Panel, line: Line, value: float) -> str:
    runs = panel.points[line, value]
    if runs.mean is None:
        return DASH
    deviation = runs.deviation()
    score = f"{runs.mean:.2f}" if deviation is None else f"{runs.mean:.2f} ± {deviation:.2f}"
    if epsilon := runs.values("epsilon"):
        return f"{score} [ε {span(epsilon, '.2f')}]"
    return f"{score} [{_hops(result, panel, line, value)}]" if result.sweep.hops else score


def _hops(result: SweepResult, panel: Panel, line: Line, value: float) -> int:
    """How many edges away features can be that an output depends on."""
    experiment = result.sweep.experiment(panel.data, line, value, panel.budget)
    chosen = {name: int(given) for name, given in experiment.hyperparameters.model.items() if isinstance(given, int)}
    if experiment.model == "sign":
        return chosen["powers"]  # all in its first layer
    widths = {"s2gnn": 1, "regular-sobolev": chosen.get("alpha", 0), "cheby": chosen.get("K", 1) - 1}
    return chosen["num_layers"] * widths[experiment.model]


def _legend(result: SweepResult) -> str:
    brackets = "; in brackets the hops that the network sees" if result.sweep.hops else ""
    if any(runs.values("epsilon") for panel in result.panels for runs in panel.points.values()):
        brackets = "; in brackets the smallest and the largest learned ε"
    along = "row" if len(result.sweep.lines) > 1 else "column"
    return (
        f"Test accuracy on k-NN graphs, mean ± standard deviation over seeds{brackets}. The best of each {along} is "
        "marked; a dash means not run."
    )


def _table2(result: SweepResult) -> str:
    printed = ((panel.data, paper_scores().get((panel.data, "knn", "s2gnn"))) for panel in result.panels)
    scores = ", ".join(f"{data} {score[0]:.2f}" for data, score in printed if score)
    return f"Its Table II has S2-GNN, with searched hyperparameters, at {scores}."


def _points(result: SweepResult) -> Iterator[tuple[dict[str, Any], Runs]]:
    """Every point that has runs, as a row of numbers with accuracies in %."""
    sweep = result.sweep
    for panel in result.panels:
        for (line, value), runs in panel.points.items():
            if runs.score is None:
                continue
            alike = (p.name for p in sweep.protocols if same_training(line.model, line.protocol, p))
            row: dict[str, Any] = {
                "data": panel.data,
                "model": line.name,
                "protocol": "/".join(alike),
                "value": value,
                **({"hops": _hops(result, panel, line, value)} if sweep.hops else {}),
                "mean": runs.score.mean,
                "deviation": runs.deviation(),
                "half_width": runs.score.half_width,
                "seeds": runs.score.n,
                "budget": panel.budget.name,
            }
            if sweep.variants:
                epsilon = runs.values("epsilon")
                row["learned_epsilon"] = float(np.mean(epsilon)) if epsilon else None
            yield row, runs


@cache
def load_sweep(name: str) -> Sweep:
    """The sweep called `name`."""
    content = dict(catalog()[name])
    if "protocols" in content:
        content["protocols"] = tuple(map(named_protocol, content["protocols"]))
    for key in ("values", "data"):
        if key in content:
            content[key] = tuple(content[key])
    return Sweep(name, **content)


def sweep_names() -> tuple[str, ...]:
    """The sweeps of the catalog."""
    return tuple(name for name, content in catalog().items() if "axis" in content)
