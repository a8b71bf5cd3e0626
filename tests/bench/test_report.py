import json
from pathlib import Path

import pytest

from s2gnn import InputError
from s2gnn.bench.record import keep_record
from s2gnn.bench.report import render_benchmark
from s2gnn.render import fill_sections

PAGE = "Before\n<!-- record: bench-graphs.json -->\nold\n<!-- end -->\nafter\n"
RECORD = {
    "command": "s2gnn bench graphs --points 12500",
    "commit": "abc",
    "versions": {"torch": "2"},
    "kernel": "avx2",
    "threads": 4,
    "timings": [{"what": "k-NN", "points": 12500, "seconds": 1.5, "peak_mib": 800.4, "edges": 256568, "note": "exact"}],
}


def with_tables(text, results):
    return fill_sections(text, lambda name: render_benchmark(results / name))


def test_a_record_becomes_a_table(tmp_path):
    (tmp_path / "bench-graphs.json").write_text(json.dumps(RECORD))
    page = with_tables(PAGE, tmp_path)
    assert "| k-NN | 12,500 | 1.5 | 120 | 800 | 256,568 | exact |" in page
    assert "`s2gnn bench graphs --points 12500` at commit abc" in page
    assert page.startswith("Before\n")
    assert page.endswith("<!-- end -->\nafter\n")
    assert "old" not in page
    assert with_tables(page, tmp_path) == page


def test_a_record_that_is_missing_or_of_an_older_version_says_how_to_make_it(tmp_path):
    command = f"`s2gnn bench graphs --record {tmp_path.name}`"
    assert f"No record yet: run {command}" in with_tables(PAGE, tmp_path)
    (tmp_path / "bench-graphs.json").write_text(json.dumps(RECORD | {"timings": [{"what": "k-NN"}]}))
    assert f"The record was made by an older version and has no 'points': run {command}" in with_tables(PAGE, tmp_path)


def test_every_processor_has_its_record_and_the_latest_is_shown_first(tmp_path):
    (tmp_path / "bench-graphs.json").write_text(json.dumps(RECORD))
    for day, cpu in ((1, "Intel(R) Xeon(R) (model 1)"), (2, "AMD EPYC"), (3, "Intel(R) Xeon(R) (model 1)")):
        record = RECORD | {"cpu": cpu, "date": f"2030-01-0{day}", "commit": f"day {day}"}
        path = keep_record(record, tmp_path)
    assert path.name == "bench-graphs.intel-r-xeon-r-model-1.json"
    assert keep_record(record | {"environment": {"MALLOC_TRIM_THRESHOLD_": "1"}}, tmp_path).name.startswith(
        "bench-graphs-kept."
    )
    page = with_tables(PAGE, tmp_path)
    shown = ["commit day 3", "<summary>AMD EPYC</summary>", "commit day 2"]
    shown += ["<summary>Unnamed processor, kernel avx2, 4 threads</summary>", "commit abc"]
    places = [page.find(text) for text in shown]
    assert places == sorted(places)
    assert min(places) > 0
    assert "day 1" not in page
    assert page.count("| k-NN |") == 3


def test_a_page_without_markers():
    with pytest.raises(InputError, match="no section for a record"):
        with_tables("text", Path())
