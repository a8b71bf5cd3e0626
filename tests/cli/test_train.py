import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from s2gnn.learning import Checkpoint
from s2gnn.nn import load_model

DIGITS = ("train", "digits", "--parts", 12, "--parts-per-batch", 3, "--set", "hidden_channels=8")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path_factory.getbasetemp() / "train-cache"))


def test_trains_in_parts_prints_scores_and_saves_the_network(s2gnn, tmp_path):
    code, out, err = s2gnn(*DIGITS, "--epochs", 15, "--out", tmp_path / "model")
    assert code == 0, err
    assert "\ngraph                 knn, k = 30: 1,797 nodes, " in out
    assert "training on digits" in err
    accuracy = float(next(line for line in out.splitlines() if line.startswith("test accuracy")).split()[2])
    assert 70 < accuracy <= 100
    assert load_model(tmp_path / "model").config.hidden_channels == 8


def test_a_run_resumes_from_its_checkpoint(s2gnn, tmp_path):
    path = tmp_path / "run.safetensors"
    code, out, err = s2gnn(*DIGITS, "--epochs", 4, "--checkpoint", path, "--json")
    assert code == 0, err
    assert json.loads(out)["epochs"] == 4
    code, out, _ = s2gnn(*DIGITS, "--epochs", 6, "--checkpoint", path, "--json")
    resumed = json.loads(out)
    assert resumed["new_epochs"] == 2
    code, out, _ = s2gnn(*DIGITS, "--epochs", 6, "--checkpoint", path)
    assert "nothing was trained, because the run in the checkpoint is finished" in " ".join(out.split())
    code, out, _ = s2gnn(*DIGITS, "--epochs", 6, "--json")
    at_once = json.loads(out)
    for name in ("epochs", "val_accuracy", "test_accuracy"):
        assert resumed[name] == at_once[name]
    code, _, err = s2gnn(*DIGITS, "--degrees", "part", "--epochs", 6, "--checkpoint", path)
    assert code == 2
    assert "is of a run with degrees 'whole', not 'part'" in err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("train", "digits", "--parts", 2, "--parts-per-batch", 3), "--parts-per-batch is 3, but there are 2 parts"),
        (("train", "digits", "--parts", 1798), "--parts is 1798, but the graph of digits has 1797 nodes"),
        (("train", "digits", "--model", "gcn", "--out", "model"), "--out saves an S2-GNN, but the model is gcn"),
        (("train", "digits", "--checkpoint", "run.pt"), "run.pt does not end in .safetensors"),
        (("train", "mutag"), "mutag has many graphs, but s2gnn train classifies the nodes of one graph"),
        (("train", "nothing"), "nothing"),
    ],
)
def test_bad_input(s2gnn, arguments, text):
    code, out, err = s2gnn(*arguments)
    assert (code, out) == (2, "")
    assert text in err


def test_a_run_that_diverges_ends_with_one_sentence(s2gnn):
    code, out, err = s2gnn(*DIGITS, "--epochs", 30, "--set", "lr=1e30")
    assert (code, out) == (1, "")
    assert "or lower the learning rate (now 1e+30)" in err


def _workers(launcher: int) -> dict[int, int]:
    """The processes that torchrun has started, by rank."""
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    found = {}
    for child in map(int, children):
        environment = Path(f"/proc/{child}/environ").read_bytes().decode().split("\0")
        ranks = [entry.removeprefix("RANK=") for entry in environment if entry.startswith("RANK=")]
        if ranks:
            found[int(ranks[0])] = child
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_killed_worker_ends_the_run_and_the_checkpoint_resumes_it(s2gnn, tmp_path):
    path = tmp_path / "run.safetensors"
    options = (*DIGITS, "--batches-per-step", 2, "--checkpoint", path)
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2, "-m", "s2gnn.cli", *options]
    command += ["--epochs", 100_000, "--patience", 100_000, "--every", 1]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.Popen(
        [sys.executable, *map(str, command)], env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not path.exists():
        assert run.poll() is None, run.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(_workers(run.pid)[1], signal.SIGKILL)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 1
    assert out == ""
    sentence = next(line for line in err.splitlines() if "s2gnn: " in line)
    finished = Checkpoint(path).epochs()
    assert "another process of the run has ended" in sentence
    assert f"rerun the command to resume from {path}, after epoch {finished}" in sentence
    code, out, err = s2gnn(*options, "--epochs", finished + 3, "--json")
    assert code == 0, err
    assert json.loads(out)["epochs"] == finished + 3
    alone = json.loads(s2gnn(*DIGITS, "--batches-per-step", 2, "--epochs", finished + 3, "--json")[1])
    assert np.isclose(json.loads(out)["val_accuracy"], alone["val_accuracy"], atol=0.02)


def test_ctrl_c_prints_what_was_saved(s2gnn, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("s2gnn.cli.train._train", interrupt)
    expected = "s2gnn: interrupted: the run was not saved; pass --checkpoint FILE to make it resumable\n"
    assert s2gnn("train", "digits") == (130, "", expected)
