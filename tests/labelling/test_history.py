import json

import pytest

from s2gnn import InputError
from s2gnn.labelling.history import History
from s2gnn.labelling.labels import LabelledCopy
from tests.labelling.conftest import write_blobs


@pytest.fixture
def copy(tmp_path):
    write_blobs(tmp_path / "blobs.csv")
    opened = LabelledCopy.open(tmp_path / "blobs.csv", "kind")
    opened.create()
    return opened


def test_it_lies_next_to_the_copy_and_belongs_to_it(copy):
    history = History.read(copy)
    history.add(3, "skip")
    assert history.path.name == "blobs.labelled.session.json"
    assert History.read(copy).skipped == [3]
    copy.path.unlink()  # to start again
    assert History.read(copy).answers == {}


def test_entries_that_a_crash_left_behind_are_dropped(copy):
    history = History.read(copy)
    for row in (0, 1):
        history.add(row, "label")
    copy.set(0, "a")  # the label of row 1 was not written any more
    history.add(2, "skip")
    copy.set(2, "b")
    history.add(40, "skip")  # of a table that had more rows
    assert History.read(copy).answers == {0: "label"}


def test_a_change_that_cannot_be_written_is_taken_back(copy, monkeypatch):
    history = History.read(copy)
    history.add(3, "skip")

    def full(*_):
        raise OSError(28, "No space left on device", "blobs.labelled.session.json")

    monkeypatch.setattr("s2gnn.labelling.history.write_atomically", full)
    for change in (lambda: history.add(4, "skip"), lambda: history.remove(3), lambda: history.add_class("c")):
        with pytest.raises(OSError, match="No space left"):
            change()
    assert (history.answers, history.classes) == ({3: "skip"}, [])


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"classes": []}', '{"classes": [1], "answers": []}', '{"classes": [], "answers": [[1, "delete"]]}'],
)
def test_a_damaged_file_is_refused(copy, content):
    History.read(copy).path.write_text(content)
    with pytest.raises(
        InputError, match="session.json is damaged .*: remove it to resume without skipped rows and undo"
    ):
        History.read(copy)


def test_classes_of_any_writing_are_stored(copy):
    history = History.read(copy)
    history.add_class('\u05e9\u05dc\u05d5\u05dd \U0001f600 \\ "')
    assert History.read(copy).classes == history.classes
    assert json.loads(history.path.read_text(encoding="utf-8"))["classes"] == history.classes
