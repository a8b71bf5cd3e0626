"""The parts of the report as HTML: words, picture, and the numbers behind it."""

import html
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from s2gnn.estimator.stability import effects
from s2gnn.report.colours import STEPS
from s2gnn.report.content import Content
from s2gnn.report.figures import (
    calibration_figure,
    comparison_figure,
    curves_figure,
    noise_figure,
    noise_strength,
    orders_figure,
    quantities_figure,
    residuals_figure,
)
from s2gnn.report.graph_figure import INSTRUCTIONS, graph_svg, marker_svg
from s2gnn.report.held_out import commonest_mistakes
from s2gnn.report.kept_columns import number_text
from s2gnn.report.rows import row_columns, row_texts
from s2gnn.report.tables import bars, confusion_table, details, share_bar, table
from s2gnn.report.telling import quantile_classes
from s2gnn.report.vector import inline_svg
from s2gnn.report.words import Words, counted, percent
from s2gnn.report.words_of_data import of_data, of_graph, of_unsure
from s2gnn.report.words_of_network import of_noise, of_orders, of_training
from s2gnn.report.words_of_quality import MOST_IN_MATRIX, of_answers, of_calibration, of_comparison

COLUMNS_SHOWN = 8
MOST_IN_LEGEND = 50
MOST_CLASSES = 60
MISTAKES_LISTED = 20
CLASSES_BESIDE = 6  # of which a confusion matrix has room beside the words


@dataclass(frozen=True)
class Section:
    """One part of the page.

    Attributes:
        anchor: to link to it.
        title: its heading.
        words: about this model.
        figure: makes the HTML to look at.
        wide: takes the whole width of the page.
    """

    anchor: str
    title: str
    words: Words
    figure: Callable[[Content], str]
    wide: bool = False


def sections(content: Content) -> list[Section]:
    """All parts in the order of the page; without hidden labels, those that need them are left out but for one."""
    large = content.confusion is not None and len(content.confusion) > CLASSES_BESIDE
    on_hidden = []
    if content.calibration is not None:
        on_hidden.append(Section("sureness", "Does it know how sure it is?", of_calibration(content), _trust))
    if content.comparison is not None:
        title = "Is it better than simpler methods?"
        on_hidden.append(Section("others", title, of_comparison(content), _comparison))
    return [
        Section("data", "The data", of_data(content), _data, wide=True),
        Section("graph", "The graph", of_graph(content), _graph, wide=True),
        Section("answers", "How good are the answers?", of_answers(content), _answers, wide=large),
        *on_hidden,
        Section("next", "What to label next", of_unsure(content), _unsure, wide=True),
        Section("noise", "What if edges are wrong?", of_noise(content), _noise),
        Section("orders", "What does it listen to?", of_orders(content), _orders),
        Section("training", "How was it trained?", of_training(content), _training),
    ]


def _data(content: Content) -> str:
    columns = content.glance.columns
    rows = [
        (
            f"{html.escape(column.name)}<small>{html.escape(column.summary)}</small>",
            bars(column.bars),
            "–" if column.missing is None else f"{column.missing:,}",
            share_bar(column.telling, percent(column.telling)),
        )
        for column in columns
    ]
    header = ("column", "how often", "missing", "tells apart")
    shown = table("The columns", header, rows[:COLUMNS_SHOWN], kind="columns")
    if len(rows) > COLUMNS_SHOWN:
        more = f"{counted(content.glance.n_columns - COLUMNS_SHOWN, 'more column')}"
        if content.glance.n_columns > len(columns):
            more += f", of which {len(columns) - COLUMNS_SHOWN:,} are listed"
        shown += details(more, table("More columns", header, rows[COLUMNS_SHOWN:], kind="columns"))
    if content.glance.left_out:
        reasons = [
            (html.escape(name or "(no name)"), html.escape(why)) for name, why in content.glance.left_out.items()
        ]
        left = counted(len(reasons), "column was", "columns were") + " left out"
        shown += details(left, table(left, ("column", "why"), reasons, kind="reasons"))
    return f'<div class="side">{_labels(content)}<div>{shown}</div></div>'


def _labels(content: Content) -> str:
    subject, table_ = content.subject, content.glance
    if subject.classes is None:
        known = np.array([]) if subject.evidence is None else subject.evidence.targets
        predicted = subject.answers[:, 0]
        figure = quantities_figure(known if len(known) else predicted, predicted)
        return (
            f"<div>{inline_svg(figure, 'quantities', 'Histograms of the known values and of the predicted ones')}</div>"
        )
    most = max(group.predicted for group in table_.classes)
    rows = [
        (
            marker_svg(place) + html.escape(group.name),
            "–" if group.labelled is None else f"{group.labelled:,}",
            share_bar(group.predicted / max(most, 1), f"{group.predicted:,}"),
        )
        for place, group in enumerate(table_.classes[:MOST_CLASSES])
    ]
    shown = table("The classes", ("class", "labels", "predicted"), rows, kind="classes")
    rest = len(table_.classes) - len(rows)
    more = f"<p>and {counted(rest, 'more class', 'more classes')}</p>" if rest else ""
    return f"<div>{shown}{more}</div>"


