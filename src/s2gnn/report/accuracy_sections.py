"""The sections on hidden labels: accuracy, calibration, and comparison with simpler methods."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix

from s2gnn.estimator.evaluation import wilson_interval
from s2gnn.report.baselines import CONSTANT, OURS, PERCEPTRON, Comparison
from s2gnn.report.columns import number_text
from s2gnn.report.elements import Html, Section, counted, listed, percent, points, table
from s2gnn.report.figures import calibration_figure, comparison_figure, residuals_figure
from s2gnn.report.model import ReportedModel
from s2gnn.report.svg import chart, inline_svg

FEW_LABELS = 30  # below this number of hidden labels, an accuracy is called rough
SIGNIFICANT = 0.05
SMALL_GAP = 0.05  # between confidence and accuracy
MAX_BINS = 10
LABELS_PER_BIN = 20
MAX_IN_MATRIX = 30  # classes; with more, the most frequent errors are listed
ERRORS_LISTED = 20
NARROW_MATRIX = 6  # classes that fit next to the text
ACCURACY = ("accuracy", "How accurate is it?")


def accuracy_section(model: ReportedModel) -> Section:
    """The accuracy on hidden labels and the most frequent errors, or why it was not measured."""
    hidden = model.estimator.evaluation_
    if hidden is None:
        reading = (
            "Accuracy on training rows does not carry over to other rows. With hidden labels, this page "
            "also compares the model with simpler methods."
        )
        return Section(*ACCURACY, "not measured", _why_not_measured(model), reading)
    if model.classes is None:
        return residuals_section(hidden.targets, hidden.predicted)
    labels = range(len(model.classes))
    return confusion_section(model.classes, confusion_matrix(hidden.targets, hidden.predicted, labels=labels))


def _why_not_measured(model: ReportedModel) -> str:
    targets = model.estimator.targets_
    if targets is None:
        return "This folder contains no labels. Fit the model again to measure the accuracy."
    if model.classes is not None and np.sum(np.bincount(targets) >= 2) < 2:
        return "There are too few labels to hide some and predict them: label at least two rows in each of two classes."
    if len(targets) < 4:
        return "There are too few known values to hide some and predict them: at least four are needed."
    return "No labels were hidden: fit again without --folds 0, or call evaluate() before saving."


def confusion_section(classes: Sequence[str], confusion: NDArray[np.int64]) -> Section:
    """The accuracy of a classifier with this confusion matrix (C, C), whose rows are the true classes."""
    n, correct = int(confusion.sum()), int(np.trace(confusion))
    accuracy = percent(correct / n)
    interval = " to ".join(map(percent, wilson_interval(correct, n)))
    finding = f"Accuracy on {counted(n, 'hidden label')}: {accuracy} ({correct:,} correct). "
    if n < FEW_LABELS:
        key = f"{correct:,} of {n:,} correct"
        finding += f"With so few labels the 95 % interval is wide: {interval}."
    else:
        key = f"{accuracy} correct"
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
        times = "twice" if count == 2 else f"{count:,} times"
        most = f"Most frequent error: “{true_class}” predicted as “{predicted_class}”, {times}."
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
    return Section(*ACCURACY, key, finding, reading, figure, wide=len(classes) > NARROW_MATRIX)


def _confusion_cell(count: int, total: int, correct: bool) -> Html:
    """A cell of the confusion matrix, shaded by its share of the true class."""
    if count == 0:
        return Html('<span class="zero">·</span>')
    shade = round(100 * count / total)
    return Html(f'<span class="{"hit" if correct else "miss"}" style="--share:{shade}">{count:,}</span>')


def residuals_section(truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> Section:
    """The errors of a regressor on hidden values (n,)."""
    n, errors = len(truth), predicted - truth
    median, most = np.quantile(np.abs(errors), [0.5, 0.9])
    bias = float(errors.mean())
    finding = (
        f"On {counted(n, 'hidden value')}, the median absolute error is {median:.3g}, and 90 % of the errors are at "
        f"most {most:.3g}; the values range from {truth.min():.4g} to {truth.max():.4g}."
    )
    if n < FEW_LABELS:
        finding += " With so few values, these numbers are rough."
    elif abs(bias) > 2 * float(errors.std()) / np.sqrt(n):
        finding += f" Predictions are too {'high' if bias > 0 else 'low'} by {abs(bias):.3g} on average."
    reading = (
        "Each point is a hidden value. On the dashed line the prediction is correct; the vertical distance to the line "
        "is the error."
    )
    figure = inline_svg(residuals_figure(truth, predicted), "residuals", "Scatter plot of predicted over true values")
    return Section(*ACCURACY, f"median error {median:.3g}", finding, reading, figure)


class Bin(NamedTuple):
    """Mean confidence and accuracy, with its 95 % interval, of n hidden labels."""

    confidence: float
    accuracy: float
    low: float
    high: float
    n: int


def calibration_bins(confidence: NDArray[np.float64], correct: NDArray[np.bool_]) -> list[Bin]:
    """Up to ten quantile bins of the confidence (n,), of at least 20 labels each."""
    n_bins = int(np.clip(len(correct) // LABELS_PER_BIN, 1, MAX_BINS))
    edges = np.percentile(confidence, 100 * np.linspace(0, 1, n_bins + 1))
    index = np.searchsorted(edges[1:-1], confidence)
    bins = []
    for members in (index == number for number in np.unique(index)):
        n, hits = int(members.sum()), int(correct[members].sum())
        bins.append(Bin(float(confidence[members].mean()), hits / n, *wilson_interval(hits, n), n))
    return bins


def calibration_section(bins: Sequence[Bin]) -> Section:
    """Whether the predicted probabilities can be trusted."""
    confidence, accuracy, n = _total(bins)
    by_chance = binomtest(round(accuracy * n), n, confidence).pvalue >= SIGNIFICANT
    small, worst, gap = abs(confidence - accuracy) <= SMALL_GAP, _worst_confidence(bins), points(confidence, accuracy)
    if by_chance and (not small or n < FEW_LABELS):
        key, verdict = "too few labels to tell", f"With {n:,} labels, a difference of {gap} may be due to chance."
    elif by_chance and worst:
        key, verdict = "on average, yes", "Its probabilities are well calibrated on average."
    elif by_chance:
        key, verdict = "yes", "Its probabilities are well calibrated."
    else:
        key = ("slightly " if small else "") + ("overconfident" if confidence > accuracy else "underconfident")
        verdict = f"It is {key}, by {gap}."
    finding = (
        f"On the {counted(n, 'hidden label')}, the model’s mean confidence is {percent(confidence)} and its accuracy "
        f"{percent(accuracy)}. {verdict}{worst}"
    )
    reading = (
        "Each point is a group of hidden labels with similar confidence; the vertical line is the 95 % interval of "
        "their accuracy. On the dashed line confidence equals accuracy; below it the model is overconfident, above it "
        "underconfident."
    )
    header = ("confidence", "accuracy", "95 % interval", "hidden labels")
    rows = [
        (percent(bin.confidence), percent(bin.accuracy), f"{percent(bin.low)} to {percent(bin.high)}", f"{bin.n:,}")
        for bin in bins
    ]
    drawing = calibration_figure(*np.array(bins).T[:4])
    figure = chart(drawing, "calibration", "Chart of accuracy over confidence", header, rows)
    return Section("calibration", "Are its probabilities reliable?", key, finding, reading, figure)


def _total(bins: Sequence[Bin]) -> tuple[float, float, int]:
    """Mean confidence, accuracy and number of the labels in all bins."""
    counts = [bin.n for bin in bins]
    confidence, accuracy = (float(mean) for mean in np.average(np.array(bins)[:, :2], axis=0, weights=counts))
    return min(confidence, 1.0), accuracy, sum(counts)


def _worst_confidence(bins: Sequence[Bin]) -> str:
    """The confidence that chance explains least, if it is off significantly (with Bonferroni's correction).

    Bins whose confidence reads alike are merged, because the sentence is about all predictions with that confidence.
    """
    alike: dict[str, list[Bin]] = {}
    for bin in bins:
        alike.setdefault(percent(min(bin.confidence, 1.0)), []).append(bin)
    merged = {text: _total(members) for text, members in alike.items()}
    p_values = {text: binomtest(round(hit * n), n, confidence).pvalue for text, (confidence, hit, n) in merged.items()}
    worst = min(p_values, key=lambda text: p_values[text])
    if len(merged) < 2 or p_values[worst] >= SIGNIFICANT / len(merged):
        return ""
    return (
        f" Where its confidence is {worst}, its accuracy is {percent(merged[worst][1])}; chance does not explain this."
    )


def comparison_section(found: Comparison) -> Section:
    """S2-GNN compared with simpler methods."""
    ours, *others = found.methods
    measure, labels, spreading, constant = (
        ("Accuracy", "hidden label", "sees the graph, without the columns", "the most frequent class")
        if found.classifies
        else ("Mean absolute error", "hidden value", "averages known values along the graph", "the median")
    )
    form = percent if found.classifies else number_text
    scores = ", ".join(f"{method.name} {form(method.score)}" for method in found.methods)
    finding = f"{measure} on the same {counted(found.n, labels)}: {scores}."
    results: dict[str, list[str]] = {"better": [], "worse": [], "level": []}
    for method in others:
        if method.name != CONSTANT:
            decided = method.p is not None and method.p < SIGNIFICANT
            wins = (ours.score > method.score) == found.classifies
            results["level" if not decided else "better" if wins else "worse"].append(
                "the MLP" if method.name == PERCEPTRON else method.name
            )
    better, worse, level = results.values()
    key = "no clear difference"
    if better:
        finding += f" {OURS} is significantly better than {listed(better)}."
        key = f"better than {better[0]}, level with {level[0]}" if level else "beats both"
    if worse:
        finding += f" It is significantly worse than {listed(worse)}: use the simpler method."
        key = "a simpler method wins"
    if level:
        finding += f" The difference from {listed(level)} may be due to chance."
    reading = (
        f"Points are scores, lines are 95 % intervals{'' if found.classifies else '; further left is better'}. The "
        f"MLP, a small neural network, sees each row by itself, without the graph; label spreading {spreading}; the "
        f"constant prediction is {constant}."
    )
    header = ("method", measure.lower(), "95 % interval", "p-value")
    rows = [
        (
            method.name,
            form(method.score),
            f"{form(method.low)} to {form(method.high)}",
            "–" if method.p is None else "below 0.001" if method.p < 0.001 else f"{method.p:.2g}",
        )
        for method in found.methods
    ]
    description = "Chart of the score of every method with its interval"
    figure = chart(comparison_figure(found), "comparison", description, header, rows)
    return Section("comparison", "Is it better than simpler methods?", key, finding, reading, figure)
