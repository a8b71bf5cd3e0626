import tracemalloc

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from s2gnn import InputError, SobolevOperator
from s2gnn.bench.cost import PROCESS, Size, gathered_bytes
from s2gnn.bench.cost_model import (
    CACHED_SIGNAL,
    Gather,
    Measured,
    Rates,
    _Plan,
    evaluation_bytes,
    fit_rates,
    gathers_of_branches,
    gathers_of_epoch,
    gathers_of_propagation,
    index_bytes,
    most_nodes_propagated_once,
    training_bytes,
)
from s2gnn.bench.memory import operator_bytes
from s2gnn.bench.networks import make_epoch, make_network
from s2gnn.bench.workloads import random_graph
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


@pytest.mark.parametrize("alpha", [1, 6])
def test_graph_and_operator_have_the_bytes_of_their_arrays(graph, alpha):
    needs = training_bytes(Size(NODES, 2 * EDGES, alpha), [3, 4, 2])
    assert needs.graph == graph.indptr.nbytes + graph.indices.nbytes + graph.weights.nbytes
    assert needs.operator == operator_bytes(SobolevOperator(graph, alpha, 1.5))


@pytest.mark.parametrize(("widths", "alpha"), NETWORKS)
def test_a_training_step_allocates_what_the_formula_says(graph, widths, alpha):
    network, inputs = make_network("ours", graph, torch.randn(NODES, widths[0]), widths, alpha)
    run = make_epoch(network, inputs, torch.arange(NODES) % widths[-1], torch.arange(0, NODES, 10))
    run()
    peak = allocated_at_most(run)
    needs = training_bytes(Size(NODES, 2 * EDGES, alpha), widths)
    made_once = isinstance(inputs[0], PreparedInput)
    assert 0.98 < (needs.activations + (0 if made_once else needs.propagated)) / peak < 1.15
    if made_once:
        assert needs.propagated == inputs[0].stacked.nbytes


@pytest.mark.parametrize(("widths", "alpha"), NETWORKS)
def test_the_network_holds_the_features_that_the_formula_says(graph, widths, alpha):
    needs = training_bytes(Size(NODES, 2 * EDGES, alpha), widths)
    x = torch.randn(NODES, widths[0])
    _, (inputs, _) = make_network("ours", graph, x, widths, alpha)
    assert needs.features == x.nbytes
    if isinstance(inputs, PreparedInput):
        assert (needs.copied, needs.propagated) == (0, inputs.stacked.nbytes)
    else:
        assert needs.copied == inputs.nbytes
        assert inputs.data_ptr() != x.data_ptr()


@pytest.mark.parametrize(("widths", "alpha"), NETWORKS)
def test_an_evaluation_allocates_what_the_formula_says(graph, widths, alpha):
    network, inputs = make_network("ours", graph, torch.randn(NODES, widths[0]), widths, alpha)
    network.eval()

    def run():
        with torch.no_grad():
            network(*inputs)

    run()
    assert allocated_at_most(run) == pytest.approx(evaluation_bytes(Size(NODES, 2 * EDGES, alpha), widths), rel=0.01)


@pytest.mark.parametrize(("nodes", "edges", "alpha"), [(1_000, 20_000, 6), (20_000, 20_000, 6), (20_000, 200_000, 2)])
@pytest.mark.parametrize("block", [2**22, 2**14])
def test_making_the_operator_allocates_what_the_formula_says(nodes, edges, alpha, block, monkeypatch):
    for module in ("s2gnn.bench.cost_model", "s2gnn.operators.shifts"):
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
    plan = _Plan(Size(NODES, 2 * EDGES, alpha), widths)
    assert plan._training == [layer.order for layer in network.train().plan(*inputs)]
    with torch.no_grad():
        assert plan._evaluation == [layer.order for layer in network.eval().plan(*inputs)]


def test_bytes_fetched_are_those_of_the_benchmarks():
    size = Size(nodes=10, directions=40, alpha=2)
    streamed_once = 4 * 11 + 4 * 3 * 10 + 4 * 3 * 10 * 5  # pointers, scalings, the signal and its branches
    assert gathers_of_propagation(size, 5) == [Gather(gathered_bytes(size, 5) - streamed_once, 4 * 10 * 5)]
    assert gathers_of_branches(size, 5) == [Gather(40 * (8 + 8 + 2 * 20), 4 * 3 * 10 * 5)]


