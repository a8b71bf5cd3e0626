"""The sections on the table, the graph and the rows to label next."""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from s2gnn.estimator.blending import GraphGain
from s2gnn.estimator.training_graph import graph_kind
from s2gnn.graphs import edge_homophily
from s2gnn.report import elements
from s2gnn.report.columns import quantile_groups
from s2gnn.report.elements import Html, Section, counted, escaped, listed, percent, share_bar, shortened, table
from s2gnn.report.figures import INSTRUCTIONS, graph_svg, marker_svg, values_figure
from s2gnn.report.graph_layout import GraphLayout
from s2gnn.report.model import ReportedModel
from s2gnn.report.svg import STEPS, inline_svg
from s2gnn.tables.numbers import number_text

COLUMNS_SHOWN = 8
MAX_COLUMNS = 200
COLUMNS_PER_ROW = 6  # values shown of a single row
MAX_CLASSES = 60
MAX_IN_LEGEND = 50
CERTAIN = 0.9  # from this probability on, only one class is named
UNCERTAIN = 0.6  # predictions below this probability are counted as uncertain


def summary(model: ReportedModel) -> str:
    """Describe what the model does, for the head of the page."""
    kind = "a quantity" if model.classes is None else f"one of {len(model.classes)} classes"
    what = kind if model.label is None else f"“{model.label}”, {kind},"
    given = graph_kind(model.estimator.graph) == "precomputed"
    graph = "the given graph" if given else "a graph that connects similar rows"
    labelled = counted(model.estimator.n_labelled_, "labelled row")
    source = f" of {model.card.source}" if model.card and model.card.source else ""
    return (
        f"This model predicts {what} from {counted(len(model.columns), 'column')}. It was trained on {labelled} among "
        f"the {model.n_rows:,} rows{source}, using {graph}."
    )


def data_section(model: ReportedModel) -> Section:
    """Return rows, labels, missing values, and the columns that differ most between predictions."""
    n, n_columns, n_labelled = model.n_rows, len(model.columns), model.estimator.n_labelled_
    missing = "the number of missing values is not known"
    if model.card is not None:
        n_missing = sum(model.card.missing.values())
        missing = "no values are missing"
        if n_missing:
            numbers = any(model.card.missing.get(column.name) for column in model.columns if column.categories is None)
            share = percent(n_missing / (n * n_columns)) + ("; numbers are replaced by the median" if numbers else "")
            missing = f"{counted(n_missing, 'value is', 'values are')} missing ({share})"
    groups = "low and high predictions" if model.classes is None else "the predicted classes"
    finding = (
        f"{n_labelled:,} of {counted(n, 'row')} ({percent(n_labelled / n)}) are labelled; {missing}. "
        f"“{model.columns[model.informative_columns[0]].name}” is the column that differs most between {groups}."
    )
    never = sorted(set(range(len(model.classes or ()))) - set(model.groups.tolist()))
    if model.classes is not None and never:
        finding += f" No row is predicted as {listed([f'“{model.classes[index]}”' for index in never])}."
    reading = (
        "The small bars show how values are distributed, from low to high; categories are sorted by frequency. "
        f"“Explained” is the share of a column’s variance that lies between {groups}: the higher, the more the column "
        "alone has to do with the prediction. A column may matter only together with others."
    )
    labels = _values_chart(model) if model.classes is None else _class_table(model, model.classes)
    figure = f'<div class="side"><div>{labels}</div><div>{_column_tables(model)}</div></div>'
    key = f"{counted(n, 'row')}, {counted(n_columns, 'column')}"
    return Section("data", "The data", key, finding, reading, figure, wide=True)


def _column_tables(model: ReportedModel) -> str:
    features = model.estimator.features_
    features = sp.csc_array(features) if sp.issparse(features) else features
    missing = {} if model.card is None else model.card.missing
    rows = []
    for index in model.informative_columns[:MAX_COLUMNS]:
        column = model.columns[index]
        values, counts = column.summary(features)
        name = Html(f"{escaped(column.name)}<small>{escaped(values)}</small>")
        n_missing = f"{missing[column.name]:,}" if column.name in missing else "–"
        rows.append((name, elements.histogram(counts), n_missing, share_bar(float(model.variance_explained[index]))))
    header = ("column", "values", "missing", "explained")
    shown: str = table("The columns", header, rows[:COLUMNS_SHOWN], kind="columns")
    if len(rows) > COLUMNS_SHOWN:
        more = counted(len(model.columns) - COLUMNS_SHOWN, "more column")
        if len(model.columns) > len(rows):
            more += f", {len(rows) - COLUMNS_SHOWN:,} of them listed"
        shown += elements.details(more, table("More columns", header, rows[COLUMNS_SHOWN:], kind="columns"))
    if model.card is not None and model.card.left_out:
        reasons = [(name or "(no name)", why) for name, why in model.card.left_out.items()]
        left = counted(len(reasons), "column was", "columns were") + " not used"
        shown += elements.details(left, table(left, ("column", "reason"), reasons, kind="reasons"))
    return shown


