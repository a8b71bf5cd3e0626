import pytest
import torch

from s2gnn import S2Conv, SobolevOperator
from s2gnn.bench import operator as operator_bench
from s2gnn.bench.epoch import time_epoch
from s2gnn.bench.operator import time_operator
from s2gnn.bench.peers import CSRBranches, GCNConvBranches, coordinates, csr_matrices
from s2gnn.bench.workloads import Workload, random_graph, workload


def test_the_peers_are_the_same_layer():
    """Every way to build the layer gives the same numbers and gradients: like is compared with like."""
    op = SobolevOperator(random_graph(60, 300), 3, 1.5)
    conv = S2Conv(5, 4, 3, 1.5, "mlp").eval()
    torch.nn.init.normal_(conv.bias)
    csr = CSRBranches(5, 4, csr_matrices(op)).eval()
    gcnconv = GCNConvBranches(5, 4, *coordinates(op)).eval()
    with torch.no_grad():
        for peer in (csr, gcnconv):
            peer.own.weight.copy_(conv.weight[0].T)
            peer.own.bias.copy_(conv.bias[0])
            peer.fusion.weight.copy_(conv.fusion.weight.T)
            peer.fusion.bias.copy_(conv.fusion.bias)
            for rho, branch in enumerate(peer.branches, start=1):
                linear = branch if peer is csr else branch.lin
                linear.weight.copy_(conv.weight[rho].T)
                branch.bias.copy_(conv.bias[rho])
    x = torch.randn(60, 5)
    gradients = []
    for layer in (lambda h: conv(h, op), csr, gcnconv):
        h = x.clone().requires_grad_()
        y = layer(h)
        y.square().sum().backward()
        gradients.append((y.detach(), h.grad))
    for y, gradient in gradients[1:]:
        torch.testing.assert_close(y, gradients[0][0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(gradient, gradients[0][1], rtol=1e-4, atol=1e-4)


def test_an_epoch_and_an_operator_are_measured(monkeypatch):
    task = Workload("small", random_graph(100, 400), torch.randn(100, 6), 3, 8, 2, 4)
    timing = time_epoch(task, repetitions=1)
    assert timing.workload == "small"
    assert min(timing.ours, timing.gcnconv, timing.csr, timing.gcn) > 0
    monkeypatch.setitem(operator_bench.GRAPHS, "small", (100, 400))
    timings = time_operator("small", widths=(8,), repetitions=1)
    assert [(t.graph, t.width) for t in timings] == [("small", 8)]
    assert min(timings[0].ours, timings[0].one_csr, timings[0].all_csr) > 0


def test_workloads_are_real_where_the_data_is_and_of_that_size_elsewhere(monkeypatch, data_folder):
    real = workload("cancer-b")
    assert (real.name, real.graph.n_nodes, real.graph.n_edges) == ("cancer-b", 1_250, 25_734)
    monkeypatch.delenv("S2GNN_DATA")
    made = workload("cancer-b")
    assert (made.name, made.graph.n_nodes, made.graph.n_edges) == ("cancer-b (random)", 1_250, 25_734)
    assert made.x.shape == real.x.shape


def test_bench_commands(s2gnn):
    code, output, _ = s2gnn("bench", "info", "--json")
    assert code == 0
    assert '"kernel"' in output
    code, _, errors = s2gnn("bench", "epoch", "--tasks", "mnist")
    assert code == 2
    assert "there is no task 'mnist': choose from cancer-b, cancer-m, har, pubmed" in errors


@pytest.mark.parametrize("command", ["info", "operator", "epoch"])
def test_help_has_an_example(s2gnn, command):
    code, output, _ = s2gnn("bench", command, "--help")
    assert code == 0
    assert f"Example: s2gnn bench {command}" in output
