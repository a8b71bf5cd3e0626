"""Sweeps: the accuracy of models on k-NN graphs over one value, from a TOML configuration, and their results."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.compare import DASH, Runs, counted, made_by, span
from s2gnn.experiments.hyperparameters import PUBLISHED, Value
from s2gnn.experiments.protocols import BUDGETS, FAIR, PROTOCOLS, Budget, Protocol, named_protocol
from s2gnn.experiments.records import RecordsFolder
from s2gnn.experiments.study import ALL, Result, Selection, StudyCell, TrainedStudy, same_training
from s2gnn.experiments.table import chosen_values, paper_scores
from s2gnn.files import write_atomically
from s2gnn.pictures import FORMS, save_figure
from s2gnn.render import Block, Cell, Table


class Line(NamedTuple):
    """One curve of every panel.

    Attributes:
        name: of the model or of its variant.
        model: that is trained.
        protocol: how the model is trained.
        label: for people.
        level: whether the swept value has no effect.
    """

    name: str
    model: str
    protocol: Protocol
    label: str
    level: bool


@dataclass(frozen=True, kw_only=True)
class SweepStudy(TrainedStudy):
    """A figure with one panel for each data set and one line for each model and protocol, over the same values.

    Attributes:
        axis: what varies, with its unit.
        values: in increasing order.
        takes: by model or variant what the value is: "k" of the graph, the "share" of labelled nodes in %, or a
            hyperparameter; empty where it has no effect, so that the line is level.
        printed: the statement of the paper.
        conclude: summarizes the results in a few sentences, see `sweep_findings`.
        logarithmic: whether the axis is.
        hops: whether to show how far a network sees.
        labels: by model or variant, where its line is not called by the name of the model.
        close_up: the picture has a second panel where lines are further apart than this number of points, which shows
            those that are as close to the first model's; `None` for none.
    """

    axis: str
    values: tuple[float, ...]
    takes: Mapping[str, str]
    printed: str
    conclude: Callable[["SweepResult"], str]
    logarithmic: bool = False
    hops: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    close_up: float | None = None

    @property
    def lines(self) -> tuple[Line, ...]:
        """The curves: a model once for all protocols that train it in the same way."""
        lines = []
        for name, model in {cell.name: cell.model for cell in self.cells}.items():
            first = {self.trained_as(model, protocol): protocol for protocol in reversed(self.protocols)}
            different = [protocol for protocol in self.protocols if protocol in first.values()]
            for protocol in different:
                title = self.labels.get(name, display_name(name))
                label = f"{title}, {protocol.name}" if len(different) > 1 else title
                lines.append(Line(name, model, protocol, label, not self.takes[name]))
        return tuple(lines)

    def line(self, name: str, protocol: Protocol = FAIR) -> Line | None:
        """Return the curve of a model or variant under `protocol`; `None` if it is not selected."""
        return next((x for x in self.lines if x.name == name and same_training(x.model, x.protocol, protocol)), None)

    @property
    def size(self) -> str:
        """Lines, values and data sets."""
        lines = "1 line" if len(self.lines) == 1 else f"{len(self.lines)} lines"
        return f"{lines} × {len(self.values)} values × {len(self.data)} data sets, a picture"

    def result(self, folder: Path, selection: Selection = ALL) -> "SweepResult":
        """Return the runs that the files of `folder` have; none before the first run of this study.

        A panel shows one budget, that with runs at the most points, then with the most runs, then the most thorough;
        and of its seeds those that most of its points have. So points of a curve differ by their value only, even where
        another study has more runs of some.
        """
        part, budgets = self.select(selection), self.budgets(selection)
        has_records = RecordsFolder(folder, self.name).path.is_file()
        runs = part.runs(folder, budgets) if has_records else {}
        panels = []
        for data in part.data if runs else ():
            found = (
                _panel(
                    data,
                    budget,
                    {
                        (line, cell.swept): runs[cell, line.protocol.name][budget.name]
                        for line in part.lines
                        for cell in part.cells
                        if (cell.data, cell.name) == (data, line.name)
                    },
                )
                for budget in reversed(budgets)
            )
            panels.append(max(found, key=lambda panel: panel.coverage))
        return SweepResult(part, selection, tuple(panel for panel in panels if panel.has_curve))

    def draw(self, folder: Path, budget: Budget) -> tuple[str, ...]:
        """Write NAME.csv, NAME.png and NAME.svg of all runs; before any is shown, of the runs of `budget`."""
        from s2gnn.experiments.sweep_figure import draw_curves

        results = (self.result(folder, Selection(budgets=budgets)) for budgets in (None, [budget]))
        result = next((found for found in results if found.panels), None)
        if result is None:
            return ()
        rows = pd.DataFrame([row for row, _ in result.points()])
        write_atomically(folder / f"{self.name}.csv", rows.to_csv(index=False).encode())
        save_figure(lambda: draw_curves(result), folder / self.name)
        return ("csv", *FORMS)

    def redraw(self, folder: Path) -> tuple[str, ...]:
        """Write the files again, of all runs that are shown, or of smoke runs if there are no others."""
        return (self.name,) if any(self.draw(folder, BUDGETS[budget]) for budget in ("quick", "smoke")) else ()


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

    def runs(self, line: Line, value: float) -> Runs:
        """Return the runs at a point; none where a line has no such value."""
        return self.points.get((line, value), Runs({}))

    def curve(self, line: Line) -> dict[float, float]:
        """Return the mean accuracy of a line by value, where there are runs."""
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
        return any(len(self.curve(line)) > 1 for line, _ in self.points if not line.level)


def _panel(data: str, budget: Budget, points: Mapping[tuple[Line, float], Runs]) -> Panel:
    """Return a panel of the seeds that most points have."""
    filled = [runs.records for runs in points.values() if runs.records]
    counts = Counter(seed for records in filled for seed in records)
    common = {seed for seed, count in counts.items() if 2 * count > len(filled)}
    return Panel(data, budget, {place: runs.on(common) for place, runs in points.items()})


@dataclass(frozen=True)
class SweepResult(Result):
    """A sweep, or the selected part of it, with its panels, those that have a curve."""

    study: SweepStudy
    selection: Selection
    panels: tuple[Panel, ...]

    @property
    def has_runs(self) -> bool:
        """Whether there are panels."""
        return bool(self.panels)

    def runs_title(self, panels: Sequence[Panel] | None = None) -> str:
        """Return the budget and the number of seeds behind panels, in a few words."""
        shown = self.panels if panels is None else panels
        budgets = dict.fromkeys(panel.budget.name for panel in shown)
        counts = [len(runs) for panel in shown for runs in panel.points.values() if runs.records]
        return f"{' and '.join(budgets)}, {counted(counts)}"

    def seeds(self, panel: Panel) -> str:
        """Return the number of seeds behind the points of a panel, in words."""
        return counted([len(runs) for runs in panel.points.values() if runs.records])

    def table(self) -> Table:
        """Return one row for each value: a column for each data set where there is one line, else a block for each."""
        study, lines = self.study, self.study.lines
        title, command = f"{study.title} ({study.paper})", f"{study.name}{self.selection.options}"
        if not self.panels:
            return Table(title, ("",), (), (f"No records yet: s2gnn study run {command}",))
        if len(lines) == 1:
            names = [display_name(panel.data) for panel in self.panels]
            heading = f"Accuracy of {lines[0].label} (%), {self.runs_title()}"
            blocks = [Block(heading, self._rows([(panel, lines[0]) for panel in self.panels], axis=0))]
        else:
            names = [line.label for line in lines]
            blocks = [
                Block(
                    f"Accuracy on {display_name(panel.data)} (%), {self.runs_title([panel])}",
                    self._rows([(panel, line) for line in lines], axis=1),
                )
                for panel in self.panels
            ]
        printed = f"The paper: {study.printed} {self._table2()}"
        shown = [(panel.budget.name, runs) for panel in self.panels for runs in panel.points.values()]
        notes = (self._legend(), printed, *study.conclude(self).splitlines(), made_by(command, shown))
        return Table(title, (study.axis, *names), tuple(blocks), notes)

    def json(self) -> dict[str, Any]:
        """Return all figures for programs."""
        study = self.study
        return {
            "study": study.name,
            "title": study.title,
            "paper": study.paper,
            "axis": study.axis,
            "values": study.values,
            "printed": study.printed,
            "finding": study.conclude(self) if self.panels else None,
            "points": [
                {**row, "accuracies": {str(seed): score for seed, score in runs.scores.items()}}
                for row, runs in self.points()
            ],
        }

    def points(self) -> Iterator[tuple[dict[str, Any], Runs]]:
        """Yield every point that has runs, as a row of numbers with accuracies in %."""
        study = self.study
        variants = any(cell.variant for cell in study.cells)
        for panel in self.panels:
            for (line, value), runs in panel.points.items():
                if runs.score is None:
                    continue
                alike = (p.name for p in study.protocols if same_training(line.model, line.protocol, p))
                row: dict[str, Any] = {
                    "data": panel.data,
                    "model": line.name,
                    "protocol": "/".join(alike),
                    "value": value,
                    **({"hops": _hops(runs)} if study.hops else {}),
                    "mean": runs.score.mean,
                    "deviation": runs.deviation(),
                    "half_width": runs.score.half_width,
                    "seeds": runs.score.n,
                    "budget": panel.budget.name,
                }
                if variants:
                    epsilon = runs.values("epsilon")
                    row["learned_epsilon"] = float(np.mean(epsilon)) if epsilon else None
                yield row, runs

    def _rows(self, columns: Sequence[tuple[Panel, Line]], axis: int) -> tuple[tuple[Cell, ...], ...]:
        """Return cells by value and column; the best along `axis` is marked."""
        found = [[panel.runs(line, value) for panel, line in columns] for value in self.study.values]
        means = np.array([[runs.mean for runs in row] for row in found], dtype=float)
        best = means == np.fmax.reduce(means, axis=axis, keepdims=True)
        return tuple(
            (
                Cell(f"{value:g}"),
                *(Cell(self._text(runs), 1 if mark else None) for runs, mark in zip(row, marks, strict=True)),
            )
            for value, row, marks in zip(self.study.values, found, best, strict=True)
        )

    def _text(self, runs: Runs) -> str:
        if runs.mean is None:
            return DASH
        deviation = runs.deviation()
        score = f"{runs.mean:.2f}" if deviation is None else f"{runs.mean:.2f} ± {deviation:.2f}"
        if epsilon := runs.values("epsilon"):
            return f"{score} [ε {span(epsilon, '.2f')}]"
        return f"{score} [{_hops(runs)}]" if self.study.hops else score

    def _legend(self) -> str:
        brackets = "; in brackets the hops that the network sees" if self.study.hops else ""
        if any(runs.values("epsilon") for panel in self.panels for runs in panel.points.values()):
            brackets = "; in brackets the smallest and the largest learned ε"
        along = "row" if len(self.study.lines) > 1 else "column"
        return (
            f"Test accuracy on k-NN graphs, mean ± standard deviation over seeds{brackets}. The best of each {along} "
            "is marked; a dash means not run."
        )

    def _table2(self) -> str:
        paper = ((panel.data, paper_scores().get((panel.data, "knn", "s2gnn"))) for panel in self.panels)
        scores = ", ".join(f"{display_name(data)} {score[0]:.2f}" for data, score in paper if score)
        return f"Its Table II has S2-GNN, with searched hyperparameters, at {scores}."


def _hops(runs: Runs) -> int:
    """Return the number of edges between an output and the farthest features that it depends on."""
    model, arguments = runs.experiment["model"], runs.experiment["arguments"]
    if model == "sign":
        return int(arguments["powers"])  # all in its first layer
    widths = {"s2gnn": 1, "regular-sobolev": arguments.get("alpha", 0), "cheby": arguments.get("K", 1) - 1}
    return int(arguments["num_layers"] * widths[model])


def parse_sweep(name: str, content: Mapping[str, Any], conclude: Callable[[SweepResult], str]) -> SweepStudy:
    """Return a sweep from its configuration: cells of Table II on k-NN graphs, but for the swept value.

    `models` has for each model or variant what the value is, see `SweepStudy.takes`; `variants` are models under
    another name: `model`, its `changes` and the `values` at which it runs.
    """
    given = {"data": tuple(PUBLISHED), "protocols": ("released", "fair"), "variants": {}, **content}
    data, names, models, variants = (given.pop(key) for key in ("data", "protocols", "models", "variants"))
    values = tuple(given.pop("values"))
    del given["finding"]
    return SweepStudy(
        name=name,
        cells=tuple(
            _cell(of, model, takes, value, variants.get(model))
            for of in data
            for model, takes in models.items()
            for value in variants.get(model, {}).get("values", values)
        ),
        protocols=tuple(map(named_protocol, names)),
        alike=tuple(PROTOCOLS.values()),
        without_search="varies one hyperparameter and keeps the others",
        values=values,
        takes=models,
        conclude=conclude,
        **given,
    )


def _cell(data: str, name: str, takes: str, value: float, variant: Mapping[str, Any] | None) -> StudyCell:
    model = variant["model"] if variant else name
    values: dict[str, Value] = {**chosen_values("table2-knn", data, model), **(variant["changes"] if variant else {})}
    if takes not in ("", "k", "share"):
        values[takes] = value
    return StudyCell(
        data,
        "knn",
        model,
        values,
        variant=name if variant else None,
        swept=value,
        k=int(value) if takes == "k" else None,
        share=value / 100 if takes == "share" else None,
    )
