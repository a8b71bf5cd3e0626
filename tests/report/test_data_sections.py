import re

import numpy as np

from s2gnn.labelling import suggest
from s2gnn.report.data_sections import data_section, graph_section, labelling_section, row_texts, summary
from tests.report.conftest import as_of_an_early_release, changed
from tests.report.test_elements import plain


def test_summary(classifier, regressor):
    assert plain(summary(classifier.model)) == (
        "This model predicts “species”, one of 3 classes, from 5 columns. It was trained on 30 labelled rows among the "
        "150 rows of iris.csv, using a graph that connects similar rows."
    )
    assert "“progression”, a quantity," in summary(regressor.model)


def test_labels_missing_values_and_columns(classifier):
    section = data_section(classifier.model)
    assert plain(section.finding).startswith("30 of 150 rows (20 %) are labelled; 17 values are missing (2 %; ")
    assert re.search("“petal (length|width .*)” is the column that differs most", section.finding)
    assert re.search("size<small>small [0-9]+, large [0-9]+</small>.*<td>0</td>", section.figure)
    assert re.search("sepal width<small>.*</small>.*<td>17</td>", section.figure)
    assert '<th scope="row">(no name)</th><td>the names of the rows</td>' in section.figure
    labels = np.bincount(classifier.model.estimator.targets_)
    assert all(f"{name}</th><td>{n}</td>" in section.figure for name, n in zip(("setosa",), labels, strict=False))
    older = data_section(as_of_an_early_release(classifier.model))
    assert "the number of missing values is not known" in older.finding
    assert "setosa</th><td>–</td>" in older.figure


def test_graph(classifier):
    edges = classifier.model.estimator.graph_.n_edges
    finding = plain(graph_section(classifier.model, classifier.layout).finding)
    assert finding.startswith(f"Each row has {2 * edges / 150:.1f} neighbours on average ({edges:,} edges in total); ")


def test_a_row_is_shown_with_its_label_and_prediction(classifier):
    row = classifier.model.estimator.evaluation_.rows[:1]
    (text,) = row_texts(classifier.model, row)
    lines = text.split("\n")
    assert lines[0] == f"Row {row[0] + 1}"
    assert [line.split(":")[0] for line in lines[1:4]] == ["predicted", "label", "predicted while hidden"]
    assert len(lines) == 9


def with_confidence(model, confidence):
    """The model with these probabilities (N,) of the predicted classes."""
    rest = (1 - np.asarray(confidence)) / 2
    probabilities = np.stack([confidence, rest, rest], axis=1)
    return changed(model, answers_=probabilities)


def test_uncertain_rows_are_counted_among_the_unlabelled(classifier):
    model = classifier.model
    confidence = np.full(150, 0.9)
    confidence[model.estimator.labelled_[:2]] = 0.4
    confidence[model.unlabelled[:3]] = 0.4, 0.594, 0.596  # the last one reads 60 %
    uncertain = with_confidence(model, confidence)
    section = labelling_section(uncertain, np.arange(150))
    row = suggest(uncertain.estimator, 1)[0]
    assert section.key == f"row {row + 1}"
    best, second = (f"“{name}” with {round(100 * share)} %" for name, share in uncertain.likely_classes(row))
    assert plain(section.finding) == (
        f"Begin with row {row + 1}: {best} or {second}. Of the 120 unlabelled rows, 2 (2 %) are predicted with a "
        "probability of less than 60 %."
    )
    older = labelling_section(as_of_an_early_release(uncertain), np.arange(150))
    assert plain(older.finding).endswith("Of the 150 rows, 4 (3 %) are predicted with a probability of less than 60 %.")
    sure = labelling_section(with_confidence(model, np.full(150, 0.9)), np.arange(150))
    assert plain(sure.finding).endswith("All 120 unlabelled rows are predicted with a probability of at least 60 %.")


def test_nothing_to_label(classifier):
    model = changed(classifier.model, labelled_=np.arange(150))
    assert labelling_section(model, np.arange(150)).finding == "Every row is labelled."


def test_uncertain_values(regressor):
    finding = labelling_section(regressor.model, regressor.layout.rows).finding
    assert re.search(r"row \d+: it predicts \d+\.?\d*, and estimates of it have a standard deviation of \d", finding)
