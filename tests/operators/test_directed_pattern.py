"""The pattern of a list of directed edges, in one native pass and by sorting."""

import numpy as np
import pytest
import torch
from hypothesis import given

from s2gnn import InputError
from s2gnn.operators import EdgeOperator, kernel
from s2gnn.operators.directed_pattern import _sorted_pattern, directed_pattern
from tests.operators.test_edges import KERNELS, edge_lists

NATIVE = KERNELS[-1]


def patterns(sources, targets, n):
    """The pattern by every kernel."""
    for name in KERNELS:
        with kernel.use(name):
            yield name, directed_pattern(sources, targets, n)


@given(edges=edge_lists())
def test_edges_are_stored_by_target_and_source(edges):
    (sources, targets), _, n = edges
    for name, pattern in patterns(sources, targets, n):
        rows, columns = (end.numpy() for end in pattern.entries.positions())
        assert (np.diff(rows * n + columns) >= 0).all()
        np.testing.assert_array_equal(rows[pattern.place], targets)
        np.testing.assert_array_equal(columns[pattern.place], sources)
        assert name != NATIVE or len(rows) == len({*zip(rows, columns, strict=True)})


@given(edges=edge_lists())
def test_the_transposed_pattern_finds_each_entry(edges):
    (sources, targets), _, n = edges
    for _, pattern in patterns(sources, targets, n):
        rows, columns = (end[pattern.reverse].numpy() for end in pattern.entries.positions())
        assert (np.diff(columns * n + rows) >= 0).all()
        np.testing.assert_array_equal(pattern.indices.chunk(3)[1], rows)
        transposed = pattern.indptr[n + 1 :] if len(rows) else pattern.indptr  # without edges, both are one
        np.testing.assert_array_equal(transposed, np.searchsorted(columns, range(n + 1)))


@pytest.mark.parametrize("index", [[[0], [3]], [[-1], [0]]])
def test_an_index_out_of_range(index):
    with kernel.use(NATIVE), pytest.raises(InputError, match=r"edge_index has an index outside 0..2, for 3 nodes"):
        EdgeOperator(torch.tensor(index), None, 3)


@pytest.mark.parametrize("wrong", [-1, -5, 4])
@pytest.mark.parametrize("end", [0, 1])
def test_indices_outside_the_nodes_stop_a_traced_build(wrong, end):
    edges = torch.tensor([[0, 1, 2], [1, 2, 3]])
    edges[end, 1] = wrong
    with pytest.raises(RuntimeError, match="edge_index has an index that is out of range"):
        _sorted_pattern(edges[0], edges[1], 4)


@pytest.mark.parametrize("name", KERNELS)
def test_a_pattern_without_edges_has_the_row_pointers_once(name):
    none = torch.zeros(0, dtype=torch.int64)
    with kernel.use(name):
        assert directed_pattern(none, none, 4).indptr.tolist() == [0] * 5
