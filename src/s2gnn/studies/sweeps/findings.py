"""Parts of the sentences that say what curves show, all computed from their points."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from s2gnn.learning.metrics import PairedComparison
from s2gnn.studies.results import LEVEL, verdict
from s2gnn.studies.sweeps.results import SweepResult

_VERDICTS = ((1, "ahead"), (0, "undecided"), (-1, "behind"))


@dataclass(frozen=True)
class Span:
    """How much one line varies on one data set.

    Attributes:
        data: name of the data set.
        points: the largest mean accuracy minus the smallest, in points.
        best: the value with the largest.
        worst: the value with the smallest.
        deviation: the mean over values of the standard deviation over seeds; `None` where there is one seed only.
    """

    data: str
    points: float
    best: float
    worst: float
    deviation: float | None


def spans(result: SweepResult) -> list[Span]:
    """Of the first line on every data set."""
    line = result.sweep.lines[0]
    found = []
    for panel in result.panels:
        curve = panel.curve(line)
        best, worst = max(curve, key=lambda value: curve[value]), min(curve, key=lambda value: curve[value])
        deviations = [panel.points[line, value].deviation for value in curve]
        known = [deviation for deviation in deviations if deviation is not None]
        mean = float(np.mean(known)) if known else None
        found.append(Span(panel.data, curve[best] - curve[worst], best, worst, mean))
    return found


def verdicts(leads: Mapping[str, PairedComparison | None]) -> str:
    """By name, where a paired t-test finds the first ahead, undecided or behind."""
    tested = {name: lead for name, lead in leads.items() if lead is not None}
    parts = []
    for sign, word in _VERDICTS:
        names = [f"{name} {lead.mean_difference:+.2f}" for name, lead in tested.items() if verdict(lead) == sign]
        if names:
            parts.append(f"{word} on {', '.join(names)}")
    return f"{'; '.join(parts)} (points; paired t-test, p < {LEVEL:g})" if parts else "not run"


def standings(result: SweepResult, model: str) -> str:
    """At how many points `model` is ahead of each other model, undecided or behind; of two protocols the fair one."""
    ours = result.sweep.line(model)
    parts = []
    for other in result.sweep.models:
        theirs = result.sweep.line(other)
        if ours is None or theirs is None or other == model:
            continue
        leads = [
            panel.points[ours, value].lead(panel.points[theirs, value])
            for panel in result.panels
            for value in result.sweep.values
        ]
        signs = [verdict(lead) for lead in leads if lead is not None]
        if signs:
            parts.append(f"against {theirs.label} {' / '.join(str(signs.count(sign)) for sign, _ in _VERDICTS)}")
    words = " / ".join(word for _, word in _VERDICTS)
    return f"Points where {model} is {words} (paired t-test, p < {LEVEL:g}): {', '.join(parts) or 'none run'}."


def changes(result: SweepResult) -> str:
    """By how many points each line that varies differs at the last value from the first, mean over data sets."""
    first, last = result.sweep.values[0], result.sweep.values[-1]
    parts = []
    for line in result.sweep.lines:
        curves = [panel.curve(line) for panel in result.panels]
        differences = [curve[last] - curve[first] for curve in curves if first in curve and last in curve]
        if line.takes is not None and differences:
            count = f"{len(differences)} data set{'' if len(differences) == 1 else 's'}"
            parts.append(f"{np.mean(differences):+.2f} points ({line.label}, {count})")
    return f"From {first:g} to {last:g} the mean accuracy changes by {', '.join(parts) or 'nothing that was run'}."
