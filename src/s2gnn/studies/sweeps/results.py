"""What the records say about a sweep: for every point of every curve the runs behind it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from s2gnn.learning.metrics import PairedComparison, compare_paired
from s2gnn.learning.records import Record, Records
from s2gnn.studies.budget import Budget
from s2gnn.studies.results import SHOWN, KnownRuns
from s2gnn.studies.sweeps.sweep import Line, Sweep

# What curves show; a sweep has no search.
DRAWN = tuple(budget for budget in SHOWN if not budget.trials)


@dataclass(frozen=True)
class Point:
    """The runs of one line at one value, by seed."""

    records: Mapping[int, Record]

    @cached_property
    def accuracies(self) -> dict[int, float]:
        """Test accuracy in % by seed."""
        return {seed: 100 * record.metrics["test_accuracy"] for seed, record in self.records.items()}

    @cached_property
    def mean(self) -> float | None:
        """Over seeds; `None` without runs."""
        return float(np.mean(list(self.accuracies.values()))) if self.records else None

    @cached_property
    def validation(self) -> float | None:
        """The mean validation accuracy in %, by which a search would choose; `None` without runs."""
        scores = [record.metrics["val_accuracy"] for record in self.records.values()]
        return 100 * float(np.mean(scores)) if scores else None

    @cached_property
    def learned_epsilon(self) -> tuple[float, ...]:
        """The ε that every run has learned, in the order of seeds; nothing where ε is fixed."""
        found = (self.records[seed].metrics for seed in sorted(self.records))
        return tuple(metrics["epsilon"] for metrics in found if "epsilon" in metrics)

    @cached_property
    def deviation(self) -> float | None:
        """The standard deviation over seeds; `None` with fewer than two."""
        return float(np.std(list(self.accuracies.values()), ddof=1)) if len(self.records) > 1 else None

    def lead(self, other: "Point") -> PairedComparison | None:
        """The accuracy here minus that of `other`, in points, on common seeds; `None` where there is none."""
        common = self.accuracies.keys() & other.accuracies.keys()
        if not common:
            return None
        return compare_paired(*({seed: point.accuracies[seed] for seed in common} for point in (self, other)))


@dataclass(frozen=True)
class Panel:
    """The curves of one data set, all from runs of one budget.

    Attributes:
        data: name of the data set.
        budget: of the runs.
        points: by line and value; one without runs is there too.
    """

    data: str
    budget: Budget
    points: Mapping[tuple[Line, float], Point]

    def curve(self, line: Line) -> dict[float, float]:
        """The mean accuracy of a line by value, where there are runs."""
        return {
            value: point.mean
            for (other, value), point in self.points.items()
            if other == line and point.mean is not None
        }


@dataclass(frozen=True)
class SweepResult:
    """A sweep and its panels, those that have a curve: runs at two values or more."""

    sweep: Sweep
    panels: tuple[Panel, ...]

    @property
    def records(self) -> list[Record]:
        """All records behind the curves, each once."""
        found = {
            (record.config_hash, record.seed): record
            for panel in self.panels
            for point in panel.points.values()
            for record in point.records.values()
        }
        return list(found.values())


def sweep_result(sweep: Sweep, records: Records, budgets: Sequence[Budget] = DRAWN) -> SweepResult:
    """The runs of every point of `sweep`.

    A panel shows one budget, that with runs at the most points, of equally many that with the most runs, then the most
    thorough; and of its seeds those that most of its points have. So points of a curve differ by their value only,
    also where some of them have more runs from another study.
    """
    known = KnownRuns(records.read())
    found = []
    for data in sweep.data:
        candidates = [_panel(sweep, data, budget, known) for budget in budgets]
        best = max(reversed(candidates), key=_coverage)
        if _has_curve(best):
            found.append(best)
    return SweepResult(sweep, tuple(found))


def _panel(sweep: Sweep, data: str, budget: Budget, known: KnownRuns) -> Panel:
    runs = {
        (line, value): known.runs(sweep.cell(data, line, value, budget), budget)
        for line in sweep.lines
        for value in sweep.values
    }
    filled = [by_seed for by_seed in runs.values() if by_seed]
    counts = Counter(seed for by_seed in filled for seed in by_seed)
    common = {seed for seed, count in counts.items() if 2 * count > len(filled)}
    points = {
        place: Point({seed: record for seed, record in by_seed.items() if seed in common})
        for place, by_seed in runs.items()
    }
    return Panel(data, budget, points)


def _coverage(panel: Panel) -> tuple[int, int]:
    sizes = [len(point.records) for point in panel.points.values()]
    return sum(size > 0 for size in sizes), sum(sizes)


def _has_curve(panel: Panel) -> bool:
    return any(len(panel.curve(line)) > 1 for line, _ in panel.points if line.takes is not None)
