from dataclasses import replace

import numpy as np

from s2gnn.report.network_sections import branches_section, noise_section, training_section
from tests.report.test_elements import plain


def test_the_branch_that_stands_out_is_named():
    equal = branches_section(np.full((2, 5), 0.2), equal_weights=False)
    assert equal.key == "no branch stands out"
    assert "equal shares would be 20 %, 20 % and 60 %" in plain(equal.finding)
    lone = branches_section(np.array([[0.6, 0.1, 0.1, 0.1, 0.1]]), equal_weights=False)
    assert lone.key == "mostly branch 0"
    assert plain(lone.finding).startswith(
        "60 % of the weight is on the row itself (branch 0), 10 % on all its neighbours (branch 1) and 30 % on branches"
    )


def test_branches_above_the_first_are_alike_if_all_edges_weigh_the_same():
    section = branches_section(np.array([[0.3, 0.2, 0.5]]), equal_weights=True)
    assert plain(section.key) == "neighbours, 70 %"
    assert "on the row itself (branch 0) and 70 % on its neighbours" in plain(section.finding)
    assert "All edges of this graph have the same weight" in section.finding


def test_noise(classifier):
    section = noise_section(replace(classifier.stability, flips=np.full_like(classifier.stability.flips, 0.0504)))
    assert section.key == "fairly robust"
    assert section.finding.endswith("at most 5.0 % of the predicted classes change.")
    unmoved = noise_section(replace(classifier.stability, flips=np.zeros_like(classifier.stability.flips)))
    assert unmoved.finding.endswith("no predicted class changes.")
    assert noise_section(None).key == "not measured"
    assert noise_section(None).finding == "The graph has fewer than 20 edges, or all predictions are equal."


def test_training(classifier):
    section = training_section(classifier.model)
    assert section.finding.startswith("2 networks, whose predictions are averaged, were trained for 40 epochs")
    assert "too few labels for a validation set" in section.finding
