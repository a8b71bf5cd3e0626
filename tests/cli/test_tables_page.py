"""The worked example of docs/tables.md runs as it is printed there."""

import json
import re
import shlex
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text()


def test_the_worked_example(s2gnn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "docs/tables.md", "exec"), {})
    assert len((tmp_path / "wine.csv").read_text().splitlines()) == 151
    fit, predict = (shlex.split(line)[2:] for line in re.findall(r"^\$ s2gnn .*$", PAGE, re.MULTILINE))
    assert s2gnn(*fit, "--folds", 0)[0] == 0
    assert len((tmp_path / "predicted.csv").read_text().splitlines()) == 1 + 150 - 9
    code, out, _ = s2gnn(*predict, "--json")
    assert code == 0
    assert json.loads(out)["scores"][0]["value"] > 0.8
    (analyse,) = (shlex.split(line)[1:] for line in re.findall(r"^s2gnn analyse .*$", PAGE, re.MULTILINE))
    code, out, _ = s2gnn(*analyse, "--seeds", 1)
    assert code == 0
    assert "the 28 rows of new.csv, 0 of them there in training and 28 with a label" in " ".join(out.split())
    assert (tmp_path / "robustness" / "stability.png").is_file()
