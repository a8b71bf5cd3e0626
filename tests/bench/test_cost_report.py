from dataclasses import replace
from pathlib import Path

import pytest

from s2gnn import InputError
from s2gnn.bench.cost_records import byte_checks, measured_epochs, measured_propagations
from s2gnn.bench.cost_report import WIDE, EpochEstimate, FittedModel, _coefficients, render_cost_model, task_table
from s2gnn.bench.scale import LargeTraining, Stage
from s2gnn.operators import kernel
from s2gnn.render import fill_sections

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
PAGE = ROOT / "docs" / "howto" / "laptop-to-cluster.md"

native = pytest.mark.skipif(kernel.chosen() == kernel.PLAIN, reason="needs the native kernel, whose plan differs")


@native
def test_the_page_shows_the_model_of_the_records():
    page = PAGE.read_text(encoding="utf-8")
    shown = fill_sections(page, lambda name: {"cost-model": render_cost_model}[name](RESULTS))
    assert shown == page, "run: s2gnn study document docs/howto/laptop-to-cluster.md"


def test_bytes_are_those_of_the_records():
    for check in byte_checks(RESULTS):
        if "kept pages" in check.what:
            continue  # by an allocator that gives nothing back
        tolerance = 0.1 if "resident" in check.what else 0
        assert check.pairs
        for formula, measured in check.pairs:
            assert measured == pytest.approx(formula, rel=tolerance), check.what


@native
def test_seconds_are_near_those_of_the_records():
    model = FittedModel.of(RESULTS)
    epochs = measured_epochs(RESULTS)
    assert max(epoch.directions for epoch in epochs) > 79_000_000
    assert len(measured_propagations(RESULTS)) >= 8
    assert 0.7 < model.low < 1 < model.high < 2.5
    estimate = model.epoch(WIDE)
    assert estimate.low < estimate.seconds < estimate.high
    ten_times = model.epoch(replace(WIDE, edges=10 * WIDE.edges, nodes=10 * WIDE.nodes))
    assert ten_times.seconds > 10 * estimate.seconds  # the features are no longer propagated once


@native
def test_an_edge_costs_more_where_features_are_not_propagated_once():
    rows = {row[0]: row[1:] for row in _coefficients(FittedModel.of(RESULTS), WIDE).rows}
    few = rows["sparse products, 1,632 bytes fetched an edge, up to 599,186 nodes"]
    many = rows["sparse products, 3,808 bytes fetched an edge, beyond"]
    assert float(many[2]) / float(few[2]) == pytest.approx(3_808 / 1_632, rel=0.01)
    copied = "the network's copy of them, unless they are propagated once"
    assert rows[f"{copied}, up to 599,186 nodes"][1] == "0"
    assert rows[f"{copied}, beyond"][1] == "512"
    assert rows["features"] == ("0", "512", "", "")


def test_a_task_that_was_run_has_measurements():
    estimate = EpochEstimate(3.0, 2.5, 40.2)
    rows = {row[0]: row[1:] for row in task_table(WIDE, estimate).rows}
    assert rows["graph"] == ("0.23 GiB",)
    assert rows["an epoch, a step and an evaluation"] == ("2.5 to 40 s",)
    stages = [
        Stage("network", 9, 2**30, 2**30),
        Stage("epoch 1", 3, 2**31, 5 * 2**30),
        Stage("epoch 2", 2, 1, 5 * 2**30),
    ]
    rows = {row[0]: row[1:] for row in task_table(WIDE, None, LargeTraining("ours", 1, stages)).rows}
    assert rows["peak of the process"][1] == "5.00 GiB"
    assert rows["an epoch, a step and an evaluation"] == ("–", "2.0 s")
    assert "not run: memory" in task_table(WIDE, None, LargeTraining("ours", 1, [], "memory")).rows[-1]


def test_records_that_are_not_there_are_named(tmp_path):
    with pytest.raises(
        InputError, match=r"there is no record .*bench-epoch.json: make it with s2gnn bench epoch --json"
    ):
        FittedModel.of(tmp_path)
    (tmp_path / "bench-epoch.json").write_text("{")
    with pytest.raises(InputError, match=r"bench-epoch.json is damaged"):
        FittedModel.of(tmp_path)
