import tracemalloc

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from s2gnn import SobolevOperator
from s2gnn.bench.cost import (
    PROCESS,
    Size,
    baseline_needs,
    dense_flops,
    fetched,
    fetched_in_epoch,
    gathered_bytes,
    matrix_bytes,
    most_nodes_propagated_once,
    needs,
    operator_bound,
    planned_orders,
    streamed_bytes,
    training_bytes,
)
from s2gnn.bench.memory import operator_bytes
from s2gnn.bench.networks import (
    ATTENTION,
    BASELINES,
    PRODUCTS,
    WAYS,
    csr_products,
    make_epoch,
    make_network,
    make_our_baseline,
    make_pyg_baseline,
)
from s2gnn.bench.tasks import random_graph
from s2gnn.graphs import partition
from s2gnn.graphs.graph import LARGEST_INT32_POINTER
from s2gnn.nn import S2GNN, Clusters, InParts
from s2gnn.operators import PreparedInput, kernel
from s2gnn.operators.shifts import hadamard_factors

NETWORKS = [
    ([8, 64, 64, 112], 6),
    ([128, 64, 10], 6),
    ([128, 16, 10], 3),
    ([300, 4, 4], 6),
    ([32, 32, 32, 32, 5], 2),
]
NODES, EDGES = 1_000, 20_000


@pytest.fixture(scope="module")
def graph():
    return random_graph(NODES, EDGES)


