import json
import os
import subprocess
import sys

import numpy as np
import pytest


def s2gnn(*arguments):
    command = [sys.executable, "-m", "s2gnn.cli", *arguments]
    wide = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, env=wide)


def test_demo_compares_and_draws(tmp_path):
    result = s2gnn("demo", "--json", "--seeds", "3", "--out", str(tmp_path / "new" / "wine.png"))
    assert result.returncode == 0, result.stderr
    record = json.loads(result.stdout)
    scores = record["scores"]
    assert list(scores) == [
        "S2GNNClassifier", "logistic regression", "random forest", "regression + forest", "SVC", "self-training",
        "k-NN", "label spreading",
    ]  # fmt: skip
    assert all(len(score["accuracy"]) == len(score["seconds"]) == 3 for score in scores.values())
    means = {method: np.mean(score["accuracy"]) for method, score in scores.items()}
    assert means["S2GNNClassifier"] > 0.95
    assert min(means.values()) > 0.85
    assert (tmp_path / "new" / "wine.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--out", "wine.pdf"], "does not end in .png"),
        (["demo", "--seeds", "0"], "Invalid value for '--seeds'"),
        (["dem"], "No such command"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(arguments, message):
    result = s2gnn(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_interrupt_ends_without_a_traceback_or_a_half_written_picture(tmp_path):
    interrupted_at_the_third_method = """
import os, signal, sys
import s2gnn.cli.demo

real_compare = s2gnn.cli.demo.compare

def compare(n_seeds, on_start, on_done):
    def start(method, seed):
        on_start(method, seed)
        if method == "random forest":
            os.kill(os.getpid(), signal.SIGINT)
    return real_compare(n_seeds, start, on_done)

s2gnn.cli.demo.compare = compare
sys.argv = ["s2gnn", "demo", "--out", sys.argv[1]]
s2gnn.cli.main()
"""
    result = subprocess.run(
        [sys.executable, "-c", interrupted_at_the_third_method, str(tmp_path / "wine.png")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 130
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []
