import time
from dataclasses import replace

import pytest

from s2gnn.learning.protocol import FAIR
from s2gnn.learning.records import RecordsFolder
from s2gnn.studies import make_cell, run_cell
from s2gnn.studies.schedule import Estimates, Job, run_jobs, unfinished

SHORT = replace(FAIR, epochs=3)


def cell(model, seeds=2, protocol=SHORT, **changes):
    return make_cell("digits", model, protocol, changes=changes, seeds=seeds)


@pytest.fixture
def records(tmp_path):
    return RecordsFolder(tmp_path, "study")


def scores(records):
    return {(record.config["model"], record.seed): record.metrics["test_accuracy"] for record in records.read()}


def test_processes_give_what_cells_one_by_one_give(records, tmp_path):
    jobs = [Job(cell("mlp"), "quick"), Job(cell("gcn"), "quick")]
    started = []
    finished = list(run_jobs(unfinished(jobs, records), records, processes=2, on_start=started.append))
    assert sorted(part.cell.model for part in finished) == sorted(part.cell.model for part in started) == ["gcn", "mlp"]
    assert [(part.done, part.failure) for part in finished] == [(2, None)] * 2
    apart = RecordsFolder(tmp_path / "apart", "study")
    for job in jobs:
        run_cell(job.cell, apart, threads=1)
    assert scores(records) == scores(apart)
    assert {record.budget["name"] for record in records.read()} == {"quick"}
    assert unfinished(jobs, records) == []


def test_what_any_file_of_the_folder_has_is_not_run_again(records, tmp_path):
    run_cell(cell("mlp", seeds=1), RecordsFolder(tmp_path, "earlier"))
    (part,) = unfinished([Job(cell("mlp", seeds=3), "quick")], records)
    assert part.cell.seeds == cell("mlp", seeds=3).seeds[1:]


def test_the_first_seeds_of_every_cell_come_before_the_next_of_any(records):
    jobs = [Job(cell("mlp", seeds=7), "long"), Job(cell("gcn", seeds=6), "long")]
    parts = unfinished([*jobs, jobs[0]], records)
    assert [(part.cell.model, len(part.cell.seeds)) for part in parts] == [
        ("mlp", 5),
        ("gcn", 5),
        ("mlp", 2),
        ("gcn", 1),
    ]


def test_a_cell_that_fails_does_not_stop_the_others(records, monkeypatch):
    monkeypatch.setattr("s2gnn.nn.baselines.gcn.GCN.prepare", None)
    jobs = [Job(cell("gcn"), "quick"), Job(cell("mlp"), "quick")]
    failed, done = run_jobs(unfinished(jobs, records), records)
    assert failed.failure.startswith("digits knn gcn fair: TypeError")
    assert (done.done, done.failure) == (2, None)


def test_no_time_no_run(records):
    assert list(run_jobs(unfinished([Job(cell("mlp"), "quick")], records), records, end=time.time())) == []
    assert records.read() == []


def test_no_run_starts_that_is_expected_to_end_too_late(records):
    (part,) = unfinished([Job(cell("mlp"), "quick")], records)
    (finished,) = run_jobs([replace(part, seconds=1e6)], records, end=time.time() + 3600)
    assert (finished.done, records.read()) == (0, [])


def test_estimates_come_from_records_or_from_a_few_epochs(records):
    assert Estimates(records, 1).seconds(cell("mlp")) > 0
    run_cell(cell("mlp", seeds=1), records, threads=1)
    per_epoch = records.read()[0].seconds / 3
    long = cell("mlp", protocol=FAIR, seeds=4, lr=0.02)
    assert Estimates(records, 1).seconds(long) == pytest.approx(4 * 500 * per_epoch)


def test_an_estimate_knows_that_a_run_stopped_early(records):
    stops = cell("mlp", seeds=1, protocol=replace(FAIR, epochs=40, patience=1), lr=1e-9)
    run_cell(stops, records, threads=1)
    record = records.read()[0]
    trained = record.metrics["epoch"] + 2
    assert trained < 40
    assert Estimates(records, 1).seconds(stops) == pytest.approx(40 * record.seconds / trained)


def test_a_yardstick_takes_no_epochs(records):
    spreading = cell("label-spreading", seeds=3, protocol=FAIR)
    assert 0 < Estimates(records, 1).seconds(spreading) < 10
    run_cell(replace(spreading, seeds=spreading.seeds[:1]), records, threads=1)
    assert Estimates(records, 1).seconds(spreading) == pytest.approx(3 * records.read()[0].seconds)
