import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from s2gnn import SobolevOperator
from s2gnn.bench.cost import (
    Size,
    baseline_needs,
    csr_bytes,
    dense_flops,
    edge_list_bytes,
    gathered_bytes,
    operator_bound,
    peer_needs,
    propagation_needs,
    sparse_tensor_bytes,
    streamed_bytes,
)
from s2gnn.bench.cost_model import training_bytes
from s2gnn.bench.layers import ATTENTION, BASELINES, make_ours, make_peer
from s2gnn.bench.memory import operator_bytes, tensor_bytes
from s2gnn.bench.networks import WAYS, make_epoch, make_network
from s2gnn.bench.operator import PRODUCTS
from s2gnn.bench.peers import coordinates, csr_matrices
from s2gnn.bench.workloads import random_graph


def test_bytes_are_those_of_the_tensors():
    op = SobolevOperator(random_graph(60, 300), 3, 1.5)
    size = Size(60, 600, 3)
    assert size.nonzeros == 660
    assert csr_bytes(size) == tensor_bytes(*csr_matrices(op))
    edge_index, weights = coordinates(op)
    assert edge_list_bytes(size) == tensor_bytes(edge_index, *weights)
    assert sparse_tensor_bytes(size) == 3 * (8 * 660 + 4 * 660 + 8 * 61)


def test_the_bound_of_the_operator():
    assert operator_bound(Size(10, 100, 6)) == pytest.approx(1.3 * (800 + 240))
    for alpha in (1, 4, 8):
        op = SobolevOperator(random_graph(200, 4_000), alpha, 1.5)
        assert operator_bytes(op) < operator_bound(Size(200, 8_000, alpha))


def test_bytes_moved():
    size = Size(nodes=10, directions=40, alpha=2)
    # indices and b; indptr; c and t; the signal and two results
    assert streamed_bytes(size, 3) == 40 * 8 + 11 * 4 + 10 * 3 * 4 + 3 * 10 * 3 * 4
    assert gathered_bytes(size, 3) - streamed_bytes(size, 3) == 40 * (3 + 2) * 4


def test_a_storage_shared_by_two_tensors_counts_once():
    values = torch.zeros(100)
    assert tensor_bytes(values, values[50:]) == 400


@pytest.mark.parametrize("widths", [[5, 8, 3], [5, 8, 8, 3]])
def test_dense_operations_are_those_torch_counts(widths):
    """The counter sees the products with weights; ours multiplies sparsely in ops of its own, which it does not see."""
    x, labels, train = torch.randn(40, widths[0]), torch.zeros(40, dtype=torch.int64), torch.arange(40)
    run = make_epoch(*make_network("ours", random_graph(40, 200), x, widths, 3), labels, train)
    with FlopCounterMode(display=False) as counter:
        run()
    assert counter.get_total_flops() == dense_flops(40, 3, widths)


def test_needs_grow_with_the_graph_and_messages_dominate():
    small, large = Size(1_000, 10_000, 6), Size(1_000, 1_000_000, 6)
    for way in PRODUCTS:
        assert propagation_needs(way, large, 64) >= propagation_needs(way, small, 64) > 0
    for way in set(WAYS) - {"ours"}:
        assert peer_needs(way, large, [8, 64, 3]) >= peer_needs(way, small, [8, 64, 3]) > 0
    assert peer_needs("gcnconv", large, [8, 64, 3]) > 2 * 4 * 64 * 1_000_000
    assert training_bytes(large, [8, 64, 3]).network < peer_needs("csr", large, [8, 64, 3])


@pytest.mark.parametrize("model", BASELINES)
@pytest.mark.parametrize(("way", "make"), [("ours", make_ours), ("pyg", make_peer)])
def test_needs_of_a_baseline_cover_what_its_step_keeps(model, way, make):
    """What autograd keeps for the backward pass is a part of the peak, a large one in PyG's attention."""
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    widths, heads = [5, 16, 3], 2
    network, inputs = make(model, random_graph(100, 2_000), torch.randn(100, 5), widths, heads)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        logits = network.train()(*inputs)
    needs = baseline_needs(way, model, Size(100, 4_000, 1), widths, heads)
    assert logits.shape == (100, 3)
    assert sum(kept.values()) < needs
    if way == "pyg" and model in ATTENTION:
        assert needs < 5 * sum(kept.values())
        assert needs > baseline_needs("ours", model, Size(100, 4_000, 1), widths, heads)
