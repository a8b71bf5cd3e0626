import re

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from s2gnn.report.accuracy_sections import accuracy_section, class_table, confusion_section, residuals_section
from tests.report.conftest import as_of_an_early_release, changed
from tests.report.test_elements import plain

SPECIES = ("setosa", "versicolor", "virginica")


def test_accuracy_with_its_interval_and_the_most_frequent_error():
    counts = np.array([[10, 0, 0], [0, 8, 2], [0, 0, 10]])
    assert plain(confusion_section(SPECIES, counts).finding) == (
        "Accuracy on 30 hidden labels: 93 % (28 correct). On similar rows, expect 79 % to 98 % (95 % interval), or "
        "slightly more, because the saved model was trained on all labels. Most frequent error: “versicolor” predicted "
        "as “virginica”, 2 of 10."
    )
    assert plain(confusion_section(SPECIES, counts).key) == "93 % correct (79 % to 98 %)"
    few = confusion_section(SPECIES, counts // 2)
    assert "With so few labels the 95 % interval is wide: 70 % to 99 %. No error occurs twice." in plain(few.finding)
    assert few.key == "14 of 15 correct"


def test_of_many_classes_the_most_frequent_errors_are_listed():
    confusion = np.diag(np.full(100, 3))
    confusion[7, 9] = 5
    section = confusion_section([f"class {index}" for index in range(100)], confusion)
    assert "true ↓" not in section.figure
    assert '<th scope="row">class 7</th><td>class 9</td><td>5</td>' in section.figure


def test_errors_of_values():
    truth = np.linspace(0, 100, 44)
    section = residuals_section(truth, truth + np.arange(44) % 11)
    assert section.key == "median error 5"
    assert "90 % of the errors are at most 9; the values range from 0 to 100." in section.finding
    assert "Predictions are too high by 5 on average" in section.finding


def test_why_the_accuracy_was_not_measured(classifier, regressor):
    few = {"targets_": np.arange(3), "evaluation_": None}
    for model, why in [
        (as_of_an_early_release(classifier.model), "This folder contains no labels"),
        (changed(classifier.model, **few), "label at least two rows in each of two classes"),
        (changed(classifier.model, evaluation_=None), "call evaluate() of the estimator before saving it"),
        (changed(regressor.model, **few), "at least four are needed"),
    ]:
        section = accuracy_section(model)
        assert section.key == "not measured"
        assert why in section.finding


def test_precision_and_recall_are_scikit_learns():
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    precision, recall, _, support = precision_recall_fscore_support(truth, predicted)
    rows = plain(class_table(SPECIES, confusion_matrix(truth, predicted))).split("<tr>")[2:]
    for name, row, *scores, n in zip(SPECIES, rows, precision, recall, support, strict=True):
        cells = re.findall(r"<td>(.*?)</td>", row)
        assert f'<th scope="row">{name}</th>' in row
        assert [cell.split(" %")[0] for cell in cells] == [*(f"{100 * score:.0f}" for score in scores), str(n)]
    interval = binomtest(round(recall[0] * support[0]), int(support[0])).proportion_ci(method="wilson")
    assert f"({100 * interval.low:.0f} to {100 * interval.high:.0f})" in re.findall(r"<td>(.*?)</td>", rows[0])[1]


def test_a_class_that_is_never_predicted_has_no_precision():
    assert "<td>–</td><td>0 % (0 to 49)</td><td>4</td>" in plain(class_table(("a", "b"), np.array([[5, 0], [4, 0]])))
