import signal as signal_module
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from s2gnn import S2GNN, Graph, InputError, S2Conv, SobolevOperator
from s2gnn.operators import SobolevFamily, kernel, propagation
from tests.random_graphs import graphs, random_graph
from tests.seed import seeded

NATIVE = kernel.available()[1:]
MAPS = {"fan_out": propagation.fan_out, "fan_in": propagation.fan_in, "branchwise": propagation.branchwise}


def signal(name, alpha, n, width, dtype=torch.float32):
    shape = (n, width) if name == "fan_out" else (n, alpha + 1, width)
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seeded(0)))


def test_the_native_kernel_is_built():
    assert NATIVE[0] == "portable"


@pytest.mark.parametrize("variant", NATIVE)
@pytest.mark.parametrize("alpha", [1, 2, 3, 4, 5, 6, 7, 8, 13])
@pytest.mark.parametrize("name", MAPS)
def test_every_variant_and_width_gives_the_numbers_of_plain_torch(variant, alpha, name):
    for shift in ("adjacency", "laplacian"):
        g = random_graph(37, 0.2)
        for dtype, tolerance in ((torch.float32, 2e-6), (torch.float64, 1e-14)):
            powers = SobolevOperator(g, alpha, 0.7, shift, dtype=dtype).powers
            for width in (1, 2, 3, 7, 8, 13, 16, 31, 67):
                h = signal(name, alpha, 37, width, dtype)
                with kernel.use("torch"):
                    expected = MAPS[name](powers, h)
                with kernel.use(variant):
                    torch.testing.assert_close(MAPS[name](powers, h), expected, rtol=0, atol=tolerance)


@pytest.mark.filterwarnings("ignore::s2gnn.IdenticalBranchesWarning")
@pytest.mark.parametrize("variant", NATIVE)
@settings(max_examples=40)
@given(g=graphs(), alpha=st.integers(1, 6), epsilon=st.sampled_from([0.0, 1.0]))
def test_isolated_nodes_single_nodes_and_extreme_weights(variant, g, alpha, epsilon):
    powers = SobolevOperator(g, alpha, epsilon, "normalized_laplacian").powers
    h = signal("fan_out", alpha, g.n_nodes, 19)
    with kernel.use("torch"):
        expected = propagation.fan_out(powers, h)
    with kernel.use(variant):
        torch.testing.assert_close(propagation.fan_out(powers, h), expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("name", MAPS)
def test_a_hub_and_any_number_of_threads_give_the_same_bits(name):
    star = Graph.from_edge_list(
        [(0, leaf) for leaf in range(1, 500)], np.random.default_rng(seeded(0)).uniform(0.1, 1, 499), 500
    )
    powers = SobolevOperator(star, 4, 0.5).powers
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3, 8):
            torch.set_num_threads(count)
            results.append(MAPS[name](powers, signal(name, 4, 500, 33)))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(result, results[0]) for result in results)


@pytest.mark.parametrize("variant", NATIVE)
@pytest.mark.parametrize("name", ["fan_out", "fan_in"])
def test_passes_over_tiles_give_the_bits_of_one_pass(variant, name):
    powers = SobolevOperator(random_graph(400, 0.7), 3, 0.7, "laplacian").powers
    h = signal(name, 3, 400, 93)
    with kernel.use(variant):
        expected = MAPS[name](powers, h)
    arrays = [x.numpy() if isinstance(x, torch.Tensor) else x for x in (*powers, h)]
    for kibibytes in (4, 8, 16, 32, 64):
        for threads in (1, 3):
            out = torch.full_like(expected, np.nan)
            getattr(kernel.native_module(), name)(variant, threads, *arrays, out.numpy(), 2**10 * kibibytes)
            assert torch.equal(out, expected)


@pytest.mark.parametrize("variant", NATIVE)
def test_without_memory_for_a_buffer_there_is_an_exception(variant):
    code = f"""
import resource
import numpy as np
from s2gnn.operators import kernel
n = 2**24  # the buffer takes four bytes for each node; zeros take memory where they are written
indptr, none, row = np.zeros(n + 1, np.int32), np.zeros(0, np.int32), np.zeros((n, 1), np.float32)
signals, out = np.zeros((n, 2, 1), np.float32), np.zeros((n, 1), np.float32)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**24,) * 2)
powers = indptr, none, none.astype(np.float32), row, row[:, 0]
try:
    kernel.native_module().fan_in({variant!r}, 1, *powers, 1, signals, out)
except MemoryError:
    print("no memory")
"""
    result = run(code, OMP_NUM_THREADS="1")
    assert result.stdout.strip() == "no memory", result.stderr


@pytest.mark.parametrize("chosen", kernel.available())
@pytest.mark.parametrize("name", MAPS)
def test_opcheck(chosen, name):
    p = SobolevOperator(random_graph(9), 3, 0.7, "laplacian", dtype=torch.float64).powers
    op = getattr(torch.ops.s2gnn, name).default
    h = signal(name, 3, 9, 4, torch.float64).requires_grad_()
    with kernel.use(chosen):
        torch.library.opcheck(op, (*p, h))


