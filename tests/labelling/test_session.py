import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.labelling.labels import LabelledCopy
from s2gnn.labelling.session import Session, only_session
from s2gnn.labelling.settings import Settings
from s2gnn.tables import read_table
from tests.labelling.conftest import QUICK, write_blobs


@pytest.fixture
def path(tmp_path):
    write_blobs(tmp_path / "blobs.csv")
    return tmp_path / "blobs.csv"


def opened(path, **settings):
    copy = LabelledCopy.open(path, "kind")
    copy.create()
    return Session(copy, Settings(**{"parameters": QUICK, "classes": ("a", "b"), **settings}))


def test_the_first_rows_cover_the_table_and_later_ones_have_predictions(path):
    session = opened(path)
    rows = session.training.round.queue[:2]
    assert sorted((rows < 20).tolist()) == [False, True]  # one of each cluster
    assert session.state()["row"]["prediction"] is None
    for row in rows.tolist():
        session.answer(row, "a" if row < 20 else "b")
    session.training.finish()
    state = session.state()
    assert state["row"]["number"] not in rows
    assert sum(one["probability"] for one in state["row"]["prediction"]) == pytest.approx(1)
    assert {one["class"] for one in state["row"]["neighbours"]} == {"a", "b"}
    assert state["panel"]["counts"] == {"a": 1, "b": 1}
    assert state["panel"]["uncertain"] == np.sum(
        np.delete(session.training.round.estimator.label_distributions_, rows, axis=0).max(axis=1) < 0.8
    )


def test_undo_takes_back_answers_and_skips_in_order(path):
    session = opened(path)
    first = session.next_row()
    session.answer(first, "a")
    second = session.next_row()
    session.skip(second)
    assert session.next_row() not in (first, second)
    assert session.undo() == second == session.next_row()
    assert session.undo() == first == session.next_row()
    assert session.undo() is None
    assert set(session.copy.labels) == {""}


def test_skips_undo_and_the_order_of_classes_survive_a_restart(path):
    session = opened(path, classes=("b", "a"))
    session.add_class("c")
    first, second = session.next_row(), int(session.training.round.queue[1])
    session.answer(first, "a")
    session.skip(second)
    again = opened(path, classes=())
    assert again.classes == ["b", "a", "c"]
    assert again.state()["panel"]["skipped"] == 1
    assert second not in again.training.round.queue
    assert (again.undo(), again.undo(), again.undo()) == (second, first, None)
    assert opened(path).state()["panel"]["labelled"] == 0


def test_skipped_rows_can_be_shown_again(path):
    session = opened(path)
    rows = [session.next_row()]
    for row in rows:
        session.skip(row)
    session.answer(39, "b")
    session.show_skipped()
    assert opened(path).state()["panel"]["skipped"] == session.state()["panel"]["skipped"] == 0
    assert rows[0] in session.training.round.queue
    assert session.undo() == 39


def test_every_row_is_shown_once_until_none_is_left(path):
    session, shown = opened(path), []
    while (row := session.next_row()) is not None:
        shown.append(row)
        session.answer(row, "a" if row < 20 else "b")
    assert sorted(shown) == list(range(40))
    assert opened(path).state()["row"] is None


def test_wrong_answers_are_refused(path):
    session = opened(path)
    session.answer(0, "a")
    for call, problem in {
        lambda: session.answer(0, "b"): "row 1 is already labelled 'a', perhaps in another window",
        lambda: session.answer(1, "c"): "there is no class 'c': choose one of a, b",
        lambda: session.answer(40, "a"): "there is no row 41",
        lambda: session.add_class("  "): "a class needs a name",
        lambda: session.add_class("NA"): "'NA' marks a missing value",
    }.items():
        with pytest.raises(InputError, match=problem):
            call()
    session.add_class(" c\n d ")
    session.answer(1, "c d")
    assert opened(path).classes == ["a", "b", "c d"]


def test_stable_predictions_are_the_advice_to_stop(path):
    session = opened(path)
    session.answer(0, "a")
    session.answer(39, "b")
    advice = []
    for _ in range(5):
        session.training.finish()
        advice.append(session.state()["panel"]["advice"][:8])
    assert advice[0] != "You may " or "stop soon" in session.state()["panel"]["advice"]
    assert session.training.round.stable == 4
    assert "in each of the last 4 rounds" in session.state()["panel"]["advice"]
    assert session.state()["panel"]["stop"]


def test_the_panel_has_an_interval_within_0_and_1_and_says_when_every_row_is_labelled(path):
    session = opened(path, parameters=())
    for row in [*range(4), *range(36, 40)]:
        session.answer(row, "a" if row < 20 else "b")
    session.training.finish()
    accuracy = session.state()["panel"]["accuracy"]
    assert accuracy["rows"] == 8
    assert 0 <= accuracy["low"] <= accuracy["value"] <= accuracy["high"] <= 1
    for row in range(4, 36):
        session.answer(row, "a" if row < 20 else "b")
    panel = session.state()["panel"]
    assert (panel["advice"], panel["stop"]) == ("Every row is labelled.", True)
    assert panel["command"] == "s2gnn fit blobs.labelled.csv --label kind"


def test_a_second_session_is_refused(path):
    copy = LabelledCopy.open(path, "kind").path
    with only_session(copy), pytest.raises(InputError, match="is being labelled in another window"), only_session(copy):
        pass
    with only_session(copy):
        pass


def test_a_problem_in_training_is_shown_and_labelling_continues(path, monkeypatch):
    session = opened(path, batch=1)

    def fails(*_):
        raise ArithmeticError("the loss is not finite")

    session.answer(0, "a")
    session.answer(39, "b")
    monkeypatch.setattr("s2gnn.labelling.rounds.Trainer.fit", fails)
    with session.training.in_background():
        while session.state()["problem"] is None:
            time.sleep(0.01)
    assert session.state()["problem"] == "The model could not be trained: the loss is not finite"
    session.answer(1, "a")


ANSWERS = """
import os, signal, sys
from pathlib import Path
from s2gnn.labelling.labels import LabelledCopy
from s2gnn.labelling.session import Session, only_session
from s2gnn.labelling.settings import Settings
copy = LabelledCopy.open(Path(sys.argv[1]), "kind")
with only_session(copy.path):
    session = Session(copy, Settings(classes=("a", "b")))
    for row in range(3):
        session.answer(row, "a")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_session_has_lost_nothing_and_can_be_resumed(path):
    killed = subprocess.run([sys.executable, "-c", ANSWERS, str(path)], env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert killed.returncode == -signal.SIGKILL
    assert read_table(path.with_name("blobs.labelled.csv")).column("kind").tolist()[:4] == ["a", "a", "a", ""]
    with only_session(path.with_name("blobs.labelled.csv")):
        assert opened(path).state()["panel"]["labelled"] == 3
