import json
import re
from dataclasses import replace

import numpy as np
import pytest

from s2gnn.report import predictions_section as module
from s2gnn.report.data_sections import labelling_section, row_texts
from s2gnn.report.predictions_section import listed_rows, predictions_section, predictions_table
from s2gnn.tables import Identifiers


def named(model, values):
    """The model with identifiers of its rows."""
    return replace(model, card=replace(model.card, identifiers=Identifiers("patient", values)))


@pytest.fixture
def patients(classifier):
    return named(classifier.model, ["", *(f"P-{row}" for row in range(2, 151))])


def test_every_row_with_label_and_prediction(patients):
    estimator = patients.estimator
    found = predictions_table(patients, np.arange(150))
    assert found["names"] == ("patient", "row", "predicted", "probability", "label", "predicted while hidden")
    assert found["file"] == "species.csv"
    row = int(estimator.evaluation_.rows[3])
    predicted = str(estimator.transduction_[row])
    assert found["rows"][row] == (
        f"P-{row + 1}",
        row + 1,
        predicted,
        round(float(estimator.label_distributions_[row].max()), 6),
        estimator.classes_[estimator.evaluation_.targets[3]],
        estimator.classes_[estimator.evaluation_.predicted[3]],
    )
    unlabelled = int(patients.unlabelled[0])
    assert found["rows"][unlabelled][4:] == (None, None)


def test_values(regressor):
    found = predictions_table(regressor.model, np.arange(200))
    assert found["names"] == ("row", "predicted", "label", "predicted while hidden")
    assert [line[1] for line in found["rows"]] == pytest.approx(regressor.model.predictions[:, 0], rel=1e-6)


def test_of_many_rows_the_least_certain_are_listed(classifier, monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 10)
    rows = listed_rows(classifier.model)
    expected = np.sort(classifier.model.uncertainty)[-10:]
    np.testing.assert_allclose(np.sort(classifier.model.uncertainty[rows]), expected)
    assert (
        "10 of the 150 rows are listed, those with the least certain"
        in predictions_section(classifier.model, {}).finding
    )


def test_hostile_values_stay_within_the_data(patients):
    evil = "</script><script>alert(1)</script><!--"
    section = predictions_section(named(patients, [evil] * 150), {3: [(evil, [evil])]})
    (content,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', section.figure, re.DOTALL)
    assert json.loads(content)["rows"][0][0] == evil
    assert json.loads(content)["why"] == {"4": [[evil, [evil]]]}
    assert section.figure.count("<script") == section.figure.count("</script") == 1


def test_rows_are_called_by_their_identifiers(patients):
    row = int(patients.rows_to_label[0])
    section = labelling_section(patients, np.arange(150))
    assert section.key == patients.row_name(row) == f"patient P-{row + 1}"
    assert f'<a href="#row-{row + 1}">P-{row + 1}</a>' in section.figure
    first, second = row_texts(patients, np.array([0, 1]))
    assert first.startswith("Row 1\n")  # it has none
    assert second.startswith("patient P-2 (row 2)\n")