def _values_chart(model: ReportedModel) -> str:
    known = model.estimator.targets_
    description = "Histogram of the predicted values" if known is None else "Histograms of known and predicted values"
    return inline_svg(values_figure(known, model.predictions[:, 0]), "quantities", description)


def _class_table(model: ReportedModel, classes: tuple[str, ...]) -> str:
    predicted = np.bincount(model.groups, minlength=len(classes)).tolist()
    labelled = ["–"] * len(classes)
    if model.estimator.targets_ is not None:
        labelled = [f"{count:,}" for count in np.bincount(model.estimator.targets_, minlength=len(classes))]
    rows = [
        (Html(marker_svg(index) + escaped(name)), labels, share_bar(count / max(predicted), f"{count:,}"))
        for index, (name, labels, count) in enumerate(zip(classes, labelled, predicted, strict=True))
    ]
    shown: str = table("The classes", ("class", "labels", "predicted"), rows[:MAX_CLASSES], kind="classes")
    more = len(rows) - MAX_CLASSES
    return shown + (f"<p>and {counted(more, 'more class', 'more classes')}</p>" if more > 0 else "")


def graph_section(model: ReportedModel, layout: GraphLayout) -> Section:
    """Return neighbours, homophily, connected components, and the drawing of the graph."""
    graph = model.estimator.graph_
    neighbours = f"{2 * graph.n_edges / graph.n_nodes:.1f} neighbours"
    key = f"{neighbours} per row"
    finding = f"Each row has {neighbours} on average ({counted(graph.n_edges, 'edge')} in total)"
    if graph.n_edges and model.classes is not None:
        same = percent(edge_homophily(graph, model.groups))
        finding += f"; {same} of the edges connect rows with the same predicted class"
    components = int(connected_components(graph.to_scipy(), directed=False, return_labels=False))
    if components > 1:
        finding += f". The graph has {components:,} connected components, between which no information flows"
    if model.estimator.graph_gain_ is not None:
        finding += f". {model.estimator.graph_gain_.sentence.removesuffix('.')}"
        key = _gain_key(model.estimator.graph_gain_)
    shown = "Colour shows the predicted value" if model.classes is None else "Colour and shape show the predicted class"
    ringed = "" if model.estimator.labelled_ is None else "; points with a ring are labelled"
    reading = f"Each point is a row, close to the rows it is connected to. {shown}{ringed}."
    if layout.sampled:
        reading += (
            f" {len(layout.rows):,} of the {model.n_rows:,} rows are drawn; each represents the rows around it, and "
            "two are connected if any of those are."
        )
    elif not layout.complete:
        reading += " Only the strongest edges of each row are drawn."
    figure = _graph_drawing(model, layout)
    return Section("graph", "The graph", key, f"{finding}.", reading, figure, wide=True)


def _gain_key(gain: GraphGain) -> str:
    """Describe in a few words whether the graph helps; there is no clear effect if the interval includes zero."""
    if gain.low <= 0 <= gain.high:
        return "no clear effect on hidden labels"
    if gain.measure == "accuracy":
        return f"{'gains' if gain.value > 0 else 'loses'} {abs(100 * gain.value):.1f} points"
    return f"{'saves' if gain.value > 0 else 'adds'} an error of {number_text(abs(gain.value), 3)}"


def _graph_drawing(model: ReportedModel, layout: GraphLayout) -> str:
    rows, ordered = layout.rows, model.classes is None
    if model.classes is None:
        groups = quantile_groups(model.predictions[:, 0], len(STEPS))
        ends = np.quantile(model.predictions[:, 0], np.linspace(0, 1, len(STEPS) + 1))
        names = [f"{number_text(low, 3)} to {number_text(high, 3)}" for low, high in pairwise(ends)]
    else:
        groups, names = model.groups, list(model.classes[:MAX_IN_LEGEND])
    labelled = ~np.isin(rows, model.unlabelled)
    svg = graph_svg(layout, groups[rows], labelled, row_texts(model, rows), ordered=ordered)
    legend = "".join(f"<li>{marker_svg(g, ordered=ordered)}{escaped(name)}</li>" for g, name in enumerate(names))
    return (
        f'<div class="plane"><ul class="legend" aria-label="Predictions">{legend}</ul>{svg}'
        f'<div class="row-shown" id="row-shown" aria-live="polite"><p id="{INSTRUCTIONS}">Point at a row, tap it, or '
        "reach the graph with the Tab key and use the arrow keys, to see its values.</p></div></div>"
    )


