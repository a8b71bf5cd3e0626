import re
from dataclasses import replace

import numpy as np
import pytest

from s2gnn import S2GNNClassifier
from s2gnn.report import explanation_section as module
from s2gnn.report.explanation_section import explain_rows, explanation_section, in_words, rows_to_explain
from tests.report.conftest import as_of_an_early_release


def test_rows_to_act_on_come_first(classifier, monkeypatch):
    model, hidden = classifier.model, classifier.model.estimator.evaluation_
    rows = rows_to_explain(model).tolist()
    assert sorted(rows) == list(range(150))
    assert rows[:12] == model.rows_to_label.tolist()
    wrong = [row for row in hidden.rows[hidden.predicted != hidden.targets].tolist() if row not in rows[:12]]
    assert wrong
    assert rows[12 : 12 + len(wrong)] == wrong
    rest = model.uncertainty[rows[12 + len(wrong) :]]
    assert (np.diff(rest) <= 0).all()
    of_row = 150 + len(model.columns) * model.estimator.n_features_in_
    monkeypatch.setattr(module, "MAX_VISITED", 20 * of_row)
    assert rows_to_explain(model).tolist() == rows[:20]


def test_nothing_is_explained_without_labels_or_members(classifier):
    assert explain_rows(as_of_an_early_release(classifier.model)) == {}
    X = np.random.default_rng(0).normal(size=(20, 4))
    alone = S2GNNClassifier(network="s2gnn", max_epochs=2, n_networks=1).fit(X, np.arange(20) % 3 - 1)
    model = replace(classifier.model, estimator=alone)
    assert explain_rows(model) == {}
    assert explanation_section(model, {}, {}) is None


def test_explanations_in_words(classifier):
    model, explained = classifier.model, classifier.explained
    row = int(model.rows_to_label[0])
    why, found = in_words(model, explained)[row], explained[row]
    shares = [float(re.search(r"([\d.]+)\N{NO-BREAK SPACE}%", part)[1]) for part in why.parts]
    assert sum(shares) == pytest.approx(100 * found.probability, abs=2)
    assert [part.split(":")[0] for part in why.parts] == ["columns alone", "similar rows", "networks"]
    place, effect = max(found.columns.items(), key=lambda item: abs(item[1]))
    column = model.columns[int(place)]
    value = model.texts(column, np.array([row]))[0]
    assert why.columns[0].startswith(f"{column.name} = {value}: odds × ")
    assert float(why.columns[0].split()[-1]) == pytest.approx(np.exp(effect), rel=0.05)
    most = np.abs(found.influence).argmax()
    label = model.classes[model.estimator.targets_[most]]
    assert why.labelled[0].startswith(f"row {found.labelled[most] + 1} ({label}): ")


def test_no_double_spaces_in_the_finding(classifier, regressor):
    for reported in (classifier, regressor):
        words = in_words(reported.model, reported.explained)
        assert "  " not in explanation_section(reported.model, reported.explained, words).finding


def test_values_change_by_amounts(regressor):
    model, explained = regressor.model, regressor.explained
    row = int(model.rows_to_label[0])
    why = in_words(model, explained)[row]
    assert sum(float(part.split(": ")[1]) for part in why.parts) == pytest.approx(model.predictions[row, 0], rel=0.01)
    assert re.search(r": [+-][\d.e+-]+$", why.columns[0])


def test_the_section_names_what_matters(classifier):
    (section,) = [section for section in classifier.sections if section.anchor == "why"]
    effects = np.abs([list(found.columns.values()) for found in classifier.explained.values()]).mean(axis=0)
    assert f"the column “{classifier.model.columns[effects.argmax()].name}” matters most" in section.finding
    assert section.finding.startswith("150\N{NO-BREAK SPACE}rows are explained.")
    assert section.figure.count("<tr>") == 1 + 12
