import numpy as np
import pytest

from s2gnn import InputError, S2GNNClassifier
from s2gnn.render import render
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
    monkeypatch.setattr(few_labels, "DRAWS", (0,))
    few_labels.STUDY.run(tmp_path, "s2gnn study run few-labels", ("iris",), lambda text: None)
    assert few_labels.STUDY.read(tmp_path)["content"]["defaults"] == S2GNNClassifier().get_params()
    table = render(study_layout("few-labels", tmp_path), "markdown")
    best = max(row.accuracies.values())[0]
    assert f"**{100 * best:.1f} ± 0.0**" in table
    assert "| mean |" in table


def test_an_unknown_table_is_named(tmp_path):
    with pytest.raises(InputError, match="few-labels has no data set 'flowers': choose from iris, wine"):
        few_labels.STUDY.run(tmp_path, "s2gnn study run few-labels", ("flowers",), lambda text: None)
