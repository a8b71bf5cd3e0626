"""The examples run in their short mode and print a score."""

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
WITH_REAL_DATA = {"protein_network", "pyg_cora", "pyg_drop_in_layer"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, request, monkeypatch, capsys):
    if path.stem in WITH_REAL_DATA:
        request.getfixturevalue("data_folder")
    monkeypatch.setattr(sys, "argv", [str(path), "--quick"])
    runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out
    scores = [float(score) for score in re.findall(r"(\d+\.\d+)(?: %|,|$)", printed, re.MULTILINE)]
    assert len(scores) >= 2
    assert all(0.4 < score <= 100 for score in scores)
    assert len(path.read_text().splitlines()) <= 100
