import json
from pathlib import Path

import pytest

from s2gnn import InputError
from s2gnn.bench.summary import benchmark_summary

RESULTS = Path(__file__).parents[2] / "results"


def test_the_ratios_are_those_of_the_latest_records():
    rows = [line.strip("| ").split(" | ") for line in benchmark_summary(RESULTS).splitlines()[2:]]
    ratios = {(measurement.split(",")[0], peer): text for measurement, peer, text in rows}
    records = [json.loads(path.read_bytes()) for path in RESULTS.glob("bench-epoch*.json")]
    latest = max(records, key=lambda record: record.get("date", ""))
    times = [{way: one["milliseconds"] for way, one in row["ways"].items()} for row in latest["timings"]]
    faster = [row["gcnconv"] / row["ours"] for row in times]
    assert ratios["training epoch of S2-GNN", "GCNConv per branch"] == f"{min(faster):.1f} to {max(faster):.1f}"
    assert "(estimated)" in ratios["peak memory of full-batch training", "GCNConv per branch"]


def test_a_folder_without_records_names_the_command(tmp_path):
    with pytest.raises(InputError, match=r"has no record of bench operator: create it with s2gnn bench operator"):
        benchmark_summary(tmp_path)
