import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from s2gnn import Graph, S2GNNClassifier
from s2gnn.estimator import Evaluation, ModelCard
from s2gnn.estimator.table_columns import Column
from s2gnn.report.explanation_section import explain_rows
from s2gnn.report.model import ReportedModel
from s2gnn.report.page import model_layout, report_page, report_sections
from s2gnn.tables import Identifiers
from tests.pages import Outline
from tests.report.conftest import as_of_an_early_release

SECTIONS = [
    "data",
    "graph",
    "accuracy",
    "calibration",
    "comparison",
    "next",
    "why",
    "rows",
    "noise",
    "branches",
    "training",
]


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


def test_a_classifier(classifier):
    page = check_self_contained(classifier.page)
    assert [attrs["id"] for tag, attrs in page.seen if tag == "section"] == SECTIONS
    rows = [value for value in page.values("id") if value.startswith("row-") and value != "row-shown"]
    assert sorted(rows) == sorted(f"row-{row + 1}" for row in range(150))
    (title,) = [text for text in page.text if text.startswith("Row 1\n")]
    assert re.search(r"label: (setosa|v)", title)
    assert re.search(r"petal length: \d", title)


def test_a_regressor(regressor):
    page = check_self_contained(regressor.page)
    expected = [name for name in SECTIONS if name != "calibration"]
    assert [attrs["id"] for tag, attrs in page.seen if tag == "section"] == expected
    assert 'class="chart residuals"' in regressor.page
    assert 'class="chart quantities"' in regressor.page


def test_an_older_folder(classifier):
    model = as_of_an_early_release(classifier.model)
    sections = report_sections(model, classifier.layout, None, explain_rows(model), classifier.stability)
    text = report_page(model, classifier.layout, sections)
    check_self_contained(text)
    assert text.count("This folder contains no labels") == 1
    assert not {"calibration", "comparison", "why"} & {section.anchor for section in sections}
    assert "known" not in re.findall(r'class="points ([^"]*)"', text)


def test_texts_of_the_table_are_escaped(classifier):
    evil = '</title><script>alert("x")</script><img src=x onerror=alert(1)>\n&'
    columns = tuple(replace(column, name=evil) for column in classifier.model.columns)
    named = Identifiers(evil, [evil] * 150)
    card = ModelCard(source=evil, command=evil, left_out={evil: evil}, missing={evil: 1}, identifiers=named)
    model = replace(classifier.model, label=evil, columns=columns, card=card)
    model.__dict__["classes"] = (evil, "b", "c")
    explained, stability = classifier.explained, classifier.stability
    sections = report_sections(model, classifier.layout, classifier.comparison, explained, stability)
    page = Outline(report_page(model, classifier.layout, sections))
    assert [attrs.get("type") for tag, attrs in page.seen if tag == "script"] == ["application/json", None]
    assert "img" not in [tag for tag, _ in page.seen]
    assert not page.values("onerror")


@pytest.fixture
def large():
    """A model of 100,000 rows, hardly trained."""
    n, k, rng = 100_000, 6, np.random.default_rng(0)
    offsets = sp.diags_array([rng.uniform(0.1, 1, n - step) for step in range(1, k)], offsets=range(1, k))
    graph = Graph.from_scipy(sp.csr_array(offsets + offsets.T))
    X, y = rng.normal(size=(n, 12)), np.full(n, -1)
    labelled = np.sort(rng.permutation(n)[:2_000])
    y[labelled] = labelled * 10 // n
    estimator = S2GNNClassifier("precomputed", alpha=1, hidden_channels=4, max_epochs=1, n_networks=1, random_state=0)
    estimator.fit(X, y, adjacency=graph)
    answers = rng.dirichlet(np.ones(10), size=2_000)
    estimator.evaluation_ = Evaluation(labelled, np.zeros(2_000, dtype=int), answers, y[labelled])
    columns = tuple(Column(f"a column of some length {index}", index) for index in range(12))
    return ReportedModel("large", estimator, "label", columns, ModelCard())


def test_a_hundred_thousand_rows_are_a_page_of_less_than_five_megabytes(large, classifier):
    layout = model_layout(large)
    text = report_page(large, layout, report_sections(large, layout, classifier.comparison, {}, classifier.stability))
    page = check_self_contained(text)
    assert len(text.encode()) < 5 * 2**20
    assert [tag for tag, _ in page.seen].count("title") == 1 + len(layout.rows) == 1_501
    assert "1,500 of the 100,000 rows are drawn" in text
