"""The data, the graph and the rows to label next in words: what they say of this model, and how to read them."""

import numpy as np
from scipy.sparse.csgraph import connected_components

from s2gnn.graphs import edge_homophily
from s2gnn.report.content import Content
from s2gnn.report.unsure import rows_without_label
from s2gnn.report.words import Words, counted, listed, percent

SURE = 0.6  # below this probability a row is called doubtful


def summary(content: Content) -> str:
    """What the model is, for the head of the page."""
    subject, table = content.subject, content.glance
    kind = "a quantity" if subject.classes is None else f"one of {len(subject.classes)} classes"
    what = kind if subject.label is None else f"“{subject.label}”, {kind},"
    given = subject.estimator.graph == "precomputed"
    graph = "the graph that was given" if given else "a graph that joins each row to rows like it"
    source = "" if subject.evidence is None else f" of {subject.evidence.source}"
    return (
        f"This model predicts {what} from {counted(table.n_columns, 'column')}. It learned from "
        f"{counted(table.n_labelled, 'labelled row')} among the {table.n_rows:,} rows{source}, on {graph}."
    )


def of_data(content: Content) -> Words:
    """Rows, columns, labels, missing values."""
    table = content.glance
    labelled = f"{table.n_labelled:,} of {counted(table.n_rows, 'row')} ({percent(table.n_labelled / table.n_rows)})"
    groups = "the predicted classes" if table.classes else "low and high predictions"
    unseen = [f"“{group.name}”" for group in table.classes if group.predicted == 0]
    never = f" No row is predicted to be {listed(unseen)}." if unseen else ""
    return Words(
        f"{counted(table.n_rows, 'row')}, {counted(table.n_columns, 'column')}",
        f"{labelled} have a label; {_gaps(content)}. “{table.columns[0].name}” is the column that differs most between "
        f"{groups}.{never}",
        "The small bars show how often values occur, from low to high, or the commonest categories first. “Tells "
        f"apart” is the part of a column’s differences that lies between {groups}: the larger, the more the column has "
        "to do with the answer.",
    )


def _gaps(content: Content) -> str:
    table = content.glance
    missing = table.n_missing
    if missing is None:
        return "how many values are missing is not kept in this folder"
    if missing == 0:
        return "no value is missing"
    share = percent(missing / (table.n_rows * table.n_columns))
    return (
        f"{counted(missing, 'value is', 'values are')} missing ({share}), and the median of its column stands for a "
        "missing number"
    )


def of_graph(content: Content) -> Words:
    """How many neighbours, how alike, how many parts."""
    subject, drawn = content.subject, content.graph
    graph = subject.estimator.graph_
    neighbours = 2 * graph.n_edges / graph.n_nodes
    said = f"A row is joined to {neighbours:.1f} others on average, by {counted(graph.n_edges, 'edge')} in all"
    if graph.n_edges and subject.classes is not None:
        same = percent(edge_homophily(graph, subject.groups))
        said += f"; {same} of the edges join rows that are predicted to be of the same class"
    parts = int(connected_components(graph.to_scipy(), directed=False, return_labels=False))
    if parts > 1:
        said += f". The graph falls into {parts:,} parts, between which nothing is passed on along edges"
    look = "colour and shape are" if subject.classes is not None else "colour is"
    known = "" if subject.labelled is None else "; those with a ring have a label"
    reading = f"Each point is a row, near the rows it is joined to. Its {look} what is predicted{known}."
    if drawn.sampled:
        reading += (
            f" Drawn are {len(drawn.rows):,} of the {subject.n_rows:,} rows; each stands for the rows around it, and "
            "two are joined where those are."
        )
    elif not drawn.whole:
        reading += " Only the strongest edges of each row are drawn."
    return Words(f"{neighbours:.1f} neighbours a row", f"{said}.", reading)


def of_unsure(content: Content) -> Words:
    """What to label next."""
    subject, rows = content.subject, content.unsure
    if not rows:
        complete = subject.labelled is not None and len(subject.labelled) == subject.n_rows
        why = (
            "Every row has a label, so there is none to ask for."
            if complete
            else "The model has a single output, which does not say how sure it is of a quantity."
        )
        return Words("nothing", why, "Otherwise the rows would stand here whose labels would help most.")
    first = rows[0]
    if first.second is None:
        return Words(
            f"row {first.row + 1:,}",
            f"The model is least sure of row {first.row + 1:,}: it says {first.answer}, the mean of estimates that "
            f"differ by {first.sureness:.3g}.",
            "The rows whose value is not known and of which the model's own estimates differ most (their standard "
            "deviation; the errors above are as a rule larger). To find out one of these values usually teaches it "
            "more than one on which they agree.",
        )
    return Words(
        f"row {first.row + 1:,}",
        f"The model is least sure of row {first.row + 1:,}: “{first.answer}” with {percent(first.sureness)}, or else "
        f"“{first.second[0]}” with {percent(first.second[1])}. {_doubts(content)}",
        "The rows without a label that the model doubts most. A label for one of these usually teaches it more than "
        "one for a row that it is sure of. The numbers lead to the rows in the graph.",
    )


def _doubts(content: Content) -> str:
    """Of how many rows a classifier is less than `SURE`, by its probabilities as they are shown, and of which rows."""
    subject = content.subject
    rows = rows_without_label(subject)
    among = f"Of all {counted(len(rows), 'row')}"
    if subject.labelled is not None:
        among = f"Of the {counted(len(rows), 'row')} without a label"
    doubtful = int(np.sum(subject.answers[rows].max(axis=1).round(2) < SURE))
    if not doubtful:
        return f"{among} it is at least {percent(SURE)} sure of every one."
    said = f"{among} it is less than {percent(SURE)} sure of {doubtful:,} ({percent(doubtful / len(rows))})."
    if content.calibration is not None:
        stated = percent(content.calibration.stated)
        said += f" The hidden labels, of which it was {stated} sure on average, belong to other rows."
    return said
