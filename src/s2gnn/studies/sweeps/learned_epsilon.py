"""Does learning ε spare the search over it? ε learned from several starts beside fixed ones and the best of a grid."""

import numpy as np

from s2gnn.learning.metrics import PairedComparison
from s2gnn.studies.results import LEVEL, verdict
from s2gnn.studies.schedule import trained_epochs
from s2gnn.studies.span import span
from s2gnn.studies.sweeps.results import Panel, Point, SweepResult
from s2gnn.studies.sweeps.sweep import Line, Sweep, Variant

STARTS = (0.5, 1.0, 1.5, 2.0)
# What a small search over the paper's range would try; all are values of Figure 6 too, whose runs count.
GRID = (0.5, 0.8, 1.0, 1.2, 1.5, 1.8, 2.0)
FIXED, LEARNED = "s2gnn", "learned"


def _conclude(result: SweepResult) -> str:
    """Of every data set: what the grid's best is, how ε learned from each start compares, and what follows."""
    fixed, learned = result.sweep.line(FIXED), result.sweep.line(LEARNED)
    if fixed is None or learned is None:
        return "Only one of the two, fixed or learned, was asked for: there is nothing to compare."
    findings = [_finding(panel, fixed, learned) for panel in result.panels]
    test = f"Differences in points on common seeds; paired t-test, p < {LEVEL:g}, not corrected for their number."
    return " ".join([*findings, test])


def _finding(panel: Panel, fixed: Line, learned: Line) -> str:
    tried = {value: panel.points[fixed, value] for value in GRID}
    scores = {value: point.validation for value, point in tried.items() if point.validation is not None}
    starts = {start: panel.points[learned, start] for start in STARTS if panel.points[learned, start].records}
    if not scores or not starts:
        return f"{panel.data}: not run."
    best = max(scores, key=lambda value: scores[value])
    from_starts = _leads(starts, tried[best])
    same_fixed = {start: panel.points[fixed, start] for start in STARTS if panel.points[fixed, start].records}
    without_search = _leads({start: point for start, point in same_fixed.items() if start != best}, tried[best])
    ended = span([epsilon for point in starts.values() for epsilon in point.learned_epsilon], ".2f")
    sentences = [
        f"{panel.data}: of {len(scores)} fixed values validation chooses ε = {best:g} (test {tried[best].mean:.2f} %).",
        f"Against it ε learned from {_listed(from_starts)}; it ends at {ended}.",
        f"Fixed at {_listed(without_search)}." if without_search else "",
        _cost(starts, same_fixed, len(scores)),
        _verdict(from_starts, without_search),
    ]
    return " ".join(filter(None, sentences))


def _leads(points: dict[float, Point], best: Point) -> dict[float, PairedComparison]:
    leads = {value: point.lead(best) for value, point in points.items()}
    return {value: lead for value, lead in leads.items() if lead is not None}


def _listed(leads: dict[float, PairedComparison]) -> str:
    marks = {1: " (ahead)", 0: "", -1: " (behind)"}
    return ", ".join(
        f"{value:g} has {lead.mean_difference:+.2f}{marks[verdict(lead)]}" for value, lead in leads.items()
    )


def _cost(starts: dict[float, Point], fixed: dict[float, Point], tried: int) -> str:
    common = starts.keys() & fixed.keys()
    if not common:
        return ""
    seconds = [_seconds_an_epoch({start: points[start] for start in common}) for points in (starts, fixed)]
    return f"An epoch takes {seconds[0] / seconds[1]:.1f} times as long as with a fixed ε, the grid {tried} runs."


def _seconds_an_epoch(points: dict[float, Point]) -> float:
    records = [record for point in points.values() for record in point.records.values()]
    return float(np.mean([record.seconds / trained_epochs(record) for record in records]))


def _verdict(learned: dict[float, PairedComparison], fixed: dict[float, PairedComparison]) -> str:
    """Whether the search can be left out, in words."""
    start, worst = min(learned.items(), key=lambda found: found[1].mean_difference)
    if worst.low is None or worst.high is None:
        return "One seed does not tell whether learning ε spares the search."
    behind = [f"{start:g}" for start, lead in learned.items() if verdict(lead) < 0]
    if behind:
        return f"So learning ε does not spare the search: from {' and '.join(behind)} it stays behind."
    interval = f"the worst, {start:g}, is within {worst.low:+.2f} to {worst.high:+.2f} (95 %)"
    if any(verdict(lead) < 0 for lead in fixed.values()):
        return f"So learning ε spares the search: no start stays behind, as some fixed values do; {interval}."
    return f"So learning ε spares the search, but any fixed start does too: none is found behind; {interval}."


SWEEP = Sweep(
    name="learned-epsilon",
    title="Accuracy of S2-GNN with ε fixed, and with ε learned from a start",
    paper="not in the paper",
    axis="ε, or where it starts",
    values=GRID,
    models={FIXED: "epsilon", LEARNED: "initial_epsilon"},
    printed="ε is searched in 0.5 to 2.",
    conclude=_conclude,
    data=("cancer-b", "20news", "isolet"),
    variants={LEARNED: Variant("s2gnn", (("epsilon", "learn"),), STARTS)},
)
