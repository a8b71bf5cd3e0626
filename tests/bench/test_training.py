import pytest

from s2gnn.bench.tasks import LargeTask
from s2gnn.bench.training import large_needs, train_large

GIB = 2**30


def test_proteins_size():
    task = LargeTask()
    assert (task.nodes, task.edges, task.features, task.labels) == (132_534, 39_600_000, 8, 112)
    assert task.widths == [8, 64, 64, 112]
    assert large_needs(task, "ours") < 6 * GIB
    assert large_needs(task, "gcnconv") > 64 * GIB


def test_training_reports_time_and_memory_of_every_stage(monkeypatch, tmp_path):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path))
    task = LargeTask(nodes=100, edges=400, labels=5, hidden=4)
    run = train_large(task, "ours", epochs=2)
    assert [stage.name for stage in run.stages] == [
        "start",
        "load",
        "graph",
        "operator",
        "network",
        "epoch 1",
        "epoch 2",
    ]
    peaks = [stage.peak for stage in run.stages]
    assert peaks == sorted(peaks)
    for stage in run.stages:
        assert 0 < stage.resident <= stage.peak < 4 * GIB
        assert stage.seconds > 0
    assert run.not_run is None


def test_a_network_that_does_not_fit_is_not_trained(monkeypatch, tmp_path):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path))
    run = train_large(LargeTask(nodes=100, edges=400), "gcnconv", available=lambda: 1000)
    assert (run.stages, run.not_run) == ([], "memory")
    assert run.needs == pytest.approx(large_needs(LargeTask(nodes=100, edges=400), "gcnconv"))
