from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.semi_supervised import LabelSpreading

from s2gnn import Graph
from s2gnn.report import comparison
from s2gnn.report.comparison import CONSTANT, NETWORK, OURS, SPREADING, compare
from s2gnn.report.subject import load_subject


@pytest.fixture(scope="module")
def classifies(classifier_folder):
    return load_subject(classifier_folder)


def test_every_method_on_the_same_hidden_labels(classifies):
    shares = []
    found = compare(classifies, shares.append)
    assert shares == pytest.approx([1 / 3, 2 / 3, 1])
    assert [method.name for method in found.methods] == [OURS, NETWORK, SPREADING, CONSTANT]
    assert found.n == 30
    evidence = classifies.evidence
    ours = evidence.hidden.answers.argmax(axis=1) == evidence.hidden_targets()
    assert found.methods[0].score == pytest.approx(ours.mean())
    assert all(method.low <= method.score <= method.high for method in found.methods)
    assert all(method.score > 0.6 for method in found.methods[:3])
    assert found.methods[3].score < 0.5
    assert found.methods[3].p < 0.05


def test_hidden_labels_play_no_part(classifies):
    evidence = classifies.evidence
    rows = evidence.hidden.rows[evidence.hidden.folds == 0]
    given = ~np.isin(evidence.labelled, rows)
    wrong = np.where(given, evidence.targets, (evidence.targets + 1) % 3)
    other = replace(classifies, evidence=replace(evidence, targets=wrong))
    first, second = (comparison._answers(subject, given, rows) for subject in (classifies, other))
    for name in (NETWORK, SPREADING):
        np.testing.assert_array_equal(first[name], second[name])


def test_label_spreading_is_scikit_learns(classifies):
    adjacency = classifies.estimator.graph_.to_scipy().toarray()
    evidence = classifies.evidence
    partial = np.full(150, -1)
    partial[evidence.labelled] = evidence.targets
    theirs = LabelSpreading(kernel=lambda *_: adjacency, max_iter=30).fit(classifies.features, partial)
    ours = comparison._spread_classes(classifies, evidence.labelled, evidence.targets, 0)
    np.testing.assert_array_equal(ours, theirs.transduction_)


def test_spread_quantities_are_means_of_known_ones():
    graph = Graph.from_edge_list([(0, 1), (1, 2), (3, 4)])
    subject = SimpleNamespace(n_rows=5, estimator=SimpleNamespace(graph_=graph))
    spread = comparison._spread_values(subject, np.array([0, 2]), np.array([4.0, 8.0]), 1.0)
    assert spread[1] == pytest.approx(6.0)  # as near to both
    assert 4.0 < spread[0] < 4.5
    assert spread[3:].tolist() == [1.0, 1.0]  # no quantity reaches these


def test_errors_of_quantities(regressor_folder):
    found = compare(load_subject(regressor_folder))
    assert not found.classifies
    assert found.n == 100
    ours, *_, constant = found.methods
    assert ours.score < constant.score
    assert ours.low < ours.score < ours.high


def test_the_same_answer_for_all_is_the_commonest_label(classifies):
    evidence = classifies.evidence
    constant = compare(classifies).methods[-1]
    commonest = np.bincount(evidence.targets).argmax()
    assert constant.name == CONSTANT
    assert constant.score == np.mean(evidence.hidden_targets() == commonest) > 0.3


def test_the_chance_of_a_difference_is_mcnemars():
    truth = np.zeros(20, dtype=int)
    ours, other = (np.arange(20) < 4).astype(int), (np.arange(20) < 10).astype(int)
    methods = comparison._accuracies(truth, {OURS: ours, NETWORK: other, SPREADING: ours})
    assert [method.score for method in methods] == [0.8, 0.5, 0.8]
    assert methods[0].p is None
    assert methods[1].p == pytest.approx(2 * binom.cdf(0, 6, 0.5))
    assert methods[2].p == 1.0


def test_without_hidden_labels_there_is_nothing_to_compare(classifies):
    assert compare(replace(classifies, evidence=None)) is None
    assert compare(replace(classifies, evidence=replace(classifies.evidence, hidden=None))) is None
