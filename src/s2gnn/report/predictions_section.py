"""The section with the prediction for every row: a table to sort, to search and to download."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.report.elements import Section, counted
from s2gnn.report.model import ReportedModel

MAX_ROWS = 20_000
DIGITS = 7  # significant ones of a quantity, as in the files that s2gnn writes
CONTROLS = """<div class="controls">
<label>Search <input type="search" id="predictions-search" autocomplete="off"></label>
<label>Show <select id="predictions-filter"></select></label>
<button type="button" id="predictions-download">Download CSV</button>
</div>
<div class="scroll" tabindex="0" role="region" aria-label="Predictions of all rows">
<table class="all-rows" id="predictions-table"><thead></thead><tbody></tbody></table>
</div>
<div class="pages"><button type="button" id="predictions-back">Previous</button>
<span id="predictions-place" aria-live="polite"></span>
<button type="button" id="predictions-next">Next</button></div>
<noscript><p>Sorting and searching this table needs JavaScript, which is switched off.</p></noscript>"""


def predictions_section(model: ReportedModel, why: Mapping[int, Sequence[tuple[str, Sequence[str]]]]) -> Section:
    """Return the predictions of all rows, or of the 20,000 least certain ones; `why` has explanations by row."""
    rows = listed_rows(model)
    finding = f"{counted(len(rows), 'row')} with label and prediction."
    if len(rows) < model.n_rows:
        which = "those with the least certain predictions" if model.uncertainty is not None else "the first ones"
        finding = (
            f"{len(rows):,} of the {model.n_rows:,} rows are listed, {which}; s2gnn predict writes the predictions of "
            "all rows of a table."
        )
    reading = "Select a heading to sort. The download has the rows that are shown, in their order."
    if model.estimator.evaluation_ is not None:
        reading = (
            f"The prediction for a labelled row was trained on its label; “predicted while hidden” was not. {reading}"
        )
    explained = {row + 1: lines for row, lines in why.items()}
    if explained:
        reading += " “why” opens the explanation of a row."
    table = {**predictions_table(model, rows), "why": explained}
    content = json.dumps(table, ensure_ascii=False, separators=(",", ":"))
    content = content.replace("<", r"\u003c")  # only "<" can end the script element or begin a comment in it
    data = f'<script type="application/json" id="predictions-data">{content}</script>'
    return Section("rows", "All predictions", counted(len(rows), "row"), finding, reading, CONTROLS + data, wide=True)


def listed_rows(model: ReportedModel) -> NDArray[np.int64]:
    """Return the rows of the table, ascending; of more than 20,000 those whose prediction is the least certain."""
    rows = np.arange(model.n_rows)
    if model.n_rows > MAX_ROWS and model.uncertainty is not None:
        rows = np.argsort(-model.uncertainty, kind="stable")
    return np.sort(rows[:MAX_ROWS])


def predictions_table(model: ReportedModel, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return headings, kinds ("text", "number" or "share") and values of the columns, one list of values per row.

    `label` and `hidden` are the positions of the columns of labels and of predictions made while they were hidden.
    """
    estimator = model.estimator
    columns: list[tuple[str, str, list[Any]]] = []
    if model.identifiers is not None:
        columns.append((model.identifiers.column, "text", [model.identifiers.values[row] for row in rows]))
    columns.append(("row", "number", (rows + 1).tolist()))
    value_kind = "number" if model.classes is None else "text"
    answers = model.predictions[rows]
    predicted = answers[:, 0] if model.classes is None else answers.argmax(axis=1)
    columns.append(("predicted", value_kind, _values(model, rows, rows, predicted)))
    if model.classes is not None:
        columns.append(("probability", "share", answers.max(axis=1).round(6).tolist()))
    places: dict[str, int | None] = {"label": None, "hidden": None}
    if estimator.labelled_ is not None and estimator.targets_ is not None:
        places["label"] = len(columns)
        columns.append(("label", value_kind, _values(model, rows, estimator.labelled_, estimator.targets_)))
    hidden = estimator.evaluation_
    if hidden is not None:
        places["hidden"] = len(columns)
        columns.append(("predicted while hidden", value_kind, _values(model, rows, hidden.rows, hidden.predicted)))
    names, kinds, values = zip(*columns, strict=True)
    return {
        "file": f"{model.label or 'predictions'}.csv",
        "names": names,
        "kinds": kinds,
        **places,
        "rows": list(zip(*values, strict=True)),
    }


def _values(
    model: ReportedModel, rows: NDArray[np.int64], known: NDArray[np.int64], targets: NDArray[Any]
) -> list[Any]:
    """Return the classes or values `targets` (k,) of the rows `known` (k,) for each of `rows`, or `None`."""
    of_row = dict(zip(known.tolist(), targets.tolist(), strict=True))
    found = [of_row.get(row) for row in rows.tolist()]
    if model.classes is None:
        return [None if value is None else float(f"{value:.{DIGITS}g}") for value in found]
    return [None if index is None else model.classes[index] for index in found]
