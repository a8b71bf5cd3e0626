import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2gnn.errors import DamagedRecordsWarning
from s2gnn.experiments import make_experiment
from s2gnn.experiments.experiment import canonical_json
from s2gnn.experiments.records import Record, Records, RecordsFolder, as_frame
from tests.experiments.made_records import made_record

EXPERIMENT = {
    "task": "nodes",
    "data": "ε",
    "graph": "knn",
    "model": "gcn",
    "lr": 0.01,
    "weight_decay": 0.0,
    "arguments": {"alpha": 3},
    "protocol": {"name": "fair", "keep": "best", "epochs": 5},
}
RECORD = Record(
    "c0ffee",
    7,
    EXPERIMENT,
    {"accuracy": 0.9, "epoch": 3},
    1.5,
    {"epochs": 5, "threads": 1},
    "2024-01-01T00:00:00+00:00",
    None,
    {"torch": "2"},
)
LINE = canonical_json({name: value for name, value in asdict(RECORD).items() if name != "error"})
SIZE = len(LINE) + 1


def test_what_is_appended_is_read_and_the_first_of_duplicates_counts(tmp_path):
    records = Records(tmp_path / "new" / "runs.jsonl")
    assert records.read() == []
    written = [RECORD, replace(RECORD, seed=8), replace(RECORD, key="b"), replace(RECORD, seconds=99.0)]
    for record in written:
        records.append(record)
    assert records.read() == written[:3]
    lines = records.path.read_text().splitlines()
    assert len(lines) == 4
    assert json.loads(lines[0])["metrics"] == {"accuracy": 0.9, "epoch": 3}


def test_a_line_has_an_error_only_where_a_trial_failed(tmp_path):
    records = Records(tmp_path / "runs.jsonl")
    failed = replace(RECORD, seed=8, error="TypeError: no")
    for record in (RECORD, failed):
        records.append(record)
    first, second = map(json.loads, records.path.read_text().splitlines())
    assert canonical_json(first) == LINE
    assert second == {**first, "seed": 8, "error": "TypeError: no"}
    assert records.read() == [RECORD, failed]


def test_a_folder_is_read_whole_and_written_to_one_file(tmp_path):
    Records(tmp_path / "a.jsonl").append(RECORD)
    folder = RecordsFolder(tmp_path, "b")
    folder.append(replace(RECORD, seed=8))
    folder.append(replace(RECORD, seconds=99.0))  # the first file already has it
    assert [(record.seed, record.seconds) for record in folder.read()] == [(7, 1.5), (8, 1.5)]
    assert len(Records(tmp_path / "b.jsonl").read()) == 2


def test_a_frame_has_one_row_for_each_record():
    nodes = make_experiment("digits", "gat", "fair", changes={"heads": 3})
    links = make_experiment("cora", "gcn", "fair", graph="given", decoder="dot")
    frame = as_frame([*(made_record(nodes, seed, 90.0 + seed) for seed in (1, 2)), made_record(links, 1)])
    assert len(frame) == 3
    first = frame.iloc[0]
    assert (first.key, first.seed, first.data, first.k, first.heads) == (nodes.key, 1, "digits", 30, 3)
    assert (first.protocol, first.budget, first.commit, first.seconds) == ("fair", "quick", "abc", 36.0)
    assert frame.groupby("model").test_accuracy.mean()["gat"] == pytest.approx(0.915)
    assert (frame.decoder.isna().tolist(), frame.task.tolist()) == ([True, True, False], ["nodes", "nodes", "links"])
    assert as_frame([]).empty


@settings(max_examples=150)
@given(offset=st.integers(0, 3 * SIZE), junk=st.sampled_from([b"", b"\0\0\0", b'{"seed": 3', b"\xff"]))
def test_a_line_torn_at_any_byte_loses_no_good_line(offset, junk):
    with tempfile.TemporaryDirectory() as folder:
        records = Records(Path(folder) / "runs.jsonl")
        whole = [replace(RECORD, seed=seed) for seed in (1, 2, 3)]
        for record in whole:
            records.append(record)
        content = records.path.read_bytes()[:offset] + junk
        records.path.write_bytes(content)
        # A line whose newline alone is missing is whole; junk behind it makes it a torn one.
        complete = offset // SIZE + (offset % SIZE == SIZE - 1 and not junk)
        torn = content[complete * SIZE :]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert records.read() == whole[:complete]
            records.append(RECORD)
            assert records.read() == [*whole[:complete], RECORD]
        expected = 2 if torn else 0
        assert [warning.category for warning in caught] == [DamagedRecordsWarning] * expected
        aside = Path(f"{records.path}.torn")
        assert (aside.read_bytes() if aside.exists() else b"") == (torn + b"\n" if torn else b"")
        assert records.path.read_bytes().endswith(b"\n")


