import sys

import pytest

from s2gnn.bench.baselines import time_baseline
from s2gnn.bench.layers import BASELINES
from s2gnn.bench.machine import Machine
from s2gnn.bench.record import make_record
from s2gnn.bench.report import tables
from s2gnn.bench.workloads import SIZES, workload


@pytest.fixture
def task(monkeypatch):
    monkeypatch.setitem(SIZES, "small", (100, 400, 5, 3, 8, 2, 6))
    return workload("small")


def record(*timings):
    return make_record("s2gnn bench baselines", Machine(1e9, 1e9), timings=list(timings))


@pytest.mark.parametrize("model", BASELINES)
def test_an_epoch_of_both_is_timed(task, model):
    timing = time_baseline(task, model, heads=2, repetitions=1)
    assert (timing.workload, timing.model, timing.nodes, timing.nonzeros) == ("small", model, 100, 900)
    assert list(timing.ways) == ["ours", "pyg"]
    for outcome in timing.ways.values():
        assert outcome.milliseconds > 0
        assert outcome.needs > 0


def test_the_table_has_a_row_for_each_model(task):
    timings = [time_baseline(task, model, heads=2, repetitions=1) for model in ("gcn", "gat")]
    table = tables(record(*timings))[-1]
    assert table.title.endswith("on small: 900 nonzeros, layers 5 → 8 → 3, heads: 2")
    assert [row[0] for row in table.rows] == ["gcn", "gat"]
    ours, peer = (timings[1].ways[way].milliseconds for way in ("ours", "pyg"))
    assert table.rows[1][3] == f"{peer / ours:.1f}"


def test_where_pyg_is_not_installed_the_table_says_so(task, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    timing = time_baseline(task, "sgc", repetitions=1)
    assert timing.ways["ours"].milliseconds > 0
    assert tables(record(timing))[-1].rows[0][2:] == ("not installed", "–")


def test_what_does_not_fit_is_not_run(task):
    timing = time_baseline(task, "gatv2", repetitions=1, available=lambda: 0)
    name, ours, peer, ratio = tables(record(timing))[-1].rows[0]
    assert (name, ratio) == ("gatv2", "–")
    assert ours.startswith("not run: needs")
    assert peer.startswith("not run: needs")
