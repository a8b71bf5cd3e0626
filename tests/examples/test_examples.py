"""The examples run in their short mode and print a score."""

import re
import runpy
import sys
from pathlib import Path
from statistics import mean

import pytest
from scipy import stats

from s2gnn.experiments.records import Records

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
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
    assert len(path.read_text().splitlines()) <= 110


def test_cora_in_pyg_has_the_accuracy_that_its_page_compares_with_table3():
    recipe, study = (
        {record.seed: 100 * record.metrics["test_accuracy"] for record in Records(ROOT / "results" / file).read()
         if [record.experiment[name] for name in ("data", "model")] == ["cora", "s2gnn"]
         and record.experiment["protocol"]["name"] == "fair-citation"}
        for file in ("pyg-cora.jsonl", "reproduction.jsonl")
    )  # fmt: skip
    assert recipe.keys() == study.keys()
    leads = [recipe[seed] - study[seed] for seed in recipe]
    half_width = stats.t.ppf(0.975, len(leads) - 1) * stats.sem(leads)
    assert abs(mean(leads)) < half_width
    page = (ROOT / "docs/howto/pyg-cora.md").read_text(encoding="utf-8")
    assert f"{mean(study.values()):.2f} ±" in page
    assert f"−{-mean(leads):.2f} ± {half_width:.2f} points" in page
