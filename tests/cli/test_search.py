import json
from dataclasses import replace

import pytest

from s2gnn.learning.protocol import named_protocol
from s2gnn.learning.space import search_space


@pytest.fixture(autouse=True)
def _quick(tmp_path_factory, monkeypatch):
    """Few epochs, and graphs that are kept apart from the user's."""
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path_factory.getbasetemp() / "studies-cache"))
    monkeypatch.setattr("s2gnn.studies.cell.named_protocol", lambda name: replace(named_protocol(name), epochs=3))


def test_a_table_then_json_without_training_again(s2gnn, tmp_path):
    path = tmp_path / "new" / "search.db"
    arguments = ["study", "search", "--data", "digits", "--model", "mlp", "--sampler", "random", "--storage", path]
    arguments += ["--trials", 3, "--seeds", 2]
    code, out, err = s2gnn(*arguments)
    assert code == 0, err
    row = next(line for line in out.splitlines() if "3 of 3" in line)
    assert [word.strip() for word in row.split("│")[2:6]] == ["3", "0", "0", "0"]
    assert f"optuna-dashboard sqlite:///{path}" in out
    assert "digits knn mlp fair: 0 running, best" in err
    assert "Warning" not in err
    assert "A new study created" not in err
    code, again, _ = s2gnn(*arguments, "--json")
    content = json.loads(again)
    assert (content["complete"], content["finished"], content["trials"]) == (3, 3, 3)
    assert content["study"].startswith("digits knn mlp fair random ")
    best = {"lr": content["best"]["lr"], "weight_decay": content["best"]["weight_decay"], **content["best"]["model"]}
    assert best in [search_space("mlp").draw(0, index) for index in range(3)]
    assert f"--set lr={best['lr']} " in out
    assert f"{100 * content['score']:.2f}" in row


def test_no_time_says_how_to_go_on(s2gnn, tmp_path):
    path = tmp_path / "search.db"
    code, out, err = s2gnn("study", "search", "--data", "digits", "--storage", path, "--minutes", 0, "--trials", 4)
    assert code == 0
    assert "0 of 4" in out
    assert "0 of 4 trials are finished; the same command goes on from there" in err


def test_an_interrupt_says_how_to_go_on(s2gnn, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("s2gnn.search.workers.materials", interrupt)
    path = tmp_path / "search.db"
    code, out, err = s2gnn("study", "search", "--data", "digits", "--storage", path, "--trials", 2)
    assert (code, out) == (130, "")
    assert "0 of 2 trials are finished; the same command goes on from there" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--data", "mnist"], "there is no data set 'mnist'"),
        (["--model", "mpl"], "there is no model 'mpl'"),
        (["--protocol", "strict"], "there is no protocol 'strict'"),
        (["--sampler", "grid"], "Invalid value for '--sampler'"),
        (["--seeds", "6"], "Invalid value for '--seeds'"),
        (["--trials", "0"], "Invalid value for '--trials'"),
        (["--storage", "search.csv"], "search.csv does not end in .db"),
        (["--storage", "ftp://me:secret@host/x"], "the storage ftp://me:***@host/x cannot be opened"),
        (["--storage", "ftp://host/x?user=me&password=secret"], "ftp://host/x?user=me&password=*** cannot be opened"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(s2gnn, tmp_path, changes, message):
    arguments = {"--data": "digits", "--model": "mlp", "--storage": tmp_path / "search.db"}
    arguments.update([changes])
    code, _, err = s2gnn("study", "search", *(word for pair in arguments.items() for word in pair))
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert "secret" not in err
