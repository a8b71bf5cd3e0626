import json
from pathlib import Path

import pytest

from s2gnn.experiments import make_experiment
from tests.experiments.made_records import append

ROOT = Path(__file__).parents[2]


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "runs.jsonl"
    append(path, make_experiment("cancer-b", "s2gnn", changes={"epsilon": 0.5}), [90.0, 92.0])
    append(path, make_experiment("digits", "mlp", "fair"), [80.0])
    return path


def test_a_file_of_records_is_shown(records, s2gnn):
    code, out, _ = s2gnn("study", "show", records, "--format", "markdown")
    assert code == 0
    assert "| Cancer-B | k-NN, k = 30 | S2-GNN | released | epsilon=0.5 | 91.00 ± 1.00 | 93.39 ± 0.41 |" in out
    code, out, _ = s2gnn("study", "show", records, "--format", "json")
    assert [summary["data"] for summary in json.loads(out)] == ["cancer-b", "digits"]
    code, out, _ = s2gnn("study", "show", records)
    assert (code, "runs.jsonl" in out) == (0, True)
    records.write_text("")
    code, _, err = s2gnn("study", "show", records)
    assert (code, "runs.jsonl has no records" in err) == (2, True)


def test_tables_are_written_into_a_document(records, s2gnn):
    folder = records.parent
    page = folder / "page.md"
    page.write_text("<!-- record: runs.jsonl -->\n<!-- end -->\n<!-- record: bench-graphs.json -->\n<!-- end -->\n")
    code, _, err = s2gnn("study", "document", page, "--results", folder)
    assert code == 0, err
    assert "| digits | k-NN, k = 30 | MLP | fair |" in page.read_text()
    assert f"No record yet: run `s2gnn bench graphs --record {folder.name}`" in page.read_text()
    (folder / "bench-graphs.json").write_text("{")
    code, _, err = s2gnn("study", "document", page, "--results", folder)
    assert (code, "bench-graphs.json is damaged" in err) == (2, True)
    page.write_bytes(b"\xff\xfe\x00")
    code, _, err = s2gnn("study", "document", page, "--results", folder)
    assert (code, "page.md is not text" in err) == (2, True)


@pytest.mark.parametrize("study", ["alpha", "links", "graph-classification-ten-fold"])
def test_a_study_without_a_search_has_no_runs_after_one(s2gnn, study):
    code, _, err = s2gnn("study", "show", study, "--budget", "full", "--results", ROOT / "results")
    assert code == 2
    assert f"s2gnn: {study} " in err
    assert "so it has no runs of a budget with a search: choose from smoke, quick, long" in err
