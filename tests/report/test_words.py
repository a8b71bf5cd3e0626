import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from s2gnn import Graph
from s2gnn.report.comparison import CONSTANT, NETWORK, OURS, SPREADING, Comparison, Method
from s2gnn.report.held_out import calibration
from s2gnn.report.words import counted, listed, percent, points
from s2gnn.report.words_of_data import of_data, of_graph, of_unsure, summary
from s2gnn.report.words_of_network import of_noise, of_orders, of_training
from s2gnn.report.words_of_quality import of_answers, of_calibration, of_comparison


def plain(words):
    """What is found, with ordinary spaces."""
    return words.finding.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1, "100 %"), (0.126, "13 %"), (0.004, "0.4 %"), (0.0001, "under 0.1 %"), (0.996, "99.6 %")],
)
def test_shares_near_none_and_all_are_not_rounded_to_them(share, text):
    assert percent(share).replace("\N{NO-BREAK SPACE}", " ") == text


def test_counts_and_lists():
    assert [counted(n, "row").replace("\N{NO-BREAK SPACE}", " ") for n in (1, 2000)] == ["1 row", "2,000 rows"]
    assert [listed(list("abc"[:n])) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    assert points(0.93, 0.944).split() == ["1", "point"]
    assert points(0.9444, 0.8778).split() == ["6", "points"]  # 94 % and 88 %


@pytest.fixture
def content(classifier_content):
    return classifier_content


def test_data_graph_and_rows(content):
    assert "predicts “species”, one of 3 classes," in summary(content)
    assert summary(content).endswith("on a graph that joins each row to rows like it.")
    assert plain(of_data(content)).startswith("30 of 150 rows (20 %) have a label; 17 values are missing (2 %)")
    edges = content.subject.estimator.graph_.n_edges
    assert f"{2 * edges / 150:.1f} others on average, by {edges:,} edges" in plain(of_graph(content))
    first = content.unsure[0]
    assert f"least sure of row {first.row + 1}: “{first.answer}” with {100 * first.sureness:.0f} %" in plain(
        of_unsure(content)
    )


def test_answers_name_the_share_its_interval_and_the_commonest_mistake(content):
    counts = np.array([[10, 0, 0], [0, 8, 2], [0, 0, 10]])
    method = Method(OURS, 28 / 30, 0.787, 0.982, None)
    said = plain(of_answers(replace(content, confusion=counts, comparison=Comparison((method,), 30, True))))
    assert said == (
        "Of 30 labels that were hidden from it, it predicted 28 right (93 %). On other rows like those expect from "
        "79 % to 98 %, or a little more, since the model that is kept learned from all labels. Its commonest mistake: "
        "“versicolor” taken for “virginica”, twice."
    )
    few = of_answers(replace(content, confusion=counts // 2, comparison=Comparison((method,), 14, True)))
    assert "With so few, that says little" in few.finding
    assert few.key == "14 of 15 right"


def of_sureness(said, share, n):
    return calibration(np.full(n, said), np.arange(n) < share * n)


@pytest.mark.parametrize(
    ("said", "share", "n", "key"),
    [
        (0.9, 0.92, 200, "yes"),
        (0.9, 0.6, 200, "too sure"),
        (0.6, 0.9, 200, "too modest"),
        (0.99, 0.95, 200, "a little too sure"),
        (0.9, 0.75, 4, "too early to tell"),
        (0.75, 0.75, 4, "too early to tell"),
    ],
)
def test_a_sureness_is_judged_by_what_came_true_and_by_chance(content, said, share, n, key):
    assert of_calibration(replace(content, calibration=of_sureness(said, share, n))).key == key


def test_a_sureness_that_is_right_on_average_only(content):
    said, right = np.repeat([0.8, 0.9999], 100), np.concatenate([np.arange(100) < 95, np.arange(100) < 85])
    words = of_calibration(replace(content, calibration=calibration(said, right)))
    assert words.key == "on average, yes"
    assert "Where it says over 99.9 %, it is right in 85 % of the cases, which chance does not explain." in plain(words)


def test_bins_that_read_alike_are_one(content):
    said = np.repeat([0.8, 0.9995, 0.99999], 20)
    right = np.concatenate([np.arange(20) < 16, np.arange(20) < 19, np.arange(20) < 20])
    words = of_calibration(replace(content, calibration=calibration(said, right)))
    assert "Where it says over 99.9 %, it is right in 98 % of the cases" in plain(words)


def methods(ours, mlp, spreading, *, p):
    parts = zip((OURS, NETWORK, SPREADING, CONSTANT), (ours, mlp, spreading, 0.3), (None, *p, 0.0), strict=True)
    return tuple(Method(name, score, score - 0.1, score + 0.1, chance) for name, score, chance in parts)


@pytest.mark.parametrize(
    ("found", "classifies", "key"),
    [
        (methods(0.9, 0.7, 0.6, p=(0.01, 0.01)), True, "beats both"),
        (methods(0.9, 0.7, 0.8, p=(0.01, 0.3)), True, "beats an MLP"),
        (methods(0.9, 0.8, 0.8, p=(0.2, 0.3)), True, "no clear difference"),
        (methods(0.7, 0.9, 0.6, p=(0.01, 0.3)), True, "a simpler method wins"),
        (methods(0.7, 0.9, 0.8, p=(0.01, 0.01)), False, "beats both"),
    ],
)
def test_a_difference_counts_when_chance_does_not_explain_it(content, found, classifies, key):
    assert of_comparison(replace(content, comparison=Comparison(found, 50, classifies))).key == key


def test_the_orders_are_named_when_one_stands_out(content):
    equal = of_orders(replace(content, orders=np.full((2, 5), 0.2)))
    assert equal.key == "no order stands out"
    assert "with equal shares it would be 20 %, 20 % and 60 %" in plain(equal)
    lone = np.array([[0.6, 0.1, 0.1, 0.1, 0.1]])
    words = of_orders(replace(content, orders=lone))
    assert words.key == "order 0 most"
    assert (
        "Of its weight, 60 % lies on the row itself (order 0), 10 % on all its neighbours (order 1) and 30 %"
        in plain(words)
    )


def test_orders_above_the_first_are_alike_on_a_graph_without_weights(content):
    plain_graph = Graph.from_edge_list([(0, 1), (1, 2)], n_nodes=150)
    subject = replace(content.subject, estimator=SimpleNamespace(graph_=plain_graph))
    words = of_orders(replace(content, subject=subject, orders=np.array([[0.3, 0.2, 0.5]])))
    assert words.key.replace("\N{NO-BREAK SPACE}", " ") == "neighbours, 70 %"
    assert "30 % lies on the row itself (order 0) and 70 % on its neighbours" in plain(words)
    assert "All edges of this graph have the same weight" in plain(words)


def test_noise_is_judged_by_the_answers_that_change(content):
    found = content.stability
    calm = of_noise(replace(content, stability=replace(found, flips=np.zeros_like(found.flips))))
    assert calm.key == "robust"
    wild = of_noise(replace(content, stability=replace(found, flips=np.full_like(found.flips, 0.2))))
    assert wild.key == "sensitive"
    assert "20.0 % of the answers change" in plain(wild)
    assert "; with weights changed by 32 %, 20.0 %. It matters that the edges are right" in plain(wild)
    full = [row for row, noise in enumerate(found.noises) if noise.kind != "added"]
    crowded = replace(found, noises=tuple(found.noises[row] for row in full), flips=found.flips[full])
    assert "wrong ones" not in of_noise(replace(content, stability=crowded)).finding
    assert of_noise(replace(content, stability=None)).key == "not measured"


@pytest.mark.parametrize(
    ("share", "text", "key"),
    [(0.01049, "1.0 %", "robust"), (0.0504, "5.0 %", "fairly robust"), (0.0506, "5.1 %", "sensitive")],
)
def test_noise_is_judged_by_the_number_that_is_shown(content, share, text, key):
    found = content.stability
    words = of_noise(replace(content, stability=replace(found, flips=np.full_like(found.flips, share))))
    assert f"edges removed, {text} of the answers change" in plain(words)
    assert words.key == key


def with_sureness(content, sureness):
    """The content of a model that is so sure of its rows."""
    rest = (1 - np.asarray(sureness)) / 2
    answers = np.stack([sureness, rest, rest], axis=1)
    parts = {"classes_": content.subject.estimator.classes_, "label_distributions_": answers}
    estimator = SimpleNamespace(**parts, graph_=content.subject.estimator.graph_)
    return replace(content, subject=replace(content.subject, estimator=estimator))


def test_sureness_is_said_of_rows_without_a_label_and_of_hidden_labels_apart(content):
    sureness = np.full(150, 0.9)
    sureness[content.subject.labelled[:2]] = 0.4  # a label is not asked for where there is one
    sureness[np.setdiff1d(np.arange(150), content.subject.labelled)[:3]] = 0.4, 0.594, 0.596  # the last reads 60 %
    doubtful = replace(with_sureness(content, sureness), calibration=of_sureness(0.97, 0.95, 30))
    assert plain(of_unsure(doubtful)).endswith(
        " Of the 120 rows without a label it is less than 60 % sure of 2 (2 %). The hidden labels, of which it was "
        "97 % sure on average, belong to other rows."
    )
    assert plain(of_calibration(doubtful)).startswith(
        "Of the 30 hidden labels the model says on average that it is 97 % sure, and it is right in 97 % of these cases"
    )
    sure = with_sureness(content, np.full(150, 0.9))
    assert plain(of_unsure(sure)).endswith(" Of the 120 rows without a label it is at least 60 % sure of every one.")
    older = replace(doubtful, subject=replace(doubtful.subject, evidence=None), calibration=None)
    assert plain(of_unsure(older)).endswith(" Of all 150 rows it is less than 60 % sure of 4 (3 %).")


def test_training(content):
    assert plain(of_training(content)).startswith("2 networks, whose answers are averaged, were trained for 40 steps")


def test_what_was_not_measured_is_said_to_be_so(content):
    bare = replace(content, confusion=None, calibration=None, comparison=None)
    for words in (of_answers(bare), of_calibration(bare), of_comparison(bare)):
        assert words.key == "not measured"
        assert "No labels were hidden" in words.finding
    evidence = content.subject.evidence
    single = replace(evidence, labelled=evidence.labelled[:3], targets=np.arange(3))
    few = of_answers(replace(bare, subject=replace(content.subject, evidence=single)))
    assert "label two rows or more in each of two classes" in few.finding
    older = replace(bare, subject=replace(content.subject, evidence=None))
    assert "This folder keeps no labels" in of_answers(older).finding


def test_quantities(regressor_content):
    content = regressor_content
    assert "“progression”, a quantity," in summary(content)
    assert "Of 100 values that were hidden from it, half were predicted to within" in plain(of_answers(content))
    assert "of their spread" in of_noise(content).finding
    assert re.search(r"row \d+: it says \d+\.?\d*, the mean of estimates that differ by \d", of_unsure(content).finding)
