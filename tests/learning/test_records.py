import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2gnn import InputError
from s2gnn.errors import DamagedRecordsWarning
from s2gnn.learning.records import Record, Records, canonical_json, config_hash

RECORD = Record(
    "c0ffee", 7, {"name": "ε"}, {"accuracy": 0.9}, 1.5, {"epochs": 5}, "2024-01-01T00:00:00+00:00", None, {"torch": "2"}
)
SIZE = len(canonical_json(RECORD)) + 1


@dataclass(frozen=True)
class Choice:
    alpha: int = 4
    epsilon: float = 1.5
    frozen: tuple[str, ...] = ("fusion",)


def test_what_is_appended_is_read_and_the_first_of_duplicates_counts(tmp_path):
    records = Records(tmp_path / "new" / "runs.jsonl")
    assert records.read() == []
    written = [RECORD, replace(RECORD, seed=8), replace(RECORD, config_hash="b"), replace(RECORD, seconds=99.0)]
    for record in written:
        records.append(record)
    assert records.read() == written[:3]
    assert records.finished("c0ffee") == {7: written[0], 8: written[1]}
    lines = records.path.read_text().splitlines()
    assert len(lines) == 4
    assert json.loads(lines[0])["metrics"] == {"accuracy": 0.9}


def test_the_hash_is_that_of_sorted_json_in_every_process():
    assert canonical_json(Choice()) == '{"alpha":4,"epsilon":1.5,"frozen":["fusion"]}'
    assert config_hash(Choice()) == "a681c5a8f058f9dd"  # the first digits that sha256sum prints for that text
    assert config_hash({"frozen": ["fusion"], "epsilon": 1.5, "alpha": 4}) == config_hash(Choice())
    assert len({config_hash(Choice(alpha=alpha)) for alpha in range(100)}) == 100
    for bad in (float("nan"), {1, 2}):
        with pytest.raises(InputError, match="use finite numbers, strings and lists"):
            config_hash({"value": bad})


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


def test_a_damaged_line_in_the_middle_is_left_out_with_its_number(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(f"{canonical_json(RECORD)}\nno json\n[1]\n{canonical_json(replace(RECORD, seed=8))}\n")
    with pytest.warns(DamagedRecordsWarning) as caught:
        assert [record.seed for record in Records(path).read()] == [7, 8]
    first, second = (str(warning.message) for warning in caught)
    assert "line 2 of" in first
    assert "line 3 of" in second


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
from s2gnn.learning.records import Record, Records
record = Record(**json.loads(sys.argv[1]))
writer, path, flag = int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
print("ready", flush=True)
while not flag.exists():
    time.sleep(0.01)
for seed in range(writer * 1000, writer * 1000 + 1000):
    Records(path).append(replace(record, seed=seed, config={"padding": "x" * (seed % 7) * 500}))
    print(seed, flush=True)
"""


def test_several_writers_and_a_reader_at_once_and_kill_9(tmp_path):
    records, flag = Records(tmp_path / "runs.jsonl"), tmp_path / "go"
    command = [sys.executable, "-c", APPEND_MANY, canonical_json(RECORD)]
    writers = [
        subprocess.Popen([*command, str(writer), records.path, flag], stdout=subprocess.PIPE, text=True)
        for writer in range(3)
    ]
    assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * 3
    flag.touch()
    seen = []
    end = time.monotonic() + 30
    while len(seen) < 100 and time.monotonic() < end:
        seen = records.read()  # a torn line would be a warning, which is an error here
        time.sleep(0.01)
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
    said = [[int(line) for line in writer.communicate()[0].split()] for writer in writers]
    assert all(said)
    after = [record.seed for record in records.read()]
    assert len(after) == len(set(after)) >= 100
    for writer, seeds in enumerate(said):
        kept = [seed for seed in after if seed // 1000 == writer]
        assert kept[: len(seeds)] == seeds  # nothing said to be written is lost; one more may be
        assert kept == list(itertools.islice(itertools.count(writer * 1000), len(kept)))
    records.append(replace(RECORD, seed=-1))
    assert [record.seed for record in records.read()] == [*after, -1]


@pytest.mark.parametrize(
    "line",
    [
        json.dumps({**json.loads(canonical_json(RECORD)), **change})
        for change in ({"metrics": None}, {"metrics": {}}, {"metrics": {"a": "b"}}, {"seed": [1]}, {"seconds": None})
    ]
    + ["[" * 100_000],
)
def test_a_line_of_the_wrong_kind_is_no_record(tmp_path, line):
    path = tmp_path / "runs.jsonl"
    path.write_text(f"{line}\n{canonical_json(RECORD)}\n")
    with pytest.warns(DamagedRecordsWarning, match="line 1 of"):
        assert Records(path).read() == [RECORD]
