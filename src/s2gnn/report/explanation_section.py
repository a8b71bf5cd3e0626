"""The section on why rows are predicted as they are: parts of the model, columns and labelled rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from s2gnn.estimator.explanation import Explanation
from s2gnn.estimator.table_columns import MISSING
from s2gnn.report.data_sections import prediction_text
from s2gnn.report.elements import Html, Section, counted, escaped, percent, shortened, table
from s2gnn.report.model import ReportedModel
from s2gnn.tables.numbers import number_text

MAX_EXPLAINED = 500
# An explanation follows a prediction through the graph of all rows, so that fewer are made for large tables.
MAX_VISITED = 4_000_000  # explained rows times rows of the table
NAMED = 4  # columns and labelled rows of each explained row


@dataclass(frozen=True)
class Why:
    """An explanation in words."""

    parts: list[str]  # what comes from each part of the model
    columns: list[str]  # that matter most
    labelled: list[str]  # rows that matter most

    def listed(self) -> list[tuple[str, list[str]]]:
        """Return headings and lines."""
        return [
            ("comes from", self.parts),
            ("columns that matter most", self.columns),
            ("labelled rows that matter most", self.labelled),
        ]


def rows_to_explain(model: ReportedModel) -> NDArray[np.int64]:
    """Return rows to label next, wrongly predicted hidden labels, and the least certain predictions; none if too many.

    Models of networks alone cannot be explained.
    """
    estimator = model.estimator
    if estimator.blend_ is None or estimator.targets_ is None:
        return np.array([], dtype=np.int64)
    wanted = [model.rows_to_label]
    hidden = estimator.evaluation_
    if hidden is not None and model.classes is not None:
        wanted.append(hidden.rows[hidden.predicted != hidden.targets])
    rest = np.arange(model.n_rows) if model.uncertainty is None else np.argsort(-model.uncertainty, kind="stable")
    rows = np.concatenate([*wanted, rest])
    first = np.sort(np.unique(rows, return_index=True)[1])
    n_features = model.estimator.n_features_in_
    visited = model.n_rows + len(model.columns) * n_features  # rows of the graph, and numbers with a column replaced
    return rows[first][: min(MAX_EXPLAINED, MAX_VISITED // visited)]


def explain_rows(model: ReportedModel, on_progress: Callable[[float], None] = lambda _: None) -> dict[int, Explanation]:
    """Return the explanations of `rows_to_explain`, by row; columns are named by their position."""
    rows = rows_to_explain(model)
    if not len(rows):
        return {}
    columns = {
        str(place): range(column.features.start, column.features.stop) for place, column in enumerate(model.columns)
    }
    explained = {}
    for row, found in zip(rows.tolist(), model.estimator.explain_rows(rows, columns), strict=True):
        explained[row] = found
        on_progress(len(explained) / len(rows))
    return explained


def in_words(model: ReportedModel, explained: Mapping[int, Explanation]) -> dict[int, Why]:
    """Return explanations in words, by row."""
    return {row: _words(model, found) for row, found in explained.items()}


def _words(model: ReportedModel, found: Explanation) -> Why:
    best = sorted(found.columns.items(), key=lambda item: -abs(item[1]))[:NAMED]
    columns = []
    for place, effect in best:
        column = model.columns[int(place)]
        columns.append(f"{shortened(column.name)} = {_value_text(found.values.get(place))}: {_effect(model, effect)}")
    targets = model.estimator.targets_
    assert targets is not None
    labelled = []
    for place in np.argsort(-np.abs(found.influence), kind="stable")[:NAMED]:
        target, influence = targets[place], found.influence[place]
        label = number_text(target) if model.classes is None else shortened(model.classes[target])
        size = _signed(influence) if model.classes is None else f"{100 * influence:+.1f} points"
        labelled.append(f"{model.row_name(int(found.labelled[place]))} ({label}): {size}")
    parts = [
        f"{part}: {number_text(share) if model.classes is None else percent(share)}"
        for part, share in found.members.items()
    ]
    return Why(parts, columns, labelled)


def _value_text(value: str | float | None) -> str:
    return MISSING if value is None else shortened(value) if isinstance(value, str) else number_text(value)


def _effect(model: ReportedModel, effect: float) -> str:
    """Describe the effect of a column: a factor of the odds of the class, or a change of the value."""
    if model.classes is None:
        return _signed(effect)
    factor = np.exp(np.clip(effect, -np.log(1000), np.log(1000)))
    return f"odds × {factor:.2g}" if factor < 1 else f"odds × {factor:.1f}" if factor < 10 else f"odds × {factor:.0f}"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{number_text(value, 3)}"


def explanation_section(
    model: ReportedModel, explained: Mapping[int, Explanation], words: Mapping[int, Why]
) -> Section | None:
    """Return what matters for the rows to label next, and on average; `None` if nothing is explained."""
    if not explained:
        return None
    finding = f"{counted(len(explained), 'row is', 'rows are')} explained"
    if len(explained) < model.n_rows:
        wrong = "" if model.classes is None else " hidden labels that were predicted wrongly,"
        finding += f": those to label next,{wrong} and the least certain ones"
    finding += f".{_average_parts(model, explained)}"
    key = f"{len(explained):,} rows explained"
    effects = np.array([list(found.columns.values()) for found in explained.values()])
    if effects.size:
        first, *others = np.argsort(-np.abs(effects).mean(axis=0), kind="stable")[:3]
        name = f"“{shortened(model.columns[first].name)}”"
        then = " and ".join(f"“{shortened(model.columns[place].name)}”" for place in others)
        finding += f" On average, the column {name} matters most" + (f", then {then}." if others else ".")
        key = f"{name} matters most"
    table_rows = [
        (
            model.row_cell(row),
            prediction_text(model, row),
            *(_lines(lines) for _, lines in words[row].listed()),
        )
        for row in model.rows_to_label.tolist()
        if row in words
    ]
    header = (model.row_header, "prediction", *(heading for heading, _ in next(iter(words.values())).listed()))
    figure = (
        table("Explanations of the rows to label next", header, table_rows, kind="why", stacked=True)
        if table_rows
        else ""
    )
    reading = f"{_reading(model)} In the table of all predictions below, “why” shows the same for each explained row."
    return Section("why", "Why does it predict this?", key, finding, reading, figure, wide=True)


def _average_parts(model: ReportedModel, explained: Mapping[int, Explanation]) -> str:
    if model.classes is None:
        return ""
    parts = np.array([list(found.members.values()) for found in explained.values()])
    shares = (parts / parts.sum(axis=1, keepdims=True)).mean(axis=0)
    columns, similar, networks = map(percent, shares)
    return (
        f" On average, {columns} of a probability comes from the columns alone, {similar} from smoothing over similar "
        f"rows and {networks} from the networks. These shares mostly reflect the weights of the blend; they do not "
        "measure how much the graph helps: see graph gain."
    )


def _reading(model: ReportedModel) -> str:
    what = "value" if model.classes is None else "probability"
    columns = "how much the value changes" if model.classes is None else "how much the odds of the prediction change"
    label = "value" if model.classes is None else "probability before calibration"
    negative = "lower the value" if model.classes is None else "count against the prediction"
    return (
        f"The parts add up to the {what}. A column is followed by its value in the row and {columns} compared with the "
        f"mean of the column. A labelled row is followed by its label and how much it moves the {label}; negative "
        f"numbers {negative}."
    )


def _lines(lines: Sequence[str]) -> Html:
    return Html("<br>".join(map(escaped, lines)))
