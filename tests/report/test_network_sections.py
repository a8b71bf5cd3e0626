from dataclasses import replace

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    ("share", "text", "key"),
    [
        (0.0, "0.0 %", "robust"),
        (0.01049, "1.0 %", "robust"),
        (0.0504, "5.0 %", "fairly robust"),
        (0.0506, "5.1 %", "sensitive"),
    ],
)
def test_robustness_is_judged_by_the_number_that_is_shown(classifier, share, text, key):
    found = classifier.stability
    section = noise_section(replace(found, flips=np.full_like(found.flips, share)))
    assert f"with 10 % of the edges removed, {text} of the predictions change" in plain(section.finding)
    assert f"with weights changed by 32 %, {text};" in plain(section.finding)
    assert section.key == key


def test_noise_that_the_graph_has_no_room_for_is_not_mentioned(classifier):
    found = classifier.stability
    rows = [row for row, noise in enumerate(found.noises) if noise.kind != "added"]
    crowded = replace(found, noises=tuple(found.noises[row] for row in rows), flips=found.flips[rows])
    assert "random edges" not in noise_section(crowded).finding
    assert noise_section(None).key == "not measured"


def test_values_move_relative_to_their_spread(regressor):
    assert "% of their spread" in noise_section(regressor.stability).finding


def test_training(classifier):
    section = training_section(classifier.model)
    assert section.finding.startswith("2 networks, whose predictions are averaged, were trained for 40 epochs")
    assert "too few labels for a validation set" in section.finding
