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
    assert "Accuracy with 10 labels per class" in lines[2]
    assert f"| **{mean:.1f} %** (" in lines[2]
    assert f"[mean of {len(scores)} tables](" in lines[2]
    assert "GCN" in lines[3]
    kept = next(RESULTS.glob("bench-layers-kept.*.json"))
    timings = [row for row in json.loads(kept.read_bytes())["timings"] if row["layer"] == "S2Conv, linear fusion"]
    for peer, way in (("PyG's GCNConv, cached", "ours"), ("PyG's GCNConv on a CSR adjacency", "peer")):
        dense, sparse = (row["ways"][way]["milliseconds"] for row in timings if row["peer"] == peer)
        assert f"{dense:.1f} and {sparse:.1f} ms" in lines[4]
    assert "5,000 nodes, mean degree 40 and 10,000 nodes, mean degree 10" in lines[4]
    assert all("](docs/" in line for line in lines[2:5])


def test_a_folder_without_records_is_refused(tmp_path):
    with pytest.raises(InputError, match="has no record of leaderboard"):
        three_numbers(tmp_path)
