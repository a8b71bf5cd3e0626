import json
from pathlib import Path

import pytest

from s2gnn import InputError
from s2gnn.bench.headline import three_numbers

RESULTS = Path(__file__).parents[2] / "results"


def test_the_three_numbers_are_those_of_the_records():
    lines = three_numbers(RESULTS).splitlines()
    leaderboard = json.loads((RESULTS / "leaderboard.json").read_bytes())["content"]["rows"]
    scores = [row["scores"] for row in leaderboard if (row["model"], row["known"]) == ("S2GNNClassifier", 10)]
    mean = 100 * sum(sum(own) / len(own) for own in scores) / len(scores)
    assert f"Accuracy with 10 labels per class | **{mean:.1f} %**" in lines[2]
    assert f"[mean of {len(scores)} tables](" in lines[2]
    assert "GCN" in lines[3]
    kept = next(RESULTS.glob("bench-layers-kept.*.json"))
    timings = {row["peer"]: row["ways"] for row in json.loads(kept.read_bytes())["timings"] if row["layer"] == "S2Conv"}
    on_csr = timings["PyG's GCNConv on a CSR adjacency"]["peer"]["milliseconds"]
    assert "PyG's GCNConv" in lines[4]
    assert f"on a CSR adjacency {on_csr:.1f} ms |" in lines[4]
    assert all("](docs/" in line for line in lines[2:5])


def test_a_folder_without_records_is_refused(tmp_path):
    with pytest.raises(InputError, match="has no record of leaderboard"):
        three_numbers(tmp_path)
