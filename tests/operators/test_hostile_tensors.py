"""No call makes a kernel read or write outside its arrays: what does not fit is refused at every call."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from s2gnn import S2GNN, Graph, InputError, SobolevOperator, knn_graph
from s2gnn.operators import EdgeOperator, SobolevFamily, SparseInput, kernel
from tests.seed import seeded

OUTSIDE = (-1, 3, 2**20, 2**31 - 1, -(2**31))  # of the nodes of GRAPH
GRAPH = Graph.from_edge_list([(0, 1), (1, 2)], weights=[0.5, 2.0])
ALPHA = 2
N, F = GRAPH.n_nodes, 5
KERNELS = [name for name in kernel.available() if name != kernel.TRITON]
REFUSED = (ValueError, TypeError, IndexError, RuntimeError)  # torch refuses some before a kernel is called


@pytest.fixture(params=KERNELS, autouse=True)
def _kernel(request):
    with kernel.use(request.param):
        yield


def signal(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype)


def arguments(name):
    """Valid inputs of the custom operator called `name`."""
    powers = SobolevOperator(GRAPH, ALPHA).powers
    branches, bias, key = signal(N, ALPHA + 1, F), signal(ALPHA + 1, F), torch.tensor(3)
    return {
        "fan_out": [*powers, signal(N, F)],
        "fan_in": [*powers, branches],
        "branchwise": [*powers, branches],
        "hadamard_gradient": [*powers[:4], 1, branches, branches],
        "row_products": [branches, branches],
        "activate": [branches, bias, key, 0.5],
        "activate_backward": [branches, branches, 0.5],
        "combine": [branches, bias, signal(ALPHA + 1), key, 0.5],
        "combine_backward": [branches, bias, signal(ALPHA + 1), signal(N, F), key, 0.5],
    }[name]


def call(name, inputs):
    return getattr(torch.ops.s2gnn, name)(*inputs)


PRODUCTS = ["fan_out", "fan_in", "branchwise", "hadamard_gradient"]
ELEMENTWISE = ["row_products", "activate", "activate_backward", "combine", "combine_backward"]


@pytest.mark.parametrize("name", PRODUCTS)
def test_an_index_outside_the_nodes(name):
    for position, outside in itertools.product(range(4), OUTSIDE):
        inputs = arguments(name)
        inputs[1][position] = outside
        with pytest.raises(InputError, match="not a CSR pattern"):
            call(name, inputs)


@pytest.mark.parametrize("name", PRODUCTS)
def test_row_pointers_that_do_not_ascend_to_the_number_of_edges(name):
    wrong = [[0, 2, 1, 4], [0, 9, 9, 4], [1, 1, 3, 4], [0, 1, 3, 5], [0, 1, 3, 3], [0, -1, 3, 4], [0, 1, 3]]
    for indptr in [*wrong, [0, 2**31 - 1, -(2**31), 4], [0, 2**31 - 1, -2, 4]]:
        inputs = arguments(name)
        inputs[0] = torch.tensor(indptr, dtype=torch.int32)
        with pytest.raises(InputError, match="not a CSR pattern|shorter than the pattern"):
            call(name, inputs)


@pytest.mark.parametrize("name", PRODUCTS + ELEMENTWISE)
def test_each_tensor_with_a_row_too_few(name):
    any_rows = name in ("activate", "combine")
    for position, value in enumerate(arguments(name)):
        if isinstance(value, torch.Tensor) and value.ndim and not (any_rows and position == 0):
            inputs = arguments(name)
            inputs[position] = value[:-1]
            with pytest.raises(REFUSED):
                call(name, inputs)


@pytest.mark.parametrize("name", PRODUCTS + ELEMENTWISE)
def test_each_tensor_of_another_type_or_shape_is_refused_or_computed_by_torch(name):
    types = (torch.int64, torch.float64, torch.float16, torch.bool)
    for position, value in enumerate(arguments(name)):
        if not isinstance(value, torch.Tensor):
            continue
        others = [value.to(dtype) for dtype in types if dtype != value.dtype]
        others += [value[..., None], value[None], value.flatten()[:1], torch.empty(0, dtype=value.dtype)]
        refused = 0
        for other in others:
            try:
                call(name, [*arguments(name)[:position], other, *arguments(name)[position + 1 :]])
            except REFUSED:
                refused += 1
        assert refused


@pytest.mark.parametrize("name", PRODUCTS + ELEMENTWISE)
def test_tensors_that_are_not_contiguous_give_the_same(name):
    inputs, expected = arguments(name), call(name, arguments(name))
    for position, value in enumerate(inputs):
        if isinstance(value, torch.Tensor) and value.ndim:
            apart = torch.stack([value, torch.zeros_like(value)], dim=-1)[..., 0]
            assert value.numel() == 1 or not apart.is_contiguous()
            found = call(name, [*inputs[:position], apart, *inputs[position + 1 :]])
            torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("drop", [float("nan"), float("inf"), -0.5, 1.0, 1e300])
def test_a_probability_outside_the_interval(drop):
    if kernel.chosen() != kernel.PLAIN:
        inputs = arguments("activate")
        with pytest.raises(InputError, match=r"drop in \[0, 1\)"):
            call("activate", [*inputs[:-1], drop])


def test_the_factors_of_an_operator_may_be_changed_but_are_checked():
    operators = [
        SobolevOperator(GRAPH, ALPHA),
        SobolevFamily(GRAPH, ALPHA).at(torch.tensor(0.5, requires_grad=True)),
        EdgeOperator(torch.tensor([[0, 1, 1], [1, 0, 2]]), None, N, ALPHA),
    ]
    for op, outside in itertools.product(operators, OUTSIDE):
        op.powers.indices[1] = outside
        with pytest.raises(InputError, match="not a CSR pattern"):
            op.propagate(signal(N, F))
        with pytest.raises(InputError, match="not a CSR pattern"):
            op.propagate_branches(signal(N, ALPHA + 1, F))


def test_factors_changed_between_forward_and_backward_pass():
    for epsilon in (0.5, torch.tensor(0.5, requires_grad=True)):
        op, h = SobolevFamily(GRAPH, ALPHA).at(epsilon), signal(N, F).requires_grad_()
        out = op.propagate(h)
        op.powers.indices.numpy()[1] = 2**20  # unseen by torch
        with pytest.raises(InputError, match="not a CSR pattern"):
            out.sum().backward()


def test_the_pattern_of_a_family_may_be_changed_but_is_checked():
    weights = torch.ones(GRAPH.n_edges, requires_grad=True)
    for part, outside in itertools.product(("indices", "pairs"), OUTSIDE):
        family = SobolevFamily(GRAPH, ALPHA)
        getattr(family.pattern, part)[2] = outside
        with pytest.raises(REFUSED, match=r"not a CSR pattern|an edge without a weight|out of (bounds|range)"):
            family.with_weights(weights)


def test_the_arrays_of_a_graph_are_immutable():
    for array in (GRAPH.indptr, GRAPH.indices, GRAPH.weights):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag|read-only"):
            array.setflags(write=True)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_sparse_matrices_whose_indices_were_changed(form):
    matrix = sp.random_array((N, 200), density=0.2, rng=np.random.default_rng(seeded(0)), format=form)
    (matrix.coords[1] if form == "coo" else matrix.indices)[2] = 2**20
    for use in (SparseInput, lambda x: knn_graph(x, 1), lambda x: S2GNN(200, 4, 2).prepare(x, GRAPH)):
        with pytest.raises(InputError, match=f"the indices of the {form} matrix are damaged"):
            use(matrix)