@pytest.mark.parametrize("chosen", kernel.available())
def test_non_contiguous_signals(chosen):
    op = SobolevOperator(random_graph(20), 3)
    h = torch.randn(8, 20).T
    with kernel.use(chosen):
        torch.testing.assert_close(op.propagate(h), op.propagate(h.contiguous()))
        branches = torch.randn(4, 20, 8).transpose(0, 1)
        torch.testing.assert_close(op.propagate_branches(branches), op.propagate_branches(branches.contiguous()))


@pytest.mark.bfloat16
def test_autocast_gives_the_numbers_of_float32_within_bfloat16():
    op = SobolevOperator(random_graph(30), 3, 1.2)
    model = S2GNN(6, 16, 4, alpha=3, epsilon=1.2).eval()
    x = torch.randn(30, 6)
    expected = model(x, op)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        actual = model(x, op)
    torch.testing.assert_close(actual.float(), expected, rtol=0.05, atol=0.05)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_compiled_network_gives_the_same_numbers():
    op = SobolevOperator(random_graph(50), 3, 1.2)
    model = S2GNN(6, 16, 4, alpha=3, epsilon=1.2, dropout=0.0)
    compiled = torch.compile(model, fullgraph=True)
    x = torch.randn(50, 6)
    expected = model(x, op)
    torch.testing.assert_close(compiled(x, op), expected)
    expected.square().sum().backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    compiled(x, op).square().sum().backward()
    for p, gradient in zip(model.parameters(), gradients, strict=True):
        torch.testing.assert_close(p.grad, gradient)


@pytest.mark.parametrize("chosen", kernel.available())
def test_an_interrupt_is_never_lost_in_a_product(chosen):
    """Ctrl-C at random moments, one after the other: each must arrive."""
    op = SobolevOperator(random_graph(20), 3)
    h = torch.randn(20, 4)
    arrived = sent = 0

    def interrupt(signum, frame):
        nonlocal sent
        sent += 1
        raise KeyboardInterrupt

    previous = signal_module.signal(signal_module.SIGALRM, interrupt)
    try:
        with kernel.use(chosen):
            for turn in range(200):
                try:
                    signal_module.setitimer(signal_module.ITIMER_REAL, 2e-4 + 1e-6 * turn)
                    while sent == turn:
                        op.propagate(h)
                except KeyboardInterrupt:
                    arrived += 1
    finally:
        signal_module.signal(signal_module.SIGALRM, previous)
    assert arrived == sent == 200


def test_an_unknown_kernel():
    message = "there is no kernel 'sse' on this machine: choose one of torch, portable"
    with pytest.raises(InputError, match=message), kernel.use("sse"):
        pass


def run(code, **environment):
    import os

    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_without_the_native_module_it_says_so_once_and_runs_on_torch():
    code = """
import sys, warnings
sys.modules["s2gnn.operators._native"] = None
import torch
from s2gnn import Graph, SobolevOperator
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    op = SobolevOperator(Graph.from_edge_list([(0, 1)], [0.5]), 2)
    op.propagate(torch.ones(2, 1))
    op.propagate(torch.ones(2, 1))
print(len(caught), caught[0].category.__name__, caught[0].message)
"""
    result = run(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("1 SlowPathWarning s2gnn runs in plain PyTorch")


def test_the_environment_forces_a_kernel():
    code = "import torch; from s2gnn.operators import kernel; print(kernel.chosen())"
    assert run(code, S2GNN_KERNEL="portable").stdout.strip() == "portable"
    assert run(code, S2GNN_KERNEL="torch").stdout.strip() == "torch"
    assert "there is no kernel 'neon'" in run(code, S2GNN_KERNEL="neon").stderr


def test_one_openmp_runtime_serves_torch_and_the_kernel():
    code = """
import torch
from s2gnn.operators import kernel
before = {line.split()[-1] for line in open("/proc/self/maps") if "omp" in line.split("/")[-1]}
kernel.native_module().variants()
after = {line.split()[-1] for line in open("/proc/self/maps") if "omp" in line.split("/")[-1]}
print(after - before)
"""
    assert run(code).stdout.strip() == "set()"


def test_arrays_of_other_types_are_refused_instead_of_copied():
    nodes, x = np.arange(3, dtype=np.int32), np.ones((2, 1, 4), dtype=np.float32)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        kernel.native_module().dot(
            "portable", nodes, nodes[:-1], nodes[:-1], 1, x, x.astype(np.float64), np.empty((1, 2), dtype=np.float32)
        )


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # by the compiler
@pytest.mark.parametrize("learned", ["epsilon", "weights"])
def test_learned_operators_compile_with_the_gradients_of_eager(learned):
    graph = random_graph(9)
    conv = S2Conv(3, 4, 2, epsilon="learn" if learned == "epsilon" else 1.0)
    x, weights = torch.randn(9, 3), torch.tensor(graph.to_edge_list()[1], requires_grad=learned == "weights")
    family = SobolevFamily(graph, 2).with_weights(weights)
    found = []
    for run in (conv, torch.compile(conv, backend="aot_eager")):
        conv.zero_grad()
        weights.grad = None
        run(x, family).square().sum().backward(retain_graph=True)
        found.append([weights.grad if learned == "weights" else conv.epsilon.log.grad, conv.weight.grad])
    for eager, compiled in zip(*found, strict=True):
        torch.testing.assert_close(compiled, eager)
