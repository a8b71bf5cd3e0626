import tracemalloc

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from s2gnn import SobolevOperator
from s2gnn.bench.benchmarks import operator_bytes
from s2gnn.bench.cost import dense_flops, fetched, fetched_in_epoch, planned_orders, training_bytes
from s2gnn.bench.networks import make_epoch, make_network
from s2gnn.bench.tasks import Task, Workload, random_graph
from s2gnn.graphs import partition
from s2gnn.graphs.graph import LARGEST_INT32_POINTER
from s2gnn.nn import S2GNN, Clusters, InParts
from s2gnn.operators import PreparedInput, kernel
from s2gnn.operators.shifts import hadamard_factors

NODES, EDGES = 1_000, 20_000
TASKS = [
    Task(NODES, EDGES, 8, 112, 64, 3),
    Task(NODES, EDGES, 128, 10, 64, 2),
    Task(NODES, EDGES, 128, 10, 16, 2, alpha=3),
    Task(NODES, EDGES, 300, 4, 4, 2),
    Task(NODES, EDGES, 32, 5, 32, 4, alpha=2),
]


@pytest.fixture(scope="module")
def graph():
    return random_graph(NODES, EDGES)


def allocated_at_most(run):
    """The bytes that torch has allocated at the peak of a run, in addition to what it had before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        run()
    events = [event for event in profiled.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


@pytest.mark.parametrize("layers", [2, 3])
def test_dense_operations_are_those_torch_counts(layers):
    """The counter sees the products with weights, but not our custom ops, which are sparse."""
    task = Task(40, 200, 5, 3, 8, layers, alpha=3)
    network = make_network("ours", Workload("", task, random_graph(40, 200), torch.randn(40, 5)))
    run = make_epoch(network, torch.zeros(40, dtype=torch.int64), torch.arange(40))
    with FlopCounterMode(display=False) as counter:
        run()
    assert counter.get_total_flops() == dense_flops(task)


@pytest.mark.parametrize("alpha", [1, 6])
def test_graph_and_operator_have_the_bytes_of_their_arrays(graph, alpha):
    held = training_bytes(Task(NODES, EDGES, alpha=alpha))
    assert held.graph == graph.indptr.nbytes + graph.indices.nbytes + graph.weights.nbytes
    assert held.operator == operator_bytes(SobolevOperator(graph, alpha, 1.5))


@pytest.mark.parametrize("task", TASKS)
def test_a_network_is_planned_and_allocates_as_the_formulas_say(graph, task):
    x = torch.randn(NODES, task.features)
    network, inputs = make_network("ours", Workload("", task, graph, x))
    run = make_epoch((network, inputs), torch.arange(NODES) % task.labels, torch.arange(0, NODES, 10))
    run()
    formula, (training, evaluation) = training_bytes(task), planned_orders(task)
    assert formula.features == x.nbytes
    propagated_once = isinstance(inputs[0], PreparedInput)
    if propagated_once:
        assert (formula.copied, formula.propagated) == (0, inputs[0].stacked.nbytes)
    else:
        assert formula.copied == inputs[0].nbytes
        assert inputs[0].data_ptr() != x.data_ptr()
    in_step = formula.activations + (0 if propagated_once else formula.propagated)
    assert 0.98 < in_step / allocated_at_most(run) < 1.15
    assert training == [layer.order for layer in network.train().plan(*inputs)]
    with torch.no_grad():
        assert evaluation == [layer.order for layer in network.eval().plan(*inputs)]
        assert allocated_at_most(lambda: network(*inputs)) == pytest.approx(formula.evaluation, rel=0.01)


@pytest.mark.parametrize(("nodes", "edges", "alpha"), [(1_000, 20_000, 6), (20_000, 20_000, 6), (20_000, 200_000, 2)])
@pytest.mark.skipif(kernel.chosen() == kernel.PLAIN, reason="needs the native kernel, which allocates less")
def test_making_the_operator_allocates_what_the_formula_says(nodes, edges, alpha):
    graph = random_graph(nodes, edges)
    tracemalloc.start()
    try:
        hadamard_factors(graph, alpha, 1.5, "adjacency", np.float32)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    inside = 3 * 8 * nodes  # arrays of the native code, which are not traced
    assert training_bytes(Task(nodes, edges, alpha=alpha)).preparing == pytest.approx(peak + inside, rel=0.02)


def test_bytes_fetched_are_those_of_the_benchmarks():
    task = Task(nodes=10, edges=20, alpha=2)
    assert fetched(task, 5).tolist() == [40 * (8 + 8 + 20), 0]
    assert fetched(task, 5, by_branch=True).tolist() == [40 * (8 + 8 + 2 * 20), 0]
    assert fetched(Task(nodes=2**22 + 1, edges=20, alpha=2), 1).tolist() == [0, 40 * (8 + 8 + 4)]
    assert fetched(Task(), 64)[1] == 0  # in passes


@pytest.mark.skipif(kernel.chosen() == kernel.PLAIN, reason="needs the native kernel, whose plan differs")
def test_the_products_of_an_epoch():
    task = Task(NODES, 100 * NODES, 8, 112, 64, 2)
    # The input is propagated once, so that the first layer has none; the second aggregates before it transforms.
    assert fetched_in_epoch(task).tolist() == (4 * fetched(task, 64)).tolist()
    # Features too wide to be propagated once: aggregated in the step and in the evaluation.
    large = Task(10_000_000, 200_000_000, 128, 3, 64, 2)
    one, branches = fetched(large, 128), fetched(large, 3, by_branch=True)
    assert fetched_in_epoch(large).tolist() == (2 * one + 3 * branches).tolist()
    assert training_bytes(large).propagated == 4 * 10_000_000 * 128 * 7


def test_a_billion_edges_have_short_indices_and_a_few_more_have_long_ones():
    most, longer = (Task(50_000_000, edges) for edges in (1_073_741_791, 1_073_741_792))
    assert most.directions <= LARGEST_INT32_POINTER < longer.directions
    assert training_bytes(most).graph == 12 * most.directions + 4 * (most.nodes + 1)
    assert training_bytes(longer).graph == 16 * longer.directions + 8 * (longer.nodes + 1)


def test_the_peak_is_that_of_the_graph_or_of_training():
    few_nodes = training_bytes(Task(1_000, 10**9 // 2, 4, 4, layers=1, alpha=1))
    assert few_nodes.peak == few_nodes.peak_of_building > 32 * 10**9
    many_nodes = training_bytes(Task(10**7, 10**7 // 2, 64, 10, 64, 2))
    assert many_nodes.peak > many_nodes.graph + many_nodes.operator + many_nodes.features + many_nodes.activations


@pytest.mark.skipif(kernel.chosen() == kernel.PLAIN, reason="needs the native kernel, whose plan differs")
@pytest.mark.parametrize(("features", "hidden", "propagated_once"), [(8, 64, True), (300, 4, False)])
def test_a_process_of_mini_batch_training_holds_what_the_formula_says(
    graph, features, hidden, propagated_once, monkeypatch
):
    pymetis = pytest.importorskip("pymetis", reason="needs the extra parts")
    given = []

    def part_graph(n_parts, adjacency, eweights, options):
        given.extend((adjacency.adj_starts, adjacency.adjacent, eweights))
        return 0, np.arange(len(adjacency.adj_starts) - 1) % n_parts

    monkeypatch.setattr(pymetis, "part_graph", part_graph)
    x = np.random.default_rng(0).normal(size=(NODES, features)).astype(np.float32)
    batches = InParts(S2GNN(features, hidden, 4, alpha=6), x, graph, Clusters(partition(graph, 10)), "part")
    whole = training_bytes(Task(NODES, EDGES, features, 4, hidden, 2))
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
