import json

from s2gnn.experiments.figures.leaderboard import CLASSIFIERS
from s2gnn.experiments.figures.leaderboard_headline import leaderboard_headline


def test_leads_are_those_of_the_tables_that_all_methods_have(tmp_path):
    ours = {"a": 0.9, "b": 0.7, "c": 0.8, "one method only": 0.1}
    others = {"a": 0.8, "b": 0.75, "c": 0.6}
    rows = [
        {"data": data, "model": model, "commit": "abc", "known": known, "scores": [score, score]}
        | {"calibration_error": None, "calibration_floor": None}
        for known in (5, 10)
        for model in CLASSIFIERS
        for data, score in (ours if model == "S2GNNClassifier" else others).items()
    ]
    content = {"draws": [0, 1], "most_rows": 2000, "rows": rows}
    (tmp_path / "leaderboard.json").write_text(json.dumps({"command": "", "commit": "abc", "content": content}))
    lines = leaderboard_headline(tmp_path).splitlines()
    assert lines[0].startswith("| mean accuracy (%) on 3 tables | 5 labels | 10 labels | median lead")
    assert lines[2] == "| S2GNNClassifier | 80.0 | 80.0 |  |  |"
    assert lines[3].endswith("| 71.7 | 71.7 | +10.0 | 2 : 1 |")
    assert len(lines) == 2 + len(CLASSIFIERS) + 2
