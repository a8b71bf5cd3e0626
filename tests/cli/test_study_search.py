import json
import shlex
from itertools import chain
from pathlib import Path

import pytest

from s2gnn.experiments.search_space import draw_values, search_space

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("separate_cache")


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.usefixtures("data_folder")
def test_a_search_for_link_prediction(s2gnn, tmp_path):
    options = ("--data", "cora", "--decoder", "dot", "--graph", "given", "--model", "mlp", "--seeds", 1, "--trials", 1)
    search = ("study", "search", *options, "--patience", 1, "--storage", tmp_path / "search.db", "--json")
    code, out, err = s2gnn(*search)
    assert code == 0, err
    assert json.loads(out)["experiment"]["decoder"] == "dot"
    assert json.loads(out)["finished"] == 1


def test_a_search_is_a_table_then_json_without_training_again(s2gnn, tmp_path):
    path = tmp_path / "new" / "search.db"
    arguments = ["study", "search", "--data", "digits", "--model", "mlp", "--sampler", "random", "--storage", path]
    arguments += ["--trials", 3, "--seeds", 2, "--patience", 1]
    code, out, err = s2gnn(*arguments)
    assert code == 0, err
    row = next(line for line in out.splitlines() if "3 of 3" in line)
    assert row.split()[3:7] == ["3", "0", "0", "0"]
    assert f"optuna-dashboard sqlite:///{path}" in out
    assert "digits knn mlp fair: 0 running, best" in err
    assert "Warning" not in err
    assert "A new study created" not in err
    code, again, _ = s2gnn(*arguments, "--json")
    content = json.loads(again)
    assert (content["complete"], content["failed"], content["finished"], content["trials"]) == (3, 0, 3, 3)
    assert content["study"].startswith("digits knn mlp fair random ")
    best = {"lr": content["best"]["lr"], "weight_decay": content["best"]["weight_decay"], **content["best"]["model"]}
    assert best in [draw_values(search_space("mlp"), 0, index) for index in range(3)]
    assert f"--set lr={best['lr']} " in out
    assert f"{100 * content['score']:.2f}" in row


def test_a_search_without_time_or_interrupted_says_how_to_resume(s2gnn, tmp_path, monkeypatch):
    arguments = ("study", "search", "--data", "digits", "--storage", tmp_path / "search.db", "--trials", 4)
    code, out, err = s2gnn(*arguments, "--minutes", 0)
    assert (code, "0 of 4" in out) == (0, True)
    assert "0 of 4 trials finished; rerun the command to resume" in err
    monkeypatch.setattr("s2gnn.experiments.search.load_task", interrupt)
    code, out, err = s2gnn(*arguments)
    assert (code, out) == (130, "")
    assert "0 of 4 trials finished; rerun the command to resume" in err
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
def test_an_unusable_search_is_one_sentence_and_exit_code_2(s2gnn, tmp_path, changes, message):
    arguments = {"--data": "digits", "--model": "mlp", "--storage": tmp_path / "search.db"}
    code, _, err = s2gnn("study", "search", *chain(*{**arguments, **dict([changes])}.items()))
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert "secret" not in err


def documented_searches():
    """The architecture searches of docs/hyperparameters.md, as words after `s2gnn`."""
    lines = (ROOT / "docs" / "hyperparameters.md").read_text(encoding="utf-8").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if "--model s2gnn+" in line]


@pytest.mark.parametrize("number", [0, 1], ids=["graphs", "links"])
def test_the_documented_architecture_searches_run_with_a_tiny_budget(s2gnn, tmp_path, data_folder, number):
    command = documented_searches()[number]
    command[command.index("--trials") + 1] = "2"
    command[command.index("--storage") + 1] = str(tmp_path / "search.db")
    code, out, err = s2gnn(*command, "--seeds", 1, "--patience", 2)
    assert code == 0, err
    assert "2 of 2" in out
    assert "best: --set " in out