@pytest.mark.skipif(kernel.chosen() == kernel.PLAIN, reason="needs the native kernel, whose plan differs")
def test_the_products_of_an_epoch():
    size = Size(NODES, 200 * NODES, 6)
    # The input is propagated once, so that the first layer has none; the second gathers before it transforms.
    one, branches = gathers_of_propagation(size, 64), gathers_of_branches(size, 112)
    assert gathers_of_epoch(size, [8, 64, 112]) == [*one, *one, *branches]
    # Features too wide to be propagated once: gathered in the step and in the evaluation.
    large = Size(10_000_000, 400_000_000, 6)
    one, branches = gathers_of_propagation(large, 128), gathers_of_branches(large, 3)
    assert gathers_of_epoch(large, [128, 64, 3]) == [*one, *one, *branches, *branches, *branches]
    assert training_bytes(large, [128, 64, 3]).propagated == 4 * 10_000_000 * 128 * 7


@pytest.mark.skipif(kernel.chosen() == kernel.PLAIN, reason="needs the native kernel, whose plan differs")
def test_beyond_some_nodes_features_are_propagated_in_every_epoch():
    most = most_nodes_propagated_once(alpha=6, features=128)
    assert most == 2**31 // 3_584 == 599_186
    within, beyond = (Size(nodes, 40 * nodes, 6) for nodes in (most, most + 1))
    widths = [128, 64, 10]
    per_edge = [2 * sum(g.fetched for g in gathers_of_epoch(s, widths)) / s.directions for s in (within, beyond)]
    assert per_edge == [1_632, 1_632 + 2 * 2 * 544]
    assert training_bytes(within, widths).copied == 0
    assert training_bytes(beyond, widths).copied == 512 * beyond.nodes


def test_a_billion_edges_have_short_indices_and_a_few_more_have_long_ones():
    assert index_bytes(Size(50_000_000, 2 * 10**9, 6)) == 4
    assert index_bytes(Size(50_000_000, 2 * 1_073_741_791, 6)) == 4
    longer = Size(50_000_000, 2 * 1_073_741_792, 6)
    assert index_bytes(longer) == 8
    assert training_bytes(longer, [8, 4]).graph == 16 * longer.directions + 8 * (longer.nodes + 1)


def test_the_peak_is_that_of_the_graph_of_the_operator_or_of_training():
    few_nodes = training_bytes(Size(1_000, 10**9, 1), [4, 4])
    assert few_nodes.peak == few_nodes.peak_of_building > 32 * 10**9
    many_nodes = training_bytes(Size(10**7, 10**7, 6), [64, 64, 10])
    assert many_nodes.peak > many_nodes.graph + many_nodes.operator + many_nodes.features + many_nodes.activations
    narrow = training_bytes(Size(10**7, 10**7, 6), [4, 1])
    assert narrow.peak == PROCESS + narrow.graph + narrow.features + narrow.preparing


def test_rates_that_made_the_seconds_are_found_again():
    rates = Rates(1.5, 40e9, 13e9)
    work = [
        (0.2, [Gather(10**9, CACHED_SIGNAL)]),
        (0.0, [Gather(10**10, CACHED_SIGNAL + 1)]),
        (1.0, [Gather(10**9, 1), Gather(10**9, 2 * CACHED_SIGNAL)]),
        (0.0, [Gather(10**8, 1)]),
    ]
    measured = [Measured("", 10**6, floor, gathers, rates.seconds(floor, gathers)) for floor, gathers in work]
    assert rates.seconds(*work[2]) == pytest.approx(1.5 + 1 / 40 + 1 / 13)
    found = fit_rates(measured)
    assert (found.slowdown, found.cached, found.memory) == pytest.approx((1.5, 40e9, 13e9))
    assert found.ratio(measured[0]) == pytest.approx(1)
    with pytest.raises(InputError, match="do not tell dense products from sparse ones"):
        fit_rates(measured[:1])
