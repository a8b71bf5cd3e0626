"""Does learning ε spare the search over it? ε learned from several starts beside fixed ones and the best of a grid."""

from collections.abc import Mapping
from types import MappingProxyType

from s2gnn.learning.metrics import PairedComparison
from s2gnn.studies.results import LEVEL, verdict
from s2gnn.studies.span import span
from s2gnn.studies.sweeps.results import Panel, Point, SweepResult
from s2gnn.studies.sweeps.sweep import Line, Sweep, Variant

STARTS = (0.5, 1.0, 1.5, 2.0)
# What a small search over the paper's range would try; all are values of Figure 6 too, whose runs count.
GRID = (0.5, 0.8, 1.0, 1.2, 1.5, 1.8, 2.0)
FIXED, LEARNED = "s2gnn", "learned"
MARGIN = 1.0  # points below the search that an interval may reach where no start is found behind


def _conclude(result: SweepResult) -> str:
    """Of every data set: whether the search is spared, what the grid's best is, and how each start compares."""
    fixed, learned = result.sweep.line(FIXED), result.sweep.line(LEARNED)
    if fixed is None or learned is None:
        return "Only one of the two, fixed or learned, was asked for: there is nothing to compare."
    findings = [_finding(panel, fixed, learned) for panel in result.panels]
    test = f"Differences in points on common seeds; paired t-test, p < {LEVEL:g}, not corrected for their number."
    return "\n".join([*findings, test])


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
    ends = {start: f", ending at {span(point.learned_epsilon, '.2f')}" for start, point in starts.items()}
    sentences = [
        f"{panel.data}: {_verdict(from_starts, without_search)}",
        f"Of {len(scores)} fixed values validation chooses ε = {best:g} (test {tried[best].mean:.2f} %).",
        f"Against it ε learned from {_listed(from_starts, ends)}.",
        f"Fixed at {_listed(without_search)}." if without_search else "",
        f"The grid takes {len(scores)} runs, learning ε one.",
    ]
    return " ".join(filter(None, sentences))


def _leads(points: dict[float, Point], best: Point) -> dict[float, PairedComparison]:
    leads = {value: point.lead(best) for value, point in points.items()}
    return {value: lead for value, lead in leads.items() if lead is not None}


def _listed(leads: dict[float, PairedComparison], ends: Mapping[float, str] = MappingProxyType({})) -> str:
    marks = {1: " (ahead)", 0: "", -1: " (behind)"}
    return "; ".join(
        f"{value:g} has {lead.mean_difference:+.2f}{marks[verdict(lead)]}{ends.get(value, '')}"
        for value, lead in leads.items()
    )


def _verdict(learned: dict[float, PairedComparison], fixed: dict[float, PairedComparison]) -> str:
    """Whether the search can be left out, in words."""
    lows = {start: lead.low for start, lead in learned.items() if lead.low is not None}
    if len(lows) < len(learned):
        return "one seed does not tell whether learning ε spares the search."
    behind = [f"{start:g}" for start, lead in learned.items() if verdict(lead) < 0]
    if behind:
        return f"learning ε does not spare the search: from {' and '.join(behind)} it stays behind."
    start = min(lows, key=lambda value: lows[value])
    worst = learned[start]
    others = "some fixed values are" if any(verdict(lead) < 0 for lead in fixed.values()) else "nor is a fixed value"
    interval = f"{worst.low:+.2f} to {worst.high:+.2f} (95 %)"
    found = f"no start is found behind{f' ({others})' if fixed else ''}; {start:g} reaches the lowest, {interval}"
    if lows[start] < -MARGIN:
        return f"whether learning ε spares the search, {worst.n} seeds do not tell: {found}."
    return f"learning ε spares the search, to within {MARGIN:g} point: {found}."


SWEEP = Sweep(
    name="learned-epsilon",
    title="Accuracy of S2-GNN with ε fixed, and with ε learned from a start",
    paper="not in the paper",
    axis="ε, or where it starts",
    values=GRID,
    models={FIXED: "epsilon", LEARNED: "initial_epsilon"},
    printed="ε is searched in 0.5 to 2.",
    conclude=_conclude,
    data=("cancer-b", "cancer-m", "20news", "isolet"),
    variants={LEARNED: Variant("s2gnn", (("epsilon", "learn"),), STARTS)},
)
