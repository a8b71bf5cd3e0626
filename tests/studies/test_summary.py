import json
from pathlib import Path

import pytest

from s2gnn.learning.records import Record, Records
from s2gnn.render import fill_sections
from s2gnn.studies import make_cell
from s2gnn.studies.summary import HEADER, render_records, summaries

ROOT = Path(__file__).parents[2]


def write(path, cell, accuracies):
    for seed, accuracy in zip(cell.seeds, accuracies, strict=False):
        metrics = {"test_accuracy": accuracy, "epoch": 3}
        budget = {"epochs": 500, "threads": 1}
        record = Record(cell.config_hash, seed, cell.config, metrics, 2.0, budget, "2024-01-01", "abc", {"torch": "2"})
        Records(path).append(record)


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "runs.jsonl"
    write(path, make_cell("cancer-b", "s2gnn", changes={"epsilon": 0.5}), [0.9, 0.92])
    write(path, make_cell("digits", "mlp", "fair"), [0.8])
    return path


def test_one_line_for_each_configuration_beside_the_papers_number(records):
    first, second = summaries(Records(records))
    assert (first.seeds, first.changed, first.published) == (2, {"epsilon": 0.5}, (93.39, 0.41))
    assert first.score.mean == pytest.approx(0.91)
    assert dict(zip(HEADER, first.cells(), strict=True))["difference"] == "-2.39"
    write(records, make_cell("digits", "label-spreading", share=0.05), [0.7])
    assert summaries(Records(records))[2].changed == {"share": 0.05}
    assert second.cells()[4:] == ("–", "80.00", "–", "–", "1", "2.0")


def test_folds_are_shown_as_folds_with_their_deviation(tmp_path, s2gnn):
    path = tmp_path / "folds.jsonl"
    write(path, make_cell("mutag", "gcn", "ten-fold"), [0.7, 0.9])
    (found,) = summaries(Records(path))
    assert found.cells()[5:] == ("80.00 ± 10.00", "–", "–", "2 folds", "2.0")
    cell = ("--data", "mutag", "--model", "gcn", "--protocol", "ten-fold", "--seeds", "2")
    code, out, err = s2gnn("study", "run", *cell, "--records", path)  # both are on record
    assert code == 0, err
    assert "Mean over folds on the test nodes or graphs ± their standard deviation" in out
    assert "80.00 ± 10.00" in out


def test_who_was_still_getting_better_and_who_could_stop_is_told(tmp_path):
    path = tmp_path / "runs.jsonl"
    cell = make_cell("cancer-b", "gcn", "fair-converged", seeds=2)
    for seed, epoch in zip(cell.seeds, (2999, 2990), strict=True):
        metrics, budget = {"test_accuracy": 0.9, "epoch": epoch}, {"epochs": 3000, "threads": 1}
        Records(path).append(Record(cell.config_hash, seed, cell.config, metrics, 2.0, budget, "2024", "abc", {}))
    text = render_records(path)
    assert "when the epochs were over, in most of their runs: gcn (cancer-b, fair-converged)." in text
    assert "each run at most 3000 epochs on 1 thread(s)." in text


def test_a_document_says_what_made_its_numbers(records):
    page = fill_sections(
        "<!-- record: runs.jsonl -->\n<!-- end -->", lambda name: render_records(records.parent / name)
    )
    assert "| cancer-b | knn, k = 30 | s2gnn | released | epsilon=0.5 | 91.00 ± 1.00 | 93.39 ± 0.41 |" in page
    assert "made at commit abc; each run 500 epochs on 1 thread(s)" in page
    assert "No records yet" in render_records(records.parent / "none.jsonl")


def test_the_command_prints_text_markdown_and_json(records, s2gnn):
    code, out, _ = s2gnn("study", "show", records, "--format", "markdown")
    assert (code, out) == (0, render_records(records) + "\n")
    code, out, _ = s2gnn("study", "show", records, "--format", "json")
    assert [line["data"] for line in json.loads(out)] == ["cancer-b", "digits"]
    code, out, _ = s2gnn("study", "show", records)
    assert code == 0
    assert "Records of runs.jsonl" in out
    code, _, err = s2gnn("study", "show", records.parent / "none.jsonl")
    assert code == 2
    assert "is not a file" in err


def test_the_command_writes_the_tables_into_a_document(records, s2gnn):
    page = records.parent / "page.md"
    page.write_text("<!-- record: runs.jsonl -->\n<!-- end -->\n<!-- record: bench-graphs.json -->\n<!-- end -->\n")
    code, _, err = s2gnn("study", "document", page, "--results", records.parent)
    assert code == 0, err
    assert "| digits | knn, k = 30 | mlp | fair |" in page.read_text()
    assert "No record yet: run `s2gnn bench graphs --json" in page.read_text()
    (records.parent / "bench-graphs.json").write_text("{")
    code, _, err = s2gnn("study", "document", page, "--results", records.parent)
    assert (code, "bench-graphs.json is damaged" in err) == (2, True)
    code, _, err = s2gnn("study", "document", "missing.md")
    assert (code, "missing.md is not a file" in err) == (2, True)


def test_the_page_on_reproduction_shows_the_records():
    page = (ROOT / "docs" / "reproduction.md").read_text()
    shown = fill_sections(page, lambda name: render_records(ROOT / "results" / name))
    assert shown == page, "run: s2gnn study document docs/reproduction.md"