def test_damaged_lines_are_skipped_with_one_warning_for_the_file(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(f"{LINE}\nno json\n[1]\n{canonical_json(asdict(replace(RECORD, seed=8)))}\n")
    with pytest.warns(DamagedRecordsWarning) as caught:
        assert [record.seed for record in Records(path).read()] == [7, 8]
    (warning,) = caught
    assert str(warning.message).startswith(f"line 2 and 1 more line of {path} cannot be read as a record")


def test_a_long_torn_line_is_found_across_blocks(tmp_path):
    records = Records(tmp_path / "runs.jsonl")
    records.append(RECORD)
    with records.path.open("ab") as stream:
        stream.write(b"x" * 200_000)
    with pytest.warns(DamagedRecordsWarning, match="its 200000 bytes are now in"):
        records.append(replace(RECORD, seed=8))
    assert [record.seed for record in records.read()] == [7, 8]


def test_a_full_disk_leaves_no_part_of_a_line(tmp_path, monkeypatch):
    records = Records(tmp_path / "runs.jsonl")
    records.append(RECORD)
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:10]))
    with pytest.raises(OSError, match="No space left"):
        records.append(replace(RECORD, seed=8))
    monkeypatch.undo()
    assert records.read() == [RECORD]
    assert len(records.path.read_bytes()) == SIZE


APPEND_MANY = """
import json, sys, time
from dataclasses import replace
from pathlib import Path
from s2gnn.experiments.records import Record, Records
record = Record(**json.loads(sys.argv[1]))
writer, path, flag = int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
print("ready", flush=True)
while not flag.exists():
    time.sleep(0.01)
for seed in range(writer * 1000, writer * 1000 + 1000):
    Records(path).append(replace(record, seed=seed, versions={"padding": "x" * (seed % 7) * 500}))
    print(seed, flush=True)
"""


def test_several_writers_and_a_reader_at_once_and_kill_9(tmp_path):
    records, flag = Records(tmp_path / "runs.jsonl"), tmp_path / "go"
    command = [sys.executable, "-c", APPEND_MANY, LINE]
    writers = [
        subprocess.Popen([*command, str(writer), records.path, flag], stdout=subprocess.PIPE, text=True)
        for writer in range(3)
    ]
    assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * 3
    flag.touch()
    counts = Counter()
    end = time.monotonic() + 30
    while (counts.total() < 100 or len(counts) < 3 or min(counts.values()) < 2) and time.monotonic() < end:
        counts = Counter(record.seed // 1000 for record in records.read())  # a torn line would warn: an error here
        time.sleep(0.01)
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
    printed = [[int(line) for line in writer.communicate()[0].split()] for writer in writers]
    assert all(printed)
    after = [record.seed for record in records.read()]
    assert len(after) == len(set(after)) >= 100
    for writer, seeds in enumerate(printed):
        kept = [seed for seed in after if seed // 1000 == writer]
        assert kept[: len(seeds)] == seeds  # nothing reported as written is lost; one more may be
        assert kept == list(itertools.islice(itertools.count(writer * 1000), len(kept)))
    records.append(replace(RECORD, seed=-1))
    assert [record.seed for record in records.read()] == [*after, -1]


@pytest.mark.parametrize(
    "line",
    [
        json.dumps({**json.loads(LINE), **change})
        for change in (
            {"metrics": None},
            {"metrics": {}},
            {"metrics": {"a": "b"}},
            {"metrics": {"accuracy": 0.9}},
            {"budget": {}},
            {"metrics": {"a": 10**400}},
            {"seed": [1]},
            {"seconds": None},
            {"seconds": 10**400},
            {"key": ["c0ffee"]},
            {"finished": 1},
            {"commit": {}},
            {"budget": {"epochs": "5"}},
            {"budget": {"name": ["long"]}},
            {"budget": {"epochs": 5}},
            {"experiment": {}},
            {"experiment": {**EXPERIMENT, "protocol": {}}},
            {"experiment": {**EXPERIMENT, "protocol": {"name": "fair", "keep": "best"}}},
            {"experiment": {**EXPERIMENT, "protocol": "fair"}},
            {"experiment": {**EXPERIMENT, "arguments": None}},
            {"experiment": {**EXPERIMENT, "lr": "0.01"}},
            {"experiment": {name: value for name, value in EXPERIMENT.items() if name != "graph"}},
            {"experiment": {**EXPERIMENT, "model": 1}},
        )
    ]
    + ["[" * 100_000],
)
def test_a_line_of_the_wrong_kind_is_no_record(tmp_path, line):
    path = tmp_path / "runs.jsonl"
    path.write_text(f"{line}\n{LINE}\n")
    with pytest.warns(DamagedRecordsWarning, match="line 1 of"):
        assert Records(path).read() == [RECORD]
