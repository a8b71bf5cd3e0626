import sys

import pytest
import torch
from torch_geometric.nn import GCNConv

from s2gnn.bench import benchmarks, layers, timing
from s2gnn.bench.benchmarks import (
    build_graph,
    large_needs,
    memory_rows,
    time_baselines,
    time_operator,
    train_large,
)
from s2gnn.bench.networks import BASELINES, PRODUCTS
from s2gnn.bench.record import make_record
from s2gnn.bench.report import tables
from s2gnn.bench.tasks import TASKS, Task, workload
from s2gnn.nn import S2Conv
from tests.random_graphs import random_graph

GIB = 2**30


@pytest.fixture
def work(monkeypatch):
    monkeypatch.setitem(TASKS, "small", Task(100, 400, 5, 3, 8, 2))
    return workload("small")


def last_table(rows):
    """The title and the texts of the rows."""
    record = make_record("s2gnn bench baselines", {"bandwidth": 1e9, "gemm": 1e9}, timings=rows)
    table = tables(record)[-1]
    return table.title, [[cell.text for cell in row] for row in table.blocks[0].rows]


def test_a_propagation_counts_the_bytes_that_it_moves(work):
    (row,) = time_operator([("small", work.graph)], [3], rounds=1)
    # indices and values; pointers; scalings; the signal and six results
    assert row["streamed_bytes"] == 800 * 8 + 101 * 4 + 100 * 7 * 4 + 7 * 100 * 3 * 4
    assert row["gathered_bytes"] - row["streamed_bytes"] == 800 * (3 + 6) * 4
    assert list(row["ways"]) == ["ours", *PRODUCTS]


def test_the_grid_is_that_of_the_paper(monkeypatch):
    monkeypatch.setattr(benchmarks, "NODES", (100,))
    found = {name: graph.n_edges for name, graph in benchmarks.grid()}
    assert found == {f"N = 100, p = {p}": round(p * 4950) for p in (0.03, 0.04, 0.05, 0.06)}


def test_an_epoch_of_every_baseline_is_timed_and_shown(work):
    rows = list(time_baselines([work], list(BASELINES), heads=2, rounds=1))
    title, texts = last_table(rows)
    assert title.endswith("on small: 900 nonzeros, layers 5 → 8 → 3, heads: 2")
    assert [text[0] for text in texts] == list(BASELINES)
    for row, text in zip(rows, texts, strict=True):
        ours, pyg = (row["ways"][way]["milliseconds"] for way in ("ours", "pyg"))
        assert text[3] == f"{pyg / ours:.1f}"


def test_what_is_not_installed_or_does_not_fit_is_shown(work, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    rows = list(time_baselines([work], ["sgc"], heads=1, rounds=1))
    assert last_table(rows)[1][0][2:] == ["not installed", "not installed"]
    monkeypatch.setattr(timing, "available_bytes", lambda: 0)
    rows = list(time_baselines([work], ["gatv2"], heads=1, rounds=1))
    assert all(text.startswith("not run: needs") for text in last_table(rows)[1][0][1:])


def test_the_operator_stays_below_its_bound_and_the_alternatives_grow(monkeypatch):
    monkeypatch.setitem(TASKS, "medium", Task(2_000, 100_000))
    rows = memory_rows("medium", (1, 4, 8))
    for row in rows:
        assert (row["workload"], row["nodes"], row["directions"]) == ("medium", 2_000, 200_000)
        assert row["operator"] < row["bound"] == pytest.approx(1.3 * (8 * 200_000 + 4 * row["alpha"] * 2_000))
        assert row["graph"] == 200_000 * 12 + 2_001 * 4
    first, _, last = rows
    assert last["operator"] - first["operator"] == 7 * 4 * 2_000
    assert last["csr"] == 8 * first["csr"] == 8 * (202_000 * 8 + 2_001 * 4)
    assert last["edge_list"] == 202_000 * (16 + 4 * 8)
    assert last["edge_lists"] == 8 * 202_000 * 20


def test_training_at_the_size_of_proteins_fits_with_our_network_only():
    task = Task()
    assert (task.nodes, task.edges, task.widths) == (132_534, 39_600_000, [8, 64, 64, 112])
    assert large_needs(task, "ours") < 6 * GIB
    assert large_needs(task, "gcnconv") > 64 * GIB


def test_training_reports_time_and_memory_of_every_stage(monkeypatch, tmp_path):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path))
    task = Task(nodes=100, edges=400, labels=5, hidden=4)
    (run,) = train_large(task, ["ours"], epochs=2)
    stages = run["stages"]
    expected = ["start", "load", "graph", "operator", "network", "epoch 1", "epoch 2"]
    assert ([stage["name"] for stage in stages], run["not_run"]) == (expected, None)
    peaks = [stage["peak"] for stage in stages]
    assert peaks == sorted(peaks)
    assert all(0 < stage["resident"] <= stage["peak"] < 4 * GIB and stage["seconds"] > 0 for stage in stages)
    monkeypatch.setattr(benchmarks, "available_bytes", lambda: 1000)
    (run,) = train_large(task, ["gcnconv"], epochs=2)
    assert (run["stages"], run["not_run"]) == ([], "memory")


