import sys

import pytest

from s2gnn.bench.networks import BASELINES
from s2gnn.bench.report import make_record, tables
from s2gnn.bench.speed import time_baseline, time_grid
from s2gnn.bench.tasks import SIZES, workload
from s2gnn.bench.timing import Machine


@pytest.fixture
def task(monkeypatch):
    monkeypatch.setitem(SIZES, "small", (100, 400, 5, 3, 8, 2, 6))
    return workload("small")


def last_table(*timings):
    """The title and the texts of the rows."""
    record = make_record("s2gnn bench baselines", Machine(1e9, 1e9), timings=list(timings))
    table = tables(record)[-1]
    return table.title, [[cell.text for cell in row] for row in table.blocks[0].rows]


def test_the_grid_is_that_of_the_paper():
    timings = list(time_grid(nodes=(100,), rounds=1))
    assert [timing.graph for timing in timings] == [f"N = 100, p = 0.0{digit}" for digit in (3, 4, 5, 6)]
    assert [timing.nonzeros for timing in timings] == [100 + 2 * round(p * 4950) for p in (0.03, 0.04, 0.05, 0.06)]


@pytest.mark.parametrize("model", BASELINES)
def test_an_epoch_of_ours_and_pyg_is_timed(task, model):
    timing = time_baseline(task, model, heads=2, rounds=1)
    assert (timing.workload, timing.model, timing.nodes, timing.nonzeros) == ("small", model, 100, 900)
    assert list(timing.ways) == ["ours", "pyg"]
    for outcome in timing.ways.values():
        assert outcome.milliseconds > 0
        assert outcome.needs > 0


def test_the_table_has_a_row_for_each_model(task):
    timings = [time_baseline(task, model, heads=2, rounds=1) for model in ("gcn", "gat")]
    title, rows = last_table(*timings)
    assert title.endswith("on small: 900 nonzeros, layers 5 → 8 → 3, heads: 2")
    assert [row[0] for row in rows] == ["gcn", "gat"]
    ours, peer = (timings[1].ways[way].milliseconds for way in ("ours", "pyg"))
    assert rows[1][3] == f"{peer / ours:.1f}"


def test_the_table_shows_that_pyg_is_not_installed(task, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    timing = time_baseline(task, "sgc", rounds=1)
    assert timing.ways["ours"].milliseconds > 0
    assert last_table(timing)[1][0][2:] == ["not installed", "–"]


def test_what_does_not_fit_is_not_run(task):
    timing = time_baseline(task, "gatv2", rounds=1, available=lambda: 0)
    name, ours, peer, ratio = last_table(timing)[1][0]
    assert (name, ratio) == ("gatv2", "–")
    assert ours.startswith("not run: needs")
    assert peer.startswith("not run: needs")