def row_values(model: ReportedModel, rows: NDArray[np.int64]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the names of the six most informative columns and their values in `rows` (n,)."""
    columns = [model.columns[index] for index in model.informative_columns[:COLUMNS_PER_ROW]]
    values = [map(shortened, model.texts(column, rows)) for column in columns]
    return tuple(shortened(column.name) for column in columns), list(zip(*values, strict=True))


def row_texts(model: ReportedModel, rows: NDArray[np.int64]) -> list[str]:
    """Return the text shown for each of `rows` (n,): number, prediction, label and values, a line each."""
    names, values = row_values(model, rows)
    texts = {row: [_heading(model, row), f"predicted: {prediction_text(model, row)}"] for row in rows.tolist()}
    known: dict[str, tuple[NDArray[np.int64], NDArray[Any]]] = {}
    if model.estimator.labelled_ is not None and model.estimator.targets_ is not None:
        known["label"] = (model.estimator.labelled_, model.estimator.targets_)
    if model.estimator.evaluation_ is not None:
        known["predicted while hidden"] = (model.estimator.evaluation_.rows, model.estimator.evaluation_.predicted)
    for what, (known_rows, targets) in known.items():
        for row, target in zip(known_rows.tolist(), targets.tolist(), strict=True):
            if row in texts:
                text = number_text(target) if model.classes is None else shortened(model.classes[target])
                texts[row].append(f"{what}: {text}")
    for row, line in zip(rows.tolist(), values, strict=True):
        texts[row] += [f"{name}: {value}" for name, value in zip(names, line, strict=True)]
    return ["\n".join(texts[row]) for row in rows.tolist()]


def _heading(model: ReportedModel, row: int) -> str:
    """Return the name of a row, with a capital letter if it is its number, and its number."""
    name, number = model.row_name(row), f"row {row + 1:,}"
    if name == number:
        return number.capitalize()
    return name if name.endswith(f"({number})") else f"{name} ({number})"


def prediction_text(model: ReportedModel, row: int) -> str:
    """Return the predicted value, or the likely classes with their probabilities."""
    if model.classes is None:
        return number_text(model.predictions[row, 0])
    first, second = model.likely_classes(row)
    named = [first] if first[1] >= CERTAIN else [first, second]
    return " or ".join(f"{shortened(name)} ({percent(probability)})" for name, probability in named)


def labelling_section(model: ReportedModel, drawn: NDArray[np.int64]) -> Section:
    """Return the rows to label next, with links to the `drawn` rows of the graph."""
    name = ("next", "What to label next")
    if len(model.rows_to_label) == 0 or model.uncertainty is None:
        why = "The model has a single output, which gives no uncertainty for a quantity."
        if len(model.unlabelled) == 0:
            why = "Every row is labelled."
        return Section(*name, "nothing", why, "Otherwise the rows most worth labelling would be listed here.")
    row = int(model.rows_to_label[0])
    if model.classes is None:
        finding = (
            f"The model is least certain about {model.row_name(row)}: it predicts {prediction_text(model, row)}, and "
            f"estimates of it have a standard deviation of {number_text(model.uncertainty[row], 3)}."
        )
        reading = (
            "The rows with an unknown value on which the trees of a random forest differ most. Larger differences tend "
            "to come with larger errors, but they are not a confidence interval."
        )
    else:
        likely = " or ".join(f"“{best}” with {percent(probability)}" for best, probability in model.likely_classes(row))
        finding = f"Begin with {model.row_name(row)}: {likely}. {_uncertain_share(model)}"
        reading = (
            "Uncertain rows in parts of the graph with few labels; the more labels there are, the more the uncertainty "
            "counts. s2gnn label suggests the same rows."
        )
    reading += f" The {'row numbers' if model.identifiers is None else 'identifiers'} link to the graph."
    return Section(*name, model.row_name(row), finding, reading, _rows_to_label_table(model, drawn), wide=True)


def _uncertain_share(model: ReportedModel) -> str:
    rows = model.unlabelled
    which = counted(len(rows), "row" if model.estimator.labelled_ is None else "unlabelled row")
    uncertain = int(np.sum(model.predictions[rows].max(axis=1).round(2) < UNCERTAIN))
    if len(rows) == 1:
        least = "less than" if uncertain else "at least"
        return f"It is the only unlabelled row, predicted with a probability of {least} {percent(UNCERTAIN)}."
    if not uncertain:
        return f"All {which} are predicted with a probability of at least {percent(UNCERTAIN)}."
    share, verb = percent(uncertain / len(rows)), "is" if uncertain == 1 else "are"
    below = f"predicted with a probability of less than {percent(UNCERTAIN)}"
    return f"Of the {which}, {uncertain:,} ({share}) {verb} {below}."


def _rows_to_label_table(model: ReportedModel, drawn: NDArray[np.int64]) -> str:
    assert model.uncertainty is not None
    columns, values = row_values(model, model.rows_to_label)
    rows = []
    for row, line in zip(model.rows_to_label.tolist(), values, strict=True):
        cell = model.row_cell(row)
        link = Html(f'<a href="#row-{row + 1}">{escaped(cell)}</a>') if row in drawn else cell
        if model.classes is None:
            rows.append((link, prediction_text(model, row), number_text(model.uncertainty[row], 3), *line))
        else:
            (best, probability), (second, other) = model.likely_classes(row)
            rows.append((link, best, share_bar(probability), f"{second} ({percent(other)})", *line))
    header = ("standard deviation",) if model.classes is None else ("probability", "second choice")
    kind = "uncertain" if model.classes is None else "uncertain classes"
    names = (model.row_header, "prediction", *header, *columns)
    return table("The rows to label next", names, rows, kind=kind, stacked=True)