def test_building_a_graph_is_measured():
    for what in ("k-NN", "learned"):
        row = build_graph(what, 200)
        assert (row["what"], row["points"]) == (what, 200)
        assert row["seconds"] > 0
        assert row["peak_mib"] > 20
        assert 200 * 30 / 4 < row["edges"] < 200 * 30
        assert row["note"].startswith("recall 1.000")
    row = build_graph("diffusion", 40, random_graph(40).to_pyg().edge_index.numpy())
    assert (row["what"], row["points"], row["note"]) == ("diffusion", 40, "")


def test_layers_and_small_batches_are_timed_next_to_their_peers(work, monkeypatch):
    monkeypatch.setattr(layers, "GRAPHS", ((60, 200), (70, 100)))
    monkeypatch.setattr(layers, "BATCH", 2)
    rows = list(layers.time_layers(work, rounds=1))
    record = make_record("s2gnn bench layers", None, timings=rows)
    texts = [[cell.text for cell in row] for row in tables(record)[-1].blocks[0].rows]
    assert len(texts) == 4 * 2 + 2 * len(layers.COMPARED) + 3
    for row, text in zip(rows, texts, strict=True):
        ours, peer = (row["ways"][way]["milliseconds"] for way in ("ours", "peer"))
        assert text[-1] == f"{peer / ours:.1f}"


def test_dense_branches_are_a_layer_on_a_graph_without_edges():
    dense, conv = layers.DenseBranches(5, 4), S2Conv(5, 4, layers.ALPHA)
    with torch.no_grad():
        conv.weight.copy_(dense.linear.weight.view(layers.ALPHA + 1, 4, 5).transpose(1, 2))
        conv.bias.copy_(dense.linear.bias.view(layers.ALPHA + 1, 4))
        conv.fusion.mu.copy_(dense.mu)
    x = torch.randn(6, 5)
    torch.testing.assert_close(dense(x), conv(x, torch.empty(2, 0, dtype=torch.int64)))


def test_the_peers_of_a_layer_compute_the_same_with_one_branch():
    """GCNConv on a CSR adjacency is given what GCNConv makes of the edges."""
    graph = random_graph(30)
    torch.manual_seed(0)
    conv = GCNConv(layers.WIDTH, layers.WIDTH)
    x, data = torch.randn(30, layers.WIDTH), graph.to_pyg(torch.float32)
    plain = GCNConv(layers.WIDTH, layers.WIDTH, normalize=False)
    plain.load_state_dict(conv.state_dict())
    torch.testing.assert_close(plain(x, layers.normalised_csr(graph)), conv(x, data.edge_index, data.edge_weight))
