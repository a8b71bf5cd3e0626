"""Findings of sweeps, as sentences computed from their points."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import get_args

import numpy as np

from s2gnn.data.catalogue import dataset_info
from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.compare import CORRECTED, MARGIN, RULE, Tally, Verdict, span
from s2gnn.experiments.hyperparameters import PUBLISHED
from s2gnn.experiments.sweep import Line, Panel, SweepResult


def epsilon(result: SweepResult) -> str:
    """State how much accuracy varies over ε on each data set, and whether it varies most on the paper's."""
    (line,) = result.study.lines
    spreads = {}
    for panel in result.panels:
        curve = panel.curve(line)
        best, worst = max(curve, key=lambda v: curve[v]), min(curve, key=lambda v: curve[v])
        deviations = [d for value in curve if (d := panel.runs(line, value).deviation()) is not None]
        spreads[panel.data] = curve[best] - curve[worst], best, worst, deviations
    order = sorted(spreads, key=lambda data: -spreads[data][0])
    parts = []
    for data in order:
        points, best, worst, deviations = spreads[data]
        noise = f"standard deviation over seeds {np.mean(deviations):.2f}" if deviations else "one seed"
        parts.append(f"{points:.2f} points on {display_name(data)} (best at {best:g}, worst at {worst:g}, {noise})")
    text = f"The mean accuracies at the best and the worst ε differ by {'; '.join(parts)}."
    text += " No test compares these extremes of many means, so the differences may be noise."
    known = [data for data in order if spreads[data][3]]  # a single seed may be an accident
    if len(known) > 1 and "cancer-m" in known:
        where = "as in the paper" if known[0] == "cancer-m" else "in the paper on Cancer-M"
        text += f" The difference is largest on {display_name(known[0])}, {where}."
    return text


def published_alpha(result: SweepResult) -> str:
    """Return whether the published α is better than the first power alone."""
    (line,) = result.study.lines
    leads = {}
    for panel in result.panels:
        alpha = int(PUBLISHED[panel.data].model["alpha"])
        leads[f"{display_name(panel.data)} (α = {alpha})"] = panel.runs(line, alpha).lead(panel.runs(line, 1))
    tally = Tally.of(leads)
    parts = [
        f"{verdict} on {', '.join(f'{where} {tally.leads[where].mean_difference:+.2f}' for where in places)}"
        for verdict in get_args(Verdict)
        if (places := tally.where(verdict))
    ]
    return f"The published α against α = 1: {'; '.join(parts)} (points; {CORRECTED})." if parts else "Not run."


def changes(result: SweepResult) -> str:
    """State how accuracy changes from the first value to the last, and where S2-GNN leads the other models."""
    sweep = result.study
    first, last = sweep.values[0], sweep.values[-1]
    parts = []
    for line in sweep.lines:
        curves = [panel.curve(line) for panel in result.panels]
        differences = [curve[last] - curve[first] for curve in curves if first in curve and last in curve]
        if not line.level and differences:
            count = f"{len(differences)} data set{'' if len(differences) == 1 else 's'}"
            parts.append(f"{np.mean(differences):+.2f} points ({line.label}, {count})")
    change = f"From {first:g} to {last:g} the mean accuracy changes by {', '.join(parts) or 'nothing that was run'}."
    return f"{change} {_standings(result)}"


def reach(result: SweepResult) -> str:
    """Return the same for networks whose higher orders reach further."""
    return f"{changes(result)} S2-GNN sees one hop in each layer at every order."


def _standings(result: SweepResult, model: str = "s2gnn") -> str:
    """Count the points where `model` is ahead of each other model, undecided or behind; under the fair protocol."""
    ours, parts = result.study.line(model), []
    for other in result.study.models:
        theirs = result.study.line(other)
        if ours is None or theirs is None or other == model:
            continue
        points = ((panel, value) for panel in result.panels for value in result.study.values)
        tally = Tally.of({(p.data, value): p.runs(ours, value).lead(p.runs(theirs, value)) for p, value in points})
        if tally.leads:
            parts.append(f"against {theirs.label} {tally.counts}")
    found = ", ".join(parts) or "none run"
    return f"Points where {display_name(model)} is ahead / level / undecided / behind ({CORRECTED}): {found}."


def label_efficiency(result: SweepResult) -> str:
    """State up to which share S2-GNN and label spreading lead the MLP, and where more nodes are labelled."""
    sentences = [
        f"The largest share of labelled nodes at which {name} leads the MLP ({CORRECTED}): {_largest(result, model)}."
        for model, name in (("s2gnn", "S2-GNN"), ("label-spreading", "label spreading"))
    ]
    more = [text for panel in result.panels for text in _more_than_the_share(panel)]
    if more:
        sentences.append(f"Every class has at least one label, so more nodes have one: {', '.join(more)}.")
    return " ".join(sentences)


