"""The section on the accuracy on hidden labels: per class and by pairs of classes, or the errors of values."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

from s2gnn.estimator.evaluation import wilson_interval
from s2gnn.report.elements import SPACE, Html, Section, counted, details, percent, table
from s2gnn.report.figures import residuals_figure
from s2gnn.report.model import ReportedModel
from s2gnn.report.svg import inline_svg
from s2gnn.tables.numbers import number_text

FEW_LABELS = 30  # below this number of hidden labels, an accuracy is called rough
MAX_IN_MATRIX = 30  # classes; with more, the most frequent errors are listed
ERRORS_LISTED = 20
NARROW_MATRIX = 6  # classes that fit next to the text
CLASSES_SHOWN = 12  # with more, the scores of single classes open on request
ACCURACY = ("accuracy", "How accurate is it?")


def accuracy_section(model: ReportedModel) -> Section:
    """Return the accuracy on hidden labels and the most frequent errors, or why it was not measured."""
    hidden = model.estimator.evaluation_
    if hidden is None:
        reading = (
            "Accuracy on training rows does not carry over to other rows. With hidden labels, this page "
            "also compares the model with simpler methods."
        )
        return Section(*ACCURACY, "not measured", _why_not_measured(model), reading)
    if model.classes is None:
        section = residuals_section(hidden.targets, hidden.predicted)
    else:
        labels = range(len(model.classes))
        section = confusion_section(model.classes, confusion_matrix(hidden.targets, hidden.predicted, labels=labels))
    if hidden.n_groups is not None:
        grouped = f" The rows of each of {counted(hidden.n_groups, 'group')} were hidden together."
        section = replace(section, finding=section.finding + grouped)
    return section


def _why_not_measured(model: ReportedModel) -> str:
    targets = model.estimator.targets_
    if targets is None:
        return "This folder contains no labels. Fit the model again to measure the accuracy."
    if model.classes is not None and np.sum(np.bincount(targets) >= 2) < 2:
        return "There are too few labels to hide some and predict them: label at least two rows in each of two classes."
    if len(targets) < 4:
        return "There are too few known values to hide some and predict them: at least four are needed."
    return "No labels were hidden: call evaluate() of the estimator before saving it."


def confusion_section(classes: Sequence[str], confusion: NDArray[np.int64]) -> Section:
    """Return the accuracy of a classifier with this confusion matrix (C, C), whose rows are the true classes."""
    n, correct = int(confusion.sum()), int(np.trace(confusion))
    accuracy = percent(correct / n)
    interval = " to ".join(map(percent, wilson_interval(correct, n)))
    finding = f"Accuracy on {counted(n, 'hidden label')}: {accuracy} ({correct:,} correct). "
    if n < FEW_LABELS:
        key = f"{correct:,} of {n:,} correct"
        finding += f"With so few labels the 95 % interval is wide: {interval}."
    else:
        key = f"{accuracy} correct ({interval})"
        finding += (
            f"On similar rows, expect {interval} (95 % interval), or slightly more, because the saved model was "
            "trained on all labels."
        )
    wrong = confusion - np.diag(np.diag(confusion))
    order = np.argsort(-wrong, axis=None, kind="stable")[: min(ERRORS_LISTED, np.count_nonzero(wrong))]
    errors = [
        (classes[true], classes[predicted], int(wrong[true, predicted]))
        for true, predicted in zip(*np.unravel_index(order, wrong.shape), strict=True)
    ]
    if errors:
        true_class, predicted_class, count = errors[0]
        of = int(confusion[classes.index(true_class)].sum())
        most = f"Most frequent error: “{true_class}” predicted as “{predicted_class}”, {count:,} of {of:,}."
        finding += " No error occurs twice." if count == 1 else f" {most}"
    if len(classes) > MAX_IN_MATRIX:
        reading = "Each row is an error: labels of one class predicted as another, most frequent first."
        listed_errors = [(true_class, predicted_class, f"{count:,}") for true_class, predicted_class, count in errors]
        columns = ("true class", "predicted", "labels")
        figure = table("The most frequent errors", columns, listed_errors, kind="errors")
    else:
        reading = (
            "Rows are true classes, columns are predicted classes. Green cells are correct; red cells count labels of "
            "one class predicted as another."
        )
        header = ("true ↓ predicted →", *classes, "labels")
        rows = [
            (
                classes[true],
                *(_confusion_cell(count, sum(line), column == true) for column, count in enumerate(line)),
                f"{sum(line):,}",
            )
            for true, line in enumerate(confusion.tolist())
        ]
        figure = table("Confusion matrix of the hidden labels", header, rows, kind="confusion")
    reading += (
        " Precision is the share of the rows predicted as a class that belong to it; recall is the share of its rows "
        "that are found. Their 95 % intervals are in brackets."
    )
    by_class = class_table(classes, confusion)
    by_class = details("Precision and recall of each class", by_class) if len(classes) > CLASSES_SHOWN else by_class
    return Section(*ACCURACY, key, finding, reading, figure + by_class, wide=len(classes) > NARROW_MATRIX)


def class_table(classes: Sequence[str], confusion: NDArray[np.int64]) -> Html:
    """Return precision and recall of each class with Wilson intervals, and its number of hidden labels, its support."""
    hits, predicted, support = np.diag(confusion), confusion.sum(axis=0), confusion.sum(axis=1)
    rows = [
        (name, _proportion(hit, n_predicted), _proportion(hit, n_true), f"{n_true:,}")
        for name, hit, n_predicted, n_true in zip(classes, hits, predicted, support, strict=True)
    ]
    header = ("class", "precision", "recall", "labels")
    return table("Precision and recall of each class", header, rows, kind="by-class")


def _proportion(hits: int, n: int) -> str:
    if n == 0:
        return "–"
    low, high = wilson_interval(int(hits), int(n))
    return f"{percent(hits / n)} ({100 * low:.0f}{SPACE}to{SPACE}{100 * high:.0f})"


def _confusion_cell(count: int, total: int, correct: bool) -> Html:
    """Return a cell of the confusion matrix, shaded by its share of the true class."""
    if count == 0:
        return Html('<span class="zero">·</span>')
    shade = round(100 * count / total)
    return Html(f'<span class="{"hit" if correct else "miss"}" style="--share:{shade}">{count:,}</span>')


def residuals_section(truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> Section:
    """Return the errors of a regressor on hidden values (n,)."""
    n, errors = len(truth), predicted - truth
    median, most = np.quantile(np.abs(errors), [0.5, 0.9])
    bias = float(errors.mean())
    low, high = number_text(truth.min()), number_text(truth.max())
    finding = (
        f"On {counted(n, 'hidden value')}, the median absolute error is {number_text(median, 3)}, and 90 % of the "
        f"errors are at most {number_text(most, 3)}; the values range from {low} to {high}."
    )
    if n < FEW_LABELS:
        finding += " With so few values, these numbers are rough."
    elif abs(bias) > 2 * float(errors.std()) / np.sqrt(n):
        finding += f" Predictions are too {'high' if bias > 0 else 'low'} by {number_text(abs(bias), 3)} on average."
    reading = (
        "Each point is a hidden value. On the dashed line the prediction is correct; the vertical distance to the line "
        "is the error."
    )
    figure = inline_svg(residuals_figure(truth, predicted), "residuals", "Scatter plot of predicted over true values")
    return Section(*ACCURACY, f"median error {number_text(median, 3)}", finding, reading, figure)
