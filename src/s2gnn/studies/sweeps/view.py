"""A sweep as something to look at or to calculate with: a table of its points, and rows for JSON and CSV."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from s2gnn.learning.metrics import bootstrap_confidence
from s2gnn.render import Block, Cell, Table
from s2gnn.studies.made_by import made_by
from s2gnn.studies.span import counted, span
from s2gnn.studies.sweeps.results import Panel, Point, SweepResult
from s2gnn.studies.sweeps.sweep import Line
from s2gnn.studies.table import paper_scores, same_training


def sweep_layout(result: SweepResult) -> Table:
    """One row for each value: of one line a column for each data set, of several a block for each data set."""
    sweep, lines = result.sweep, result.sweep.lines
    title = f"{sweep.title} ({sweep.paper})"
    if not result.panels:
        return Table(title, ("",), (), (f"No record yet: s2gnn study run {sweep.name}",))
    if len(lines) == 1:
        names = [panel.data for panel in result.panels]
        heading = f"Accuracy of {lines[0].label} (%), {runs_title(result.panels)}"
        blocks = [Block(heading, _rows(result, [(panel, lines[0]) for panel in result.panels], compare_values=True))]
    else:
        names = [line.label for line in lines]
        blocks = [
            Block(
                f"Accuracy on {panel.data} (%), {runs_title([panel])}",
                _rows(result, [(panel, line) for line in lines], compare_values=False),
            )
            for panel in result.panels
        ]
    printed = f"The paper: {sweep.printed} {_table2(result)}"
    notes = (_legend(result), printed, *sweep.conclude(result).splitlines(), _made_by(result))
    return Table(title, (sweep.axis, *names), tuple(blocks), notes)


def runs_title(panels: Sequence[Panel]) -> str:
    """The budget and the number of seeds behind panels, in a few words."""
    budgets = dict.fromkeys(panel.budget.name for panel in panels)
    counts = [len(point.records) for panel in panels for point in panel.points.values() if point.records]
    return f"{' and '.join(budgets)}, {counted(counts)}"


def _rows(
    result: SweepResult, columns: Sequence[tuple[Panel, Line]], *, compare_values: bool
) -> tuple[tuple[Cell, ...], ...]:
    """The entries of all values (rows) and columns; the best of each column, or else of each row, is marked."""
    values = result.sweep.values
    means = np.array([[panel.points[line, value].mean for panel, line in columns] for value in values], dtype=float)
    best = means == np.fmax.reduce(means, axis=0 if compare_values else 1, keepdims=True)
    rows = []
    for value, marks in zip(values, best, strict=True):
        texts = (_text(result, panel, line, value) for panel, line in columns)
        entries = (Cell(text, 1 if mark else None) for text, mark in zip(texts, marks, strict=True))
        rows.append((Cell(f"{value:g}"), *entries))
    return tuple(rows)


def _text(result: SweepResult, panel: Panel, line: Line, value: float) -> str:
    point = panel.points[line, value]
    if point.mean is None:
        return "–"
    score = f"{point.mean:.2f}" if point.deviation is None else f"{point.mean:.2f} ± {point.deviation:.2f}"
    if point.learned_epsilon:
        return f"{score} [ε {span(point.learned_epsilon, '.2f')}]"
    hops = _hops(result, panel, line, value)
    return score if hops is None else f"{score} [{hops}]"


def _hops(result: SweepResult, panel: Panel, line: Line, value: float) -> int | None:
    sweep = result.sweep
    return None if sweep.hops is None else sweep.hops(sweep.cell(panel.data, line, value, panel.budget))


def _legend(result: SweepResult) -> str:
    several = len(result.sweep.lines) > 1
    hops = "" if result.sweep.hops is None else "; in brackets the hops that the network sees"
    if any(point.learned_epsilon for panel in result.panels for point in panel.points.values()):
        hops = "; in brackets the least and the greatest ε that the runs ended with"
    return (
        "Test accuracy on k-NN graphs, mean ± standard deviation over seeds"
        f"{hops}. The best of each {'row' if several else 'column'} is marked; a dash is not run."
    )


def _table2(result: SweepResult) -> str:
    printed = ((panel.data, paper_scores().get((panel.data, "knn", "s2gnn"))) for panel in result.panels)
    scores = ", ".join(f"{data} {score[0]:.2f}" for data, score in printed if score)
    return f"Its Table II has S2-GNN, with hyperparameters from its search, at {scores}."


def _made_by(result: SweepResult) -> str:
    seeds: dict[str, list[int]] = {}
    for panel in result.panels:
        seeds.setdefault(panel.budget.name, []).extend(len(point.records) for point in panel.points.values())
    return made_by(result.sweep.name, result.records, seeds)


def sweep_json(result: SweepResult) -> dict[str, Any]:
    """All figures of a sweep for a program."""
    sweep = result.sweep
    return {
        "study": sweep.name,
        "title": sweep.title,
        "paper": sweep.paper,
        "axis": sweep.axis,
        "values": sweep.values,
        "printed": sweep.printed,
        "finding": sweep.conclude(result) if result.panels else None,
        "points": [
            {**row, "accuracies": {str(seed): accuracy for seed, accuracy in point.accuracies.items()}}
            for row, point in _points(result)
        ],
    }


def sweep_csv(result: SweepResult) -> bytes:
    """The points that have runs, one line each."""
    stream = io.StringIO()
    rows = [row for row, _ in _points(result)]
    writer = csv.DictWriter(stream, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()


def _points(result: SweepResult) -> list[tuple[dict[str, Any], Point]]:
    """Every point that has runs, as a row of numbers, accuracies in %."""
    found = []
    for panel in result.panels:
        for (line, value), point in panel.points.items():
            if not point.records:
                continue
            alike = (p.name for p in result.sweep.protocols if same_training(line.model, line.protocol, p))
            confidence = bootstrap_confidence(list(point.accuracies.values()))
            row = {
                "data": panel.data,
                "model": line.name,
                "protocol": "/".join(alike),
                "value": value,
                "hops": _hops(result, panel, line, value),
                "mean": confidence.mean,
                "deviation": point.deviation,
                "half_width": confidence.half_width,
                "seeds": confidence.n,
                "budget": panel.budget.name,
            }
            if row["hops"] is None:
                del row["hops"]
            if result.sweep.variants:
                row["learned_epsilon"] = float(np.mean(point.learned_epsilon)) if point.learned_epsilon else None
            found.append((row, point))
    return found
