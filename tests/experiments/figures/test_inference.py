import pytest
import torch
from torch import nn

from s2gnn.experiments.figures.inference import measure_inference, measure_model
from s2gnn.graphs import erdos_renyi, save_graph
from s2gnn.operators import kernel
from s2gnn.resources import in_own_process

MIB = 2**20


def mebibytes(count: int) -> torch.Tensor:
    return torch.ones(count * MIB // 4)


class KnownNetwork(nn.Module):
    """Keeps 20 MiB of 100 that it takes to prepare, and takes 40 more to answer."""

    def prepare(self, x, graph):
        kept = mebibytes(20)
        mebibytes(80)
        return (kept,)

    def forward(self, kept):
        return kept[:1] + mebibytes(40)[:1]


def measure_known():
    network, graph = KnownNetwork(), erdos_renyi(50, 0.1, 0)
    network(*network.prepare(None, graph))
    return measure_inference(network, torch.ones(50, 3), graph)


def test_memory_is_that_of_known_allocations_and_a_new_graph_takes_longer():
    found = in_own_process(measure_known, preloaded=(measure_model.__module__,))
    assert found["new_graph_bytes"] == pytest.approx(100 * MIB, abs=2 * MIB)
    assert found["prepared_bytes"] == pytest.approx(60 * MIB, abs=2 * MIB)
    assert found["new_graph_seconds"] > found["prepared_seconds"] > 0
    assert found["edges"] == erdos_renyi(50, 0.1, 0).n_edges


def test_a_model_is_measured_on_the_stored_graph(tmp_path):
    graph = erdos_renyi(200, 0.1, 1)
    save_graph(graph, tmp_path / "graph.npz")
    sizes = {"hidden_channels": 8, "alpha": 3}
    arguments = ("s2gnn", sizes, tmp_path / "graph.npz", 0, 1, kernel.PLAIN)
    found = in_own_process(measure_model, *arguments, preloaded=(measure_model.__module__,))
    assert found["edges"] == graph.n_edges
    assert min(found["new_graph_seconds"], found["prepared_seconds"]) > 0
    assert found["new_graph_bytes"] > 12 * 2 * graph.n_edges