def _graph(content: Content) -> str:
    subject, drawn = content.subject, content.graph
    steps = subject.classes is None
    groups = quantile_classes(subject.answers[:, 0], len(STEPS)) if steps else subject.groups
    known = np.zeros(subject.n_rows, dtype=np.bool_)
    if subject.labelled is not None:
        known[subject.labelled] = True
    svg = graph_svg(drawn, groups[drawn.rows], known[drawn.rows], row_texts(content, drawn.rows), steps=steps)
    if subject.classes is None:
        ends = np.quantile(subject.answers[:, 0], np.linspace(0, 1, len(STEPS) + 1))
        names = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(ends)]
    else:
        names = list(subject.classes[:MOST_IN_LEGEND])
    markers = [marker_svg(place, steps=steps) for place in range(len(names))]
    legend = "".join(f"<li>{mark}{html.escape(name)}</li>" for mark, name in zip(markers, names, strict=True))
    return (
        f'<div class="plane"><ul class="legend" aria-label="What is predicted">{legend}</ul>{svg}'
        f'<div class="row-shown" id="row-shown" aria-live="polite"><p id="{INSTRUCTIONS}">Point at a row, tap it, or '
        "reach the graph with the Tab key and move with the arrow keys, to see what stands in it.</p></div></div>"
    )


def _answers(content: Content) -> str:
    if content.residuals is not None:
        described = "Scatter plot of predicted over true values of the hidden rows"
        return inline_svg(residuals_figure(content.residuals), "residuals", described)
    if content.confusion is None or content.subject.classes is None:
        return ""
    classes = content.subject.classes
    if len(classes) <= MOST_IN_MATRIX:
        return confusion_table(classes, content.confusion.tolist())
    mistakes = [
        (html.escape(classes[true]), html.escape(classes[taken]), f"{count:,}")
        for true, taken, count in commonest_mistakes(content.confusion, MISTAKES_LISTED)
    ]
    return table("The commonest mistakes", ("true class", "taken for", "labels"), mistakes, kind="mistakes")


def _trust(content: Content) -> str:
    found = content.calibration
    if found is None:
        return ""
    described = "Chart of how often the model is right over how sure it says it is"
    rows = [
        (percent(said), percent(right), f"{percent(low)} to {percent(high)}", f"{count:,}")
        for said, right, low, high, count in zip(
            found.said, found.right, found.low, found.high, found.counts.tolist(), strict=True
        )
    ]
    header = ("it says", "it is right", "95 % interval", "hidden labels")
    return inline_svg(calibration_figure(found), "calibration", described) + details(
        "The numbers", table(described, header, rows)
    )


def _comparison(content: Content) -> str:
    found = content.comparison
    if found is None:
        return ""
    described = "Chart of the score of every method with its interval"
    form = percent if found.classifies else number_text
    rows = [
        (
            html.escape(method.name),
            form(method.score),
            f"{form(method.low)} to {form(method.high)}",
            "–" if method.p is None else "below 0.001" if method.p < 0.001 else f"{method.p:.2g}",
        )
        for method in found.methods
    ]
    header = ("method", "right" if found.classifies else "mean error", "95 % interval", "chance of such a difference")
    return inline_svg(comparison_figure(found), "comparison", described) + details(
        "The numbers", table(described, header, rows)
    )


def _unsure(content: Content) -> str:
    if not content.unsure:
        return ""
    columns, values = row_columns(content, np.array([row.row for row in content.unsure]))
    drawn = set(content.graph.rows.tolist())
    rows = []
    for place, row in enumerate(content.unsure):
        number = f"{row.row + 1:,}"
        link = f'<a href="#row-{row.row + 1}">{number}</a>' if row.row in drawn else number
        said = [html.escape(row.answer)]
        if row.second is None:
            said.append(f"{row.sureness:.3g}")
        else:
            said.append(share_bar(row.sureness, percent(row.sureness)))
            said.append(f"{html.escape(row.second[0])} ({percent(row.second[1])})")
        rows.append((link, *said, *(html.escape(value) for value in values[place])))
    if content.subject.classes is None:
        kind, said_of_it = "unsure", ["estimates differ by"]
    else:
        kind, said_of_it = "unsure classes", ["how sure", "or else"]
    return table("The rows to label next", ("row", "it says", *said_of_it, *columns), rows, kind=kind)


def _noise(content: Content) -> str:
    found = content.stability
    if found is None:
        return ""
    described = "Chart of the answers that change over the strength of noise on the edges"
    names = {"dropped": "edges removed", "added": "edges added", "weights": "weights changed"}
    rows = [
        (names[noise.kind], f"{noise_strength(noise.kind, noise.level):.0f} %", f"{effect:.1f} %")
        for noise, effect in effects(found).items()
    ]
    changed = "change (of the spread)" if found.flips is None else "answers changed"
    return inline_svg(noise_figure(found), "noise", described) + details(
        "The numbers", table(described, ("noise", "strength", changed), rows)
    )


def _orders(content: Content) -> str:
    described = "Chart of the share of the weight that each order has in each layer"
    layers = len(content.orders)
    rows = [
        (str(order), *(percent(float(share)) for share in content.orders[:, order]))
        for order in range(content.orders.shape[1])
    ]
    header = ("order", *(f"layer {layer + 1}" for layer in range(layers)))
    return inline_svg(orders_figure(content.orders), "orders", described) + details(
        "The numbers", table(described, header, rows)
    )


def _training(content: Content) -> str:
    estimator = content.subject.estimator
    kept = estimator._trained_.networks.kept_epochs
    return inline_svg(curves_figure(estimator.history_, kept), "curves", "Chart of the loss over the steps of training")
