import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.bench.cost_model import (
    RECORDS,
    WIDE,
    CostModel,
    EpochEstimate,
    Measured,
    byte_table,
    fit_costs,
    render_cost_model,
    task_table,
    unit_cost_table,
)
from s2gnn.operators import kernel
from s2gnn.render import fill_sections

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
PAGE = ROOT / "docs" / "howto" / "laptop-to-cluster.md"

native = pytest.mark.skipif(kernel.chosen() == kernel.PLAIN, reason="needs the native kernel, whose plan differs")


@pytest.fixture(scope="module")
def model():
    return CostModel(RESULTS)


def rows_of(table):
    """The texts of the cells after the first, by the text of the first."""
    return {first.text: [cell.text for cell in rest] for first, *rest in table.blocks[0].rows}


@native
def test_the_page_shows_the_model_of_the_records():
    page = PAGE.read_text(encoding="utf-8")
    shown = fill_sections(page, lambda name: {"cost-model": render_cost_model}[name](RESULTS))
    assert shown == page, "run: s2gnn study document docs/howto/laptop-to-cluster.md"


def test_bytes_are_those_of_the_records(model):
    for what, (_, _, ratio) in rows_of(byte_table(model)).items():
        if "resident" not in what:
            assert ratio == "1.000 to 1.000"
        elif "kept pages" not in what:  # by an allocator that returns nothing
            assert float(ratio) == pytest.approx(1, abs=0.1)


@native
def test_seconds_are_near_those_of_the_records(model):
    assert max(one.directions for one in model.measured) > 79_000_000
    assert sum(one.kind == "propagation" for one in model.measured) >= 8
    assert 0.7 < model.low < 1 < model.high < 2.5
    estimate = model.epoch(WIDE)
    assert estimate.low < estimate.seconds < estimate.high
    ten_times = model.epoch(replace(WIDE, edges=10 * WIDE.edges, nodes=10 * WIDE.nodes))
    assert ten_times.seconds > 10 * estimate.seconds  # the features are no longer propagated once


@native
def test_an_edge_costs_more_where_features_are_not_propagated_once(model):
    rows = rows_of(unit_cost_table(model, WIDE))
    few = rows["sparse products, 1,632 bytes fetched per edge, up to 599,186 nodes"]
    many = rows["sparse products, 3,808 bytes fetched per edge, beyond"]
    assert float(many[2]) / float(few[2]) == pytest.approx(3_808 / 1_632, rel=0.01)
    copied = "the network's copy of them, unless they are propagated once"
    assert rows[f"{copied}, up to 599,186 nodes"][1] == "0"
    assert rows[f"{copied}, beyond"][1] == "512"
    assert rows["features"] == ["0", "512", "", ""]


def test_a_task_that_was_run_has_measurements():
    estimate = EpochEstimate(3.0, 2.5, 40.2)
    rows = rows_of(task_table(WIDE, estimate))
    assert rows["graph"] == ["0.23 GiB"]
    assert rows["an epoch (step and evaluation)"] == ["2.5 to 40 s"]
    stages = [
        {"name": name, "seconds": seconds, "peak": peak * 2**30}
        for name, seconds, peak in (("network", 9, 1), ("epoch 1", 3, 5), ("epoch 2", 2, 5))
    ]
    rows = rows_of(task_table(WIDE, None, {"stages": stages, "not_run": None}))
    assert rows["peak of the process"][1] == "5.00 GiB"
    assert rows["an epoch (step and evaluation)"] == ["–", "2.0 s"]
    rows = rows_of(task_table(WIDE, None, {"stages": [], "not_run": "memory"}))
    assert rows["an epoch (step and evaluation)"] == ["–", "not run: memory"]


def test_records_that_are_not_there_are_named(tmp_path):
    with pytest.raises(
        InputError, match=r"there is no record .*bench-epoch.json: create it with s2gnn bench epoch --record .*"
    ):
        CostModel(tmp_path)
    (tmp_path / "bench-epoch.json").write_text("{")
    with pytest.raises(InputError, match=r"bench-epoch.json is damaged"):
        CostModel(tmp_path)


def test_records_are_those_of_one_processor_that_has_all(tmp_path):
    for name in RECORDS:
        text = (RESULTS / f"bench-{name}.json").read_text(encoding="utf-8")
        dated = json.loads(text) | {"date": "2030-01-01", "commit": "new"}
        (tmp_path / f"bench-{name}.json").write_text(text, encoding="utf-8")
        if name != "memory":
            (tmp_path / f"bench-{name}.other.json").write_text(json.dumps(dated), encoding="utf-8")
    assert "new" not in {record["commit"] for record in CostModel(tmp_path).records.values()}
    (tmp_path / "bench-memory.other.json").write_bytes((tmp_path / "bench-memory.json").read_bytes())
    assert CostModel(tmp_path).records["epoch"]["commit"] == "new"


def test_costs_that_made_the_seconds_are_found_again():
    costs = np.array([1.5, 1 / 40e9, 1 / 13e9])
    work = np.array([(0.2, 1e9, 0), (0, 0, 1e10), (1, 1e9, 1e9), (0, 1e8, 0)])
    measured = [Measured("epoch", "", 10**6, one, one @ costs) for one in work]
    assert fit_costs(measured) == pytest.approx(costs)
    with pytest.raises(InputError, match="do not separate dense products from sparse ones"):
        fit_costs(measured[:1])
