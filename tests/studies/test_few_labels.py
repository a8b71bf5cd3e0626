import json

import numpy as np
import pytest

from s2gnn import InputError, S2GNNClassifier
from s2gnn.layout import rendered
from s2gnn.studies import few_labels
from s2gnn.studies.registry import study_layout


def test_a_draw_has_eight_labels_of_each_class_and_depends_on_its_seed():
    y = np.repeat([0, 1, 2], 50)
    partial = few_labels.draw_labels(y, 3)
    assert np.bincount(partial[partial >= 0]).tolist() == [8, 8, 8]
    np.testing.assert_array_equal(partial[partial >= 0], y[partial >= 0])
    np.testing.assert_array_equal(partial, few_labels.draw_labels(y, 3))
    assert (partial != few_labels.draw_labels(y, 4)).any()


def test_iris_is_measured_stored_and_shown(tmp_path, monkeypatch):
    quick = {**few_labels.METHODS, "S2GNNClassifier": lambda draw: S2GNNClassifier(max_epochs=30, random_state=draw)}
    monkeypatch.setattr(few_labels, "METHODS", quick)
    row = few_labels.measure("iris", draws=(0,))
    assert {method: len(scores) for method, scores in row.accuracies.items()} == dict.fromkeys(few_labels.METHODS, 1)
    assert all(0.7 < scores[0] <= 1 for scores in row.accuracies.values())
    few_labels.write(tmp_path / "few-labels.json", [row], "s2gnn study run few-labels")
    assert json.loads((tmp_path / "few-labels.json").read_text())["defaults"] == S2GNNClassifier().get_params()
    table = rendered(study_layout("few-labels", tmp_path), "markdown")
    best = max(row.accuracies.values())[0]
    assert f"**{100 * best:.1f} ± 0.0**" in table
    assert "| mean |" in table
    (tmp_path / "few-labels.json").write_text("{}")
    with pytest.raises(InputError, match="few-labels.json is damaged"):
        study_layout("few-labels", tmp_path)


def test_an_unknown_table_is_named():
    with pytest.raises(InputError, match="there is no data set 'flowers' in this study: choose from iris, wine"):
        few_labels.measure("flowers")