def _largest(result: SweepResult, model: str) -> str:
    line, mlp = result.study.line(model), result.study.line("mlp")
    if line is None or mlp is None:
        return "not run"
    found = []
    for panel in result.panels:
        tally = Tally.of({v: panel.runs(line, v).lead(panel.runs(mlp, v)) for v in result.study.values})
        ahead = tally.where("ahead")
        largest = f"{max(ahead):g} % (ahead at {len(ahead)} of {len(tally.leads)} shares)" if ahead else "none"
        found.append(f"{display_name(panel.data)} {largest if tally.leads else 'not run'}")
    return ", ".join(found)


def _more_than_the_share(panel: Panel) -> Iterable[str]:
    """Yield where the mean number of training nodes is above the share."""
    rows = dataset_info(panel.data).rows
    for value in dict.fromkeys(value for _, value in panel.points):
        counts = [n for (_, v), runs in panel.points.items() if v == value for n in runs.values("train_nodes")]
        if counts and np.mean(counts) > int(value / 100 * rows):
            yield f"{display_name(panel.data)} {np.mean(counts):.0f} at {value:g} %"


def learned_epsilon(result: SweepResult) -> str:
    """State for every data set whether learning ε replaces the search, the best of the grid, and each initial value."""
    fixed, learned = result.study.line("s2gnn"), result.study.line("learned")
    if fixed is None or learned is None:
        return "Only one of fixed and learned ε is selected: there is nothing to compare."
    findings = [_learned_finding(panel, fixed, learned) for panel in result.panels]
    test = f"Differences in points on common seeds; {RULE}."
    return "\n".join([*findings, test])


def _learned_finding(panel: Panel, fixed: Line, learned: Line) -> str:
    tried, from_starts = (
        {value: runs for (line, value), runs in panel.points.items() if line == of and runs.records}
        for of in (fixed, learned)
    )
    if not tried or not from_starts:
        return f"{display_name(panel.data)}: not run."
    best = max(tried, key=lambda value: tried[value].validation or 0.0)
    leads = Tally.of({start: runs.lead(tried[best]) for start, runs in from_starts.items()})
    same = {start: tried[start] for start in from_starts if start in tried and start != best}
    without_search = Tally.of({value: runs.lead(tried[best]) for value, runs in same.items()})
    ends = {start: f", ending at {span(runs.values('epsilon'), '.2f')}" for start, runs in from_starts.items()}
    sentences = [
        f"{display_name(panel.data)}: {_learned_verdict(leads, without_search)}",
        f"Of {len(tried)} fixed values validation chooses ε = {best:g} (test {tried[best].mean:.2f} %).",
        f"Compared with it, ε learned from {_listed(leads, ends)}.",
        f"Fixed at {_listed(without_search)}." if without_search.leads else "",
        f"The grid takes {len(tried)} runs, learning ε one.",
    ]
    return " ".join(filter(None, sentences))


def _listed(tally: Tally[float], ends: Mapping[float, str] = MappingProxyType({})) -> str:
    return "; ".join(
        f"{value:g} has {lead.mean_difference:+.2f} ({tally.verdicts[value]}){ends.get(value, '')}"
        for value, lead in tally.leads.items()
    )


def _learned_verdict(learned: Tally[float], fixed: Tally[float]) -> str:
    """Return whether the search can be omitted, in words."""
    lows = {start: lead.low for start, lead in learned.leads.items() if lead.low is not None}
    if len(lows) < len(learned.leads):
        return "one seed does not show whether learning ε replaces the search."
    behind = [f"{start:g}" for start in learned.where("behind")]
    if behind:
        return f"learning ε does not replace the search: from {' and '.join(behind)} it stays behind."
    start = min(lows, key=lambda value: lows[value])
    worst = learned.leads[start]
    others = "some fixed values are" if fixed.where("behind") else "and no fixed value is"
    also = f", {'but ' if fixed.where('behind') else ''}{others}" if fixed.leads else ""
    found = (
        f"no initial value is significantly behind the chosen ε{also}. In the worst case, from {start:g}, the "
        f"difference is between {worst.low:+.2f} and {worst.high:+.2f} points (95 % interval)"
    )
    if lows[start] < -MARGIN:
        return f"{worst.n} seeds do not show whether learning ε replaces the search: {found}."
    return f"learning ε replaces the search, to within {MARGIN:g} point: {found}."


FINDINGS: Mapping[str, Callable[[SweepResult], str]] = MappingProxyType(
    {
        function.__name__: function
        for function in (epsilon, published_alpha, changes, reach, label_efficiency, learned_epsilon)
    }
)