def allocated_at_most(run):
    """The bytes that torch has allocated at the peak of a run, beside what it had before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        run()
    events = [event for event in profiled.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


def test_bytes_of_matrices_are_those_of_the_tensors():
    op = SobolevOperator(random_graph(60, 300), 3, 1.5)
    size = Size(60, 600, 3)
    S = csr_products(op, powers=1)[0].__self__.matrix
    one = S.crow_indices().nbytes + S.col_indices().nbytes + S.values().nbytes
    assert size.nonzeros == op.matrix(1).nnz == 660
    assert matrix_bytes("one_csr", size) == one
    assert matrix_bytes("csr", size) == 3 * one
    assert matrix_bytes("gcnconv", size) == 660 * (2 * 8 + 3 * 4)
    assert matrix_bytes("torch_sparse", size) == 3 * (8 * 660 + 4 * 660 + 8 * 61)


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
    widths = [8, 64, 3]
    for way in {*WAYS, *PRODUCTS} - {"ours"}:
        for training in (False, True):
            assert needs(way, large, widths, training=training) > needs(way, small, widths, training=training) > 0
    assert needs("gcnconv", large, widths, training=True) > 2 * 4 * 64 * 1_000_000
    assert needs("ours", large, widths, training=True) < needs("csr", large, widths, training=True)


@pytest.mark.parametrize("model", BASELINES)
@pytest.mark.parametrize(("way", "make"), [("ours", make_our_baseline), ("pyg", make_pyg_baseline)])
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
    estimate = baseline_needs(way, model, Size(100, 4_000, 1), widths, heads)
    assert logits.shape == (100, 3)
    assert sum(kept.values()) < estimate
    if way == "pyg" and model in ATTENTION:
        assert estimate < 5 * sum(kept.values())
        assert estimate > baseline_needs("ours", model, Size(100, 4_000, 1), widths, heads)


@pytest.mark.parametrize("alpha", [1, 6])
def test_graph_and_operator_have_the_bytes_of_their_arrays(graph, alpha):
    held = training_bytes(Size(NODES, 2 * EDGES, alpha), [3, 4, 2])
    assert held.graph == graph.indptr.nbytes + graph.indices.nbytes + graph.weights.nbytes
    assert held.operator == operator_bytes(SobolevOperator(graph, alpha, 1.5))


@pytest.mark.parametrize(("widths", "alpha"), NETWORKS)
def test_a_training_step_allocates_what_the_formula_says(graph, widths, alpha):
    network, inputs = make_network("ours", graph, torch.randn(NODES, widths[0]), widths, alpha)
    run = make_epoch(network, inputs, torch.arange(NODES) % widths[-1], torch.arange(0, NODES, 10))
    run()
    peak = allocated_at_most(run)
    held = training_bytes(Size(NODES, 2 * EDGES, alpha), widths)
    made_once = isinstance(inputs[0], PreparedInput)
    assert 0.98 < (held.activations + (0 if made_once else held.propagated)) / peak < 1.15
    if made_once:
        assert held.propagated == inputs[0].stacked.nbytes


@pytest.mark.parametrize(("widths", "alpha"), NETWORKS)
def test_the_network_holds_the_features_that_the_formula_says(graph, widths, alpha):
    held = training_bytes(Size(NODES, 2 * EDGES, alpha), widths)
    x = torch.randn(NODES, widths[0])
    _, (inputs, _) = make_network("ours", graph, x, widths, alpha)
    assert held.features == x.nbytes
    if isinstance(inputs, PreparedInput):
        assert (held.copied, held.propagated) == (0, inputs.stacked.nbytes)
    else:
        assert held.copied == inputs.nbytes
        assert inputs.data_ptr() != x.data_ptr()


@pytest.mark.parametrize(("widths", "alpha"), NETWORKS)
def test_an_evaluation_allocates_what_the_formula_says(graph, widths, alpha):
    network, inputs = make_network("ours", graph, torch.randn(NODES, widths[0]), widths, alpha)
    network.eval()

    def run():
        with torch.no_grad():
            network(*inputs)

    run()
    assert allocated_at_most(run) == pytest.approx(
        training_bytes(Size(NODES, 2 * EDGES, alpha), widths).evaluation, rel=0.01
    )


@pytest.mark.parametrize(("nodes", "edges", "alpha"), [(1_000, 20_000, 6), (20_000, 20_000, 6), (20_000, 200_000, 2)])
@pytest.mark.parametrize("block", [2**22, 2**14])
def test_making_the_operator_allocates_what_the_formula_says(nodes, edges, alpha, block, monkeypatch):
    for module in ("s2gnn.bench.cost", "s2gnn.operators.shifts"):
        monkeypatch.setattr(f"{module}.BLOCK", block)
    graph = random_graph(nodes, edges)
    tracemalloc.start()
    try:
        hadamard_factors(graph, alpha, 1.5, "adjacency", np.float32)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.9 < training_bytes(Size(nodes, 2 * edges, alpha), [8, 4]).preparing / peak < 1.1


@pytest.mark.parametrize(("widths", "alpha"), NETWORKS)
def test_layers_are_planned_as_networks_plan_them(graph, widths, alpha):
    network, inputs = make_network("ours", graph, torch.randn(NODES, widths[0]), widths, alpha)
    training, evaluation = planned_orders(Size(NODES, 2 * EDGES, alpha), widths)
    assert training == [layer.order for layer in network.train().plan(*inputs)]
    with torch.no_grad():
        assert evaluation == [layer.order for layer in network.eval().plan(*inputs)]


def test_bytes_fetched_are_those_of_the_benchmarks():
    size = Size(nodes=10, directions=40, alpha=2)
    streamed_once = 4 * 11 + 4 * 3 * 10 + 4 * 3 * 10 * 5  # pointers, scalings, the signal and its branches
    assert fetched(size, 5).tolist() == [gathered_bytes(size, 5) - streamed_once, 0]
    assert fetched(size, 5, by_branch=True).tolist() == [40 * (8 + 8 + 2 * 20), 0]
    large = Size(nodes=2**22 + 1, directions=40, alpha=2)
    assert fetched(large, 1).tolist() == [0, 40 * (8 + 8 + 4)]


@pytest.mark.skipif(kernel.chosen() == kernel.PLAIN, reason="needs the native kernel, whose plan differs")
def test_the_products_of_an_epoch():
    size = Size(NODES, 200 * NODES, 6)
    # The input is propagated once, so that the first layer has none; the second aggregates before it transforms.
    one, branches = fetched(size, 64), fetched(size, 112, by_branch=True)
    assert fetched_in_epoch(size, [8, 64, 112]).tolist() == (2 * one + branches).tolist()
    # Features too wide to be propagated once: aggregated in the step and in the evaluation.
    large = Size(10_000_000, 400_000_000, 6)
    one, branches = fetched(large, 128), fetched(large, 3, by_branch=True)
    assert fetched_in_epoch(large, [128, 64, 3]).tolist() == (2 * one + 3 * branches).tolist()
    assert training_bytes(large, [128, 64, 3]).propagated == 4 * 10_000_000 * 128 * 7


@pytest.mark.skipif(kernel.chosen() == kernel.PLAIN, reason="needs the native kernel, whose plan differs")
def test_beyond_some_nodes_features_are_propagated_in_every_epoch():
    most = most_nodes_propagated_once(alpha=6, features=128)
    assert most == 2**31 // 3_584 == 599_186
    within, beyond = (Size(nodes, 40 * nodes, 6) for nodes in (most, most + 1))
    widths = [128, 64, 10]
    per_edge = [2 * fetched_in_epoch(s, widths).sum() / s.directions for s in (within, beyond)]
    assert per_edge == [1_632, 1_632 + 2 * 2 * 544]
    assert training_bytes(within, widths).copied == 0
    assert training_bytes(beyond, widths).copied == 512 * beyond.nodes


def test_a_billion_edges_have_short_indices_and_a_few_more_have_long_ones():
    most = Size(50_000_000, LARGEST_INT32_POINTER - 1, 6)
    assert most.directions == 2 * 1_073_741_791 > 2 * 10**9
    assert training_bytes(most, [8, 4]).graph == 12 * most.directions + 4 * (most.nodes + 1)
    longer = Size(50_000_000, 2 * 1_073_741_792, 6)
    assert training_bytes(longer, [8, 4]).graph == 16 * longer.directions + 8 * (longer.nodes + 1)


def test_the_peak_is_that_of_the_graph_of_the_operator_or_of_training():
    few_nodes = training_bytes(Size(1_000, 10**9, 1), [4, 4])
    assert few_nodes.peak == few_nodes.peak_of_building > 32 * 10**9
    many_nodes = training_bytes(Size(10**7, 10**7, 6), [64, 64, 10])
    assert many_nodes.peak > many_nodes.graph + many_nodes.operator + many_nodes.features + many_nodes.activations
    narrow = training_bytes(Size(10**7, 10**7, 6), [4, 1])
    assert narrow.peak == PROCESS + narrow.graph + narrow.features + narrow.preparing


@pytest.mark.skipif(kernel.chosen() == kernel.PLAIN, reason="needs the native kernel, whose plan differs")
@pytest.mark.parametrize(("widths", "propagated_once"), [([8, 64, 4], True), ([300, 4, 4], False)])
def test_a_process_of_mini_batch_training_holds_what_the_formula_says(graph, widths, propagated_once, monkeypatch):
    pymetis = pytest.importorskip("pymetis", reason="needs the extra parts")
    given = []

    def part_graph(n_parts, adjacency, eweights, options):
        given.extend((adjacency.adj_starts, adjacency.adjacent, eweights))
        return 0, np.arange(len(adjacency.adj_starts) - 1) % n_parts

    monkeypatch.setattr(pymetis, "part_graph", part_graph)
    x = np.random.default_rng(0).normal(size=(NODES, widths[0])).astype(np.float32)
    batches = InParts(S2GNN(*widths, alpha=6), x, graph, Clusters(partition(graph, 10)), "part")
    whole = training_bytes(Size(NODES, 2 * EDGES, 6), widths)
    prepared, _ = batches.whole
    assert isinstance(prepared, PreparedInput) == propagated_once
    held = prepared.stacked if isinstance(prepared, PreparedInput) else prepared
    both, made = whole.graph + x.nbytes, whole.operator + held.nbytes
    assert list(whole.in_clusters().values()) == [
        x.nbytes + whole.building,
        both + sum(np.asarray(array, dtype=pymetis.zero_copy_dtype()).nbytes for array in given),
        both + batches._features.nbytes,
        both + max(made, whole.preparing),
        both + made + whole.evaluation,
    ]
