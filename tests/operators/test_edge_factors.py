"""The pattern of edges with weights; the factors themselves are tested through `SobolevFamily`, see test_family.py."""

import numpy as np
import pytest
from hypothesis import given

from s2gnn.operators import kernel
from s2gnn.operators.edge_factors import EdgePattern
from tests.random_graphs import graphs


@given(graphs())
def test_both_directions_name_their_pair_in_the_list_of_edges(graph):
    for chosen in kernel.available():
        with kernel.use(chosen):
            pattern = EdgePattern.of(graph, "cpu")
        ends = np.sort(np.stack([graph.rows(), graph.indices], axis=1), axis=1)
        np.testing.assert_array_equal(graph.to_edge_list()[0][pattern.pairs.numpy()], ends)


@pytest.mark.parametrize(("indptr", "indices"), [([0, 1, 1], [1]), ([0, 0, 1], [0]), ([0, 1, 2], [0, 1])])
def test_a_pattern_that_is_not_symmetric_or_has_a_diagonal_has_no_pairs(indptr, indices):
    arrays = (np.array(values, dtype=np.int32) for values in (indptr, indices, indices))
    with pytest.raises(ValueError, match="number_pairs wants a symmetric pattern without a diagonal"):
        kernel.native_module().number_pairs(*arrays)
