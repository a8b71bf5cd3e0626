import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris

from s2gnn import InputError, S2GNNClassifier
from s2gnn.estimator import save_estimator
from s2gnn.estimator.archive import packed, unpacked
from s2gnn.estimator.evaluation import Evaluation
from s2gnn.estimator.evidence import EVIDENCE, Evidence, load_evidence

ARRAYS = ("description", "labelled", "targets", "hidden", "folds", "answers")


@pytest.fixture(scope="module")
def estimator():
    X, y = load_iris(return_X_y=True)
    return S2GNNClassifier(max_epochs=2, n_networks=1).fit(X, np.where(np.arange(150) % 50 < 2, y, -1))


@pytest.fixture
def evidence():
    answers = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
    return Evidence(
        source="iris.csv",
        missing={"a": 3},
        left_out={"": "the names of the rows"},
        labelled=np.array([0, 1, 50, 51, 100, 101]),
        targets=np.array([0, 0, 1, 1, 2, 2]),
        hidden=Evaluation(np.array([1, 51]), np.array([0, 1]), answers, np.array([0, 1])),
        command="s2gnn fit",
        commit=None,
        versions={"torch": "2"},
    )


def write(folder, content):
    folder.mkdir(exist_ok=True)
    (folder / EVIDENCE).write_bytes(content)
    return folder


def test_what_is_kept_comes_back(estimator, evidence, tmp_path):
    found = load_evidence(write(tmp_path, evidence.stored()), estimator)
    for name in ("source", "missing", "left_out", "command", "commit", "versions"):
        assert getattr(found, name) == getattr(evidence, name)
    np.testing.assert_array_equal(found.labelled, evidence.labelled)
    np.testing.assert_array_equal(found.hidden.answers, evidence.hidden.answers)
    assert found.hidden.folds.tolist() == [0, 1]
    assert found.hidden.targets.tolist() == [0, 1]
    bare = load_evidence(write(tmp_path, replace(evidence, hidden=None).stored()), estimator)
    assert bare.hidden is None


def test_folders_without_it_are_older(estimator, tmp_path):
    save_estimator(estimator, tmp_path / "model")
    (tmp_path / "model" / EVIDENCE).unlink()
    assert load_evidence(tmp_path / "model", estimator) is None


@pytest.mark.parametrize(
    "change",
    [
        {"labelled": np.array([0, 1, 50, 51, 100, 150])},
        {"labelled": np.array([1, 0, 50, 51, 100, 101])},
        {"labelled": np.arange(5), "targets": np.zeros(5, dtype=int)},
        {"targets": np.array([0, 0, 1, 1, 2, 3])},
        {"targets": np.array([0, 0, 1, 1, 2])},
        {"hidden": np.array([1, 52])},
        {"folds": np.array([1])},
        {"answers": np.ones((2, 2))},
        {"answers": np.full((2, 3), np.nan)},
        {"labelled": np.array([["x"]])},
    ],
)
def test_what_belongs_to_another_model_is_refused(estimator, evidence, tmp_path, change):
    content = packed({**unpacked(evidence.stored(), ARRAYS), **change})
    with pytest.raises(InputError, match=r"evidence.npz cannot be read \(it does not belong to this model\): fit the"):
        load_evidence(write(tmp_path, content), estimator)


def test_damage_and_later_releases_are_named(estimator, evidence, tmp_path):
    arrays = unpacked(evidence.stored(), ARRAYS)
    said = json.loads(str(arrays["description"]))
    later = packed({**arrays, "description": np.array(json.dumps({**said, "version": 2}))})
    with pytest.raises(InputError, match="it has version 2, but this release reads version 1"):
        load_evidence(write(tmp_path, later), estimator)
    for content in (b"", evidence.stored()[:-40], packed({"labelled": np.arange(3)})):
        with pytest.raises(InputError, match="evidence.npz cannot be read"):
            load_evidence(write(tmp_path, content), estimator)


def test_a_link_is_not_followed(estimator, evidence, tmp_path):
    (tmp_path / "elsewhere").write_bytes(evidence.stored())
    (tmp_path / EVIDENCE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is missing or not a plain file"):
        load_evidence(tmp_path, estimator)
