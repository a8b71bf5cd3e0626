import json
from functools import partial
from pathlib import Path

import pytest

from s2gnn.bench import benchmarks
from s2gnn.bench.report import tables
from s2gnn.bench.tasks import TASKS, Task, workload
from s2gnn.bench.timing import measure_machine
from s2gnn.cli import bench

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A task of 100 nodes called "small", a quick look at the machine, and an empty cache."""
    monkeypatch.setitem(TASKS, "small", Task(100, 400, 5, 3, 8, 2))
    monkeypatch.setattr(bench, "measure_machine", partial(measure_machine, 2**12, 32, 1))
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path))


def run_json(s2gnn, *arguments):
    code, output, _ = s2gnn("bench", *arguments, "--json")
    assert code == 0
    record = json.loads(output)
    assert record["command"] == " ".join(["s2gnn bench", *arguments])
    assert record["threads"] >= 1
    assert record["versions"]["torch"]
    return record


def test_operator(s2gnn, small, tmp_path):
    arguments = ("operator", "--graphs", "small", "--widths", "8,4", "--repetitions", "1")
    record = run_json(s2gnn, *arguments)
    assert [(t["graph"], t["width"], t["nodes"], t["nonzeros"]) for t in record["timings"]] == [
        ("small", 8, 100, 900),
        ("small", 4, 100, 900),
    ]
    for timing in record["timings"]:
        assert list(timing["ways"]) == ["ours", "one_csr", "csr", "torch_sparse", "gcnconv"]
        for way in ("ours", "one_csr", "csr", "gcnconv"):
            assert timing["ways"][way]["milliseconds"] > 0
    code, output, _ = s2gnn("bench", *arguments, "--record", str(tmp_path / "my records"))
    assert code == 0
    assert "ours ÷ one CSR" in output
    assert "memory bandwidth" in output
    (stored,) = (tmp_path / "my records").glob("bench-operator.*.json")
    assert json.loads(stored.read_text())["command"] == record["command"]


def test_epoch(s2gnn, small):
    arguments = ("epoch", "--tasks", "small", "--repetitions", "1")
    (timing,) = run_json(s2gnn, *arguments)["timings"]
    assert (timing["workload"], timing["widths"]) == ("small", [5, 8, 3])
    for way in ("ours", "gcnconv", "csr", "gcn"):
        assert timing["ways"][way]["milliseconds"] > 0
    assert "dense GFLOP" in s2gnn("bench", *arguments)[1]


def test_baselines(s2gnn, small):
    arguments = ("baselines", "--models", "gcn,gat", "--tasks", "small", "--heads", "2", "--repetitions", "1")
    record = run_json(s2gnn, *arguments)
    assert [(t["workload"], t["model"], t["heads"], t["widths"]) for t in record["timings"]] == [
        ("small", "gcn", 2, [5, 8, 3]),
        ("small", "gat", 2, [5, 8, 3]),
    ]
    code, output, progress = s2gnn("bench", *arguments)
    assert code == 0
    assert "PyG ÷ ours" in output
    assert "small, gat: ours " in progress


def test_memory(s2gnn, monkeypatch, tmp_path):
    monkeypatch.delenv("S2GNN_DATA", raising=False)
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path))
    record = run_json(s2gnn, "memory", "--graphs", "cancer-b", "--alpha", "2")
    assert [(use["workload"], use["alpha"]) for use in record["memory"]] == [("cancer-b (random)", a) for a in (1, 2)]
    for use in record["memory"]:
        assert use["operator"] < use["bound"] < use["edge_list"]


def test_scale(s2gnn, small, monkeypatch):
    monkeypatch.setattr(benchmarks, "NODES", (100,))
    monkeypatch.setitem(TASKS, "random-132000", TASKS["small"])
    monkeypatch.setattr(benchmarks, "unordered", lambda: [("small", workload("small").graph)])
    monkeypatch.setattr(bench, "Task", partial(Task, nodes=100, edges=400, labels=5, hidden=4))
    arguments = ("scale", "--repetitions", "1", "--epochs", "1", "--ways", "ours")
    record = run_json(s2gnn, *arguments)
    assert [t["graph"] for t in record["grid"]] == [f"N = 100, p = {p}" for p in (0.03, 0.04, 0.05, 0.06)]
    assert {t["width"] for t in record["grid"]} == {16}
    assert record["epochs"][0]["workload"] == "random-132000"
    assert [run["way"] for run in record["training"]] == ["ours"]
    assert [row["graph"] for row in record["orders"]] == ["small"]
    assert record["task"][0]["edges"] == 400
    titles = [table.title for table in tables(record)]
    assert titles[-1].startswith("Full-batch training: 100 nodes, 400 edges")
    output = s2gnn("bench", *arguments, "--parts", "grid")[1]
    assert "Erdős–Rényi grid" in output
    assert "Full-batch training" not in output


def test_cost(s2gnn, small, tmp_path):
    arguments = ("cost", "--edges", "400", "--nodes", "100", "--features", "5", "--classes", "3", "--hidden", "4")
    record = run_json(s2gnn, *arguments, "--results", str(tmp_path))
    assert (record["task"][0]["nodes"], record["epoch"], record["training"]) == (100, [], [])
    assert record["bytes"][0]["graph"] == 12 * 800 + 4 * 101
    code, output, errors = s2gnn("bench", *arguments, "--results", RESULTS, "--train", "--epochs", 1)
    assert code == 0, errors
    rows = [line for line in output.splitlines() if "peak of the process" in line or "an epoch" in line]
    assert all(len([cell for cell in row.split("│") if cell.strip()]) == 3 for row in rows)
    assert len(rows) == 2
    assert "there is no record" in s2gnn("bench", *arguments, "--results", tmp_path)[2]


def test_info(s2gnn, small):
    code, output, _ = s2gnn("bench", "info", "--json")
    assert code == 0
    facts = json.loads(output)
    assert facts["kernel"] in facts["available"]
    assert min(facts["bandwidth"], facts["gemm"], facts["available_bytes"]) > 0
    assert "GFLOP/s" in s2gnn("bench", "info")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["epoch", "--tasks", "mnist"], "there is no task 'mnist': choose from cancer-b, cancer-m, har, pubmed"),
        (["operator", "--graphs", "cora"], "there is no graph 'cora': choose from cancer-b"),
        (["operator", "--widths", "64,x"], "--widths has 'x', but expects integers of at least 1, such as 64,16"),
        (["operator", "--device", "gpu"], "device is 'gpu', which is no device: choose 'auto' or one of cpu"),
        (["operator", "--device", "cuda:99"], "device is 'cuda:99', which is not available here"),
        (
            ["baselines", "--models", "gin"],
            "there is no baseline 'gin': did you mean 'gcn'? Choose from",
        ),
        (["memory", "--graphs", ""], "there is no graph ''"),
        (["cost", "--nodes", "10", "--edges", "46"], "10 nodes have at most 45 edges, not 46"),
        (
            ["scale", "--parts", "grids"],
            "there is no part 'grids': did you mean 'grid'? Choose from grid",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(s2gnn, arguments, message):
    code, output, errors = s2gnn("bench", *arguments)
    assert (code, output) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("command", ["info", "operator", "epoch", "baselines", "memory", "scale", "cost"])
def test_help_has_an_example(s2gnn, command):
    code, output, _ = s2gnn("bench", command, "--help")
    assert code == 0
    assert f"Example: s2gnn bench {command}" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("layers", "--task", "small,small"), "--task has 2 tasks, 'small,small', but expects one, such as cancer-b"),
        (("cost", "--edges", "10"), "1 nodes have at most 0 edges, not 10: give more with --nodes"),
        (("cost", "--edges", "1000", "--record", "folder"), "an estimate is not recorded: add --train to measure"),
        (("memory", "--graphs", "small", "--record", "/dev/null"), "--record /dev/null is not a folder"),
    ],
)
def test_what_cannot_be_measured_or_recorded_is_refused_at_once(s2gnn, small, arguments, message):
    code, _, errors = s2gnn("bench", *arguments)
    assert code == 2
    assert message in " ".join(errors.split())
