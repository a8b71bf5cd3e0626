import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from s2gnn import Graph, S2GNNClassifier
from s2gnn.estimator.cross_validation import HiddenAnswers
from s2gnn.report.content import Content
from s2gnn.report.drawn_graph import draw_graph
from s2gnn.report.glance import glance
from s2gnn.report.held_out import calibration, confusion_matrix
from s2gnn.report.kept_columns import KeptColumn
from s2gnn.report.page import report_page
from s2gnn.report.subject import Subject
from s2gnn.report.unsure import least_sure
from tests.pages import Outline

SECTIONS = ["data", "graph", "answers", "sureness", "others", "next", "noise", "orders", "training"]


@pytest.fixture
def content(classifier_content):
    return classifier_content


def check_self_contained(text):
    """The page is sound, needs nothing else, and every reference leads to a place in it."""
    page = Outline(text)
    assert "http" not in text.replace('http-equiv="Content-Security-Policy"', "")
    assert not re.search(r"url\((?!#)|@import|\ssrc=", text)
    ids = page.values("id")
    assert len(set(ids)) == len(ids)
    for reference in [*page.values("href"), *page.values("aria-describedby")]:
        assert reference.removeprefix("#") in ids, reference
    return page


def test_a_classifier(content):
    text = report_page(content)
    page = check_self_contained(text)
    assert [attrs["id"] for tag, attrs in page.seen if tag == "section"] == SECTIONS
    rows = [value for value in page.values("id") if value.startswith("row-") and value != "row-shown"]
    assert sorted(rows) == sorted(f"row-{row + 1}" for row in range(150))
    titles = [text for text in page.text if text.startswith("Row 1\n")]
    assert len(titles) == 1
    assert "label setosa" in titles[0] or "label v" in titles[0]
    assert re.search(r"petal length: \d", titles[0])


def test_a_regressor(regressor_content):
    text = report_page(regressor_content)
    page = check_self_contained(text)
    assert [attrs["id"] for tag, attrs in page.seen if tag == "section"] == [
        name for name in SECTIONS if name != "sureness"
    ]
    assert 'class="chart residuals"' in text
    assert 'class="chart quantities"' in text


def test_an_older_folder(content):
    subject = replace(content.subject, evidence=None)
    bare = replace(content, subject=subject, glance=glance(subject), confusion=None, calibration=None, comparison=None)
    text = report_page(bare)
    check_self_contained(text)
    assert text.count("This folder keeps no labels") == 1
    assert not {"sureness", "others"} & {attrs["id"] for tag, attrs in Outline(text).seen if tag == "section"}
    assert "known" not in re.findall(r'class="points ([^"]*)"', text)


def test_texts_of_the_table_are_texts(content):
    evil = '</title><script>alert("x")</script><img src=x onerror=alert(1)>\n&'
    columns = tuple(replace(column, name=evil) for column in content.subject.columns)
    evidence = replace(content.subject.evidence, source=evil, command=evil, left_out={evil: evil}, missing={evil: 1})
    subject = replace(content.subject, label=evil, columns=columns, evidence=evidence)
    subject.__dict__["classes"] = (evil, "b", "c")
    text = report_page(replace(content, subject=subject, glance=glance(subject)))
    page = Outline(text)
    assert [tag for tag, _ in page.seen].count("script") == 1
    assert "img" not in [tag for tag, _ in page.seen]
    assert not page.values("onerror")


def test_many_classes_are_listed_by_their_commonest_mistakes(content):
    names = tuple(f"class {place}" for place in range(100))
    subject = replace(content.subject)
    subject.__dict__["classes"] = names
    confusion = np.diag(np.full(100, 3))
    confusion[7, 9] = 5
    text = report_page(replace(content, subject=subject, confusion=confusion))
    assert "true ↓" not in text
    assert '<th scope="row">class 7</th><td>class 9</td><td>5</td>' in text


@pytest.fixture
def large(content):
    """A report on 100,000 rows, whose network is not trained to any use."""
    n, k, rng = 100_000, 6, np.random.default_rng(0)
    offsets = sp.diags_array([rng.uniform(0.1, 1, n - step) for step in range(1, k)], offsets=range(1, k))
    graph = Graph.from_scipy(sp.csr_array(offsets + offsets.T))
    X, y = rng.normal(size=(n, 12)), np.full(n, -1)
    labelled = np.sort(rng.permutation(n)[:2_000])
    y[labelled] = labelled * 10 // n
    estimator = S2GNNClassifier("precomputed", alpha=1, hidden_channels=4, max_epochs=1, n_networks=1, random_state=0)
    estimator.fit(X, y, adjacency=graph)
    answers = rng.dirichlet(np.ones(10), size=2_000)
    targets = y[labelled]
    evidence = replace(
        content.subject.evidence,
        missing={},
        labelled=labelled,
        targets=targets,
        hidden=HiddenAnswers(labelled, np.zeros(2_000, dtype=int), answers),
    )
    columns = tuple(KeptColumn(f"a column of some length {place}", place) for place in range(12))
    subject = Subject("large", estimator, "label", columns, evidence)
    unsure = least_sure(subject)
    predicted = answers.argmax(axis=1)
    return Content(
        subject=subject,
        glance=glance(subject),
        graph=draw_graph(graph, np.concatenate([[row.row for row in unsure], labelled])),
        confusion=confusion_matrix(targets, predicted, 10),
        calibration=calibration(answers.max(axis=1), predicted == targets),
        residuals=None,
        unsure=unsure,
        orders=np.full((2, 2), 0.5),
        stability=content.stability,
        comparison=content.comparison,
    )


def test_a_hundred_thousand_rows_are_a_page_of_less_than_five_megabytes(large):
    text = report_page(large)
    page = check_self_contained(text)
    assert len(text.encode()) < 5 * 2**20
    assert [tag for tag, _ in page.seen].count("title") == 1 + len(large.graph.rows) == 1_501
    assert "Drawn are 1,500 of the 100,000 rows" in text
