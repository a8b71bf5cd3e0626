import numpy as np
import pytest

from s2gnn import S2GNNClassifier
from s2gnn.labelling.rounds import RoundClassifier, Trainer, hardly_changed

SMALL = {"max_epochs": 3, "hidden_channels": 4, "random_state": 0}


@pytest.fixture
def table():
    """Two clusters, and the labels of a third of their rows, "" elsewhere."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 2)) + np.where(np.arange(30) < 15, -2, 2)[:, None]
    kinds = np.where(np.arange(30) < 15, "a", "b").astype(object)
    return points, np.where(np.arange(30) % 3 == 0, kinds, "")


def steps(trainer):
    """The number of folds until the estimator is calibrated, and whether any calibrated it."""
    outcomes = []
    while not trainer.is_done:
        outcomes.append(trainer.hide_fold())
    return len(outcomes), outcomes.count(True)


def test_after_all_folds_the_estimator_is_that_of_the_whole_fit(table):
    X, labels = table
    trainer = Trainer(X, SMALL)
    trainer.fit(labels)
    before = trainer.estimator.label_distributions_
    assert trainer.estimator.evaluation_ is None
    assert steps(trainer) == (5, 1)
    whole = S2GNNClassifier(scale=False, **SMALL).fit(X, np.where(labels == "", None, labels))
    np.testing.assert_array_equal(trainer.estimator.label_distributions_, whole.label_distributions_)
    assert trainer.estimator.evaluation_.scores == whole.evaluation_.scores
    assert not np.array_equal(before, whole.label_distributions_)


def test_a_later_round_blends_as_the_one_before_and_waits_for_one_fold_at_most(table, monkeypatch):
    X, labels = table
    trainer = Trainer(X, SMALL)
    trainer.fit(labels)
    steps(trainer)
    first, labels[1] = trainer.estimator, "a"
    trainer.fit(labels)
    assert trainer.estimator.hidden_ is first.hidden_
    assert trainer.estimator.evaluation_.scores == first.evaluation_.scores
    trainer.hide_fold()  # of the second round
    second, labels[2] = trainer.estimator, "a"
    learned = []
    monkeypatch.setattr(
        RoundClassifier, "_learn", lambda self, *a: learned.append(1) or S2GNNClassifier._learn(self, *a)
    )
    trainer.fit(labels)
    assert len(learned) == 1
    assert steps(trainer) == (9, 2)  # the other four folds of the second round calibrate the third, too
    assert trainer.estimator is not second
    assert len(trainer.estimator.hidden_.rows) == np.sum(labels != "")


def test_a_new_class_is_not_blended_by_a_round_that_did_not_know_it(table):
    X, labels = table
    trainer = Trainer(X, SMALL)
    trainer.fit(labels)
    trainer.hide_fold()
    labels[[1, 2]] = "c"
    trainer.fit(labels)
    assert trainer.estimator.hidden_ is None
    assert steps(trainer) == (9, 1)
    assert trainer.estimator.label_distributions_.shape == (30, 3)


def test_without_two_classes_there_is_no_estimator_and_nothing_to_do(table):
    X, labels = table
    trainer = Trainer(X, SMALL)
    trainer.fit(labels)
    trainer.hide_fold()
    trainer.fit(np.where(labels == "a", "a", ""))
    assert trainer.estimator is None
    assert steps(trainer) == (1, 0)


def test_networks_alone_and_few_labels_have_no_folds(table):
    X, labels = table
    trainer = Trainer(X, {**SMALL, "network": "s2gnn", "n_networks": 1})
    trainer.fit(labels)
    assert steps(trainer) == (1, 0)
    trainer = Trainer(X, SMALL)
    trainer.fit(np.where(np.isin(np.arange(30), [0, 15]), labels, ""))
    assert steps(trainer) == (1, 0)


def test_predictions_have_hardly_changed_if_one_in_a_hundred_differs():
    class Fitted:
        def __init__(self, n):
            self.transduction_ = np.arange(200) < n

    assert not hardly_changed(None, Fitted(0))
    assert hardly_changed(Fitted(0), Fitted(2))
    assert not hardly_changed(Fitted(0), Fitted(3))
