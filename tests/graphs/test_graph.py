import pickle

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from torch_geometric.data import Data

from s2gnn import Graph, InputError, SobolevOperator
from s2gnn.graphs import validation
from tests.random_graphs import graphs

TRIANGLE = np.array([[0, 0.5, 0], [0.5, 0, 2], [0, 2, 0.0]])


def sparse(A, kind=sp.csr_array):
    return kind(np.array(A, dtype=float))


@given(graphs())
def test_round_trips_are_exact(g):
    assert Graph.from_scipy(g.to_scipy()) == g
    assert Graph.from_pyg(g.to_pyg(torch.float64)) == g
    assert Graph.from_networkx(g.to_networkx()) == g
    assert Graph.from_edge_list(*g.to_edge_list(), n_nodes=g.n_nodes) == g
    data = g.to_pyg(torch.float64)
    assert Graph.from_edge_index(data.edge_index, data.edge_weight, g.n_nodes) == g
    assert pickle.loads(pickle.dumps(g)) == g


@given(graphs())
def test_matrix_is_symmetric_without_diagonal_or_stored_zeros(g):
    A = g.to_scipy()
    assert (A != A.T).nnz == 0
    assert A.diagonal().sum() == 0
    assert np.all(A.data > 0)
    assert A.nnz == 2 * g.n_edges
    np.testing.assert_allclose(g.degrees, A.toarray().sum(axis=1), rtol=1e-14)


def test_all_scipy_formats_give_the_same_graph():
    expected = Graph.from_edge_list([(0, 1), (2, 1)], [0.5, 2.0])
    for format in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia"):
        assert Graph.from_scipy(sp.csr_array(TRIANGLE).asformat(format)) == expected
        assert Graph.from_scipy(sp.csr_matrix(TRIANGLE).asformat(format)) == expected


def test_unsorted_csr_is_accepted_and_left_alone():
    A = sp.csr_array((np.array([2.0, 0.5, 0.5, 2.0]), np.array([2, 1, 0, 0]), np.array([0, 2, 3, 4])))
    indices = A.indices.copy()
    g = Graph.from_scipy(A)
    assert g.to_edge_list()[0].tolist() == [[0, 1], [0, 2]]
    np.testing.assert_array_equal(A.indices, indices)


def test_a_graph_does_not_share_memory_with_its_source_nor_its_results():
    A = sparse(TRIANGLE)
    g = Graph.from_scipy(A)
    A.data[:] = 7
    g.to_scipy().data[:] = 7
    assert g == Graph.from_scipy(sparse(TRIANGLE))


def test_immutable():
    g = Graph.from_scipy(sparse(TRIANGLE))
    with pytest.raises(ValueError, match="read-only"):
        g.weights[0] = 3
    with pytest.raises(ValueError, match="WRITEABLE"):
        g.weights[:].flags.writeable = True
    with pytest.raises(AttributeError, match="cannot assign to field 'weights'"):
        g.weights = np.ones(4)
    with pytest.raises(AttributeError, match="cannot delete field 'weights'"):
        del g.weights
    SobolevOperator(g).powers.indices[0] = 0
    assert g == Graph.from_scipy(sparse(TRIANGLE))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (sparse([[0, np.nan], [np.nan, 0]]), r"weight nan of edge \(0, 1\) is not finite"),
        (sparse([[0, np.inf], [np.inf, 0]]), r"weight inf of edge \(0, 1\) is not finite"),
        (sparse([[0, 1, 0], [1, 0, -2], [0, -2, 0]]), r"weight -2.0 of edge \(1, 2\) is negative"),
        (
            sparse([[0, 1], [0.9, 0]]),
            r"not symmetric: the weight of \(0, 1\) is 1.0, that of \(1, 0\) is 0.9",
        ),
        (sparse([[0, 1], [0, 0]]), r"\(0, 1\) is 1.0, that of \(1, 0\) is 0.0.*A\.maximum\(A\.T\)"),
        (sparse([[0, 1, 0], [1, 0, 1]]), r"shape \(2, 3\), but it must be square"),
        (sparse([[0, 1], [1, 3]]), r"node 1 has a self-loop of weight 3.0: pass drop_self_loops=True"),
        (np.eye(2), "is a ndarray, not a SciPy sparse matrix: wrap"),
        (sp.csr_array((0, 0)), "no nodes"),
        (
            sp.coo_array(([-1.0, 2.0, 1.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2)),
            r"weight -1.0 of edge \(0, 1\) is negative",
        ),
        (sp.csr_array(np.array([[0, 1j], [1j, 0]])), "dtype complex128, but they must be real"),
        (sp.csr_array(([np.float16(1)], [0], [0, 1]), shape=(1, 1)), "csr matrix of float16: give float32"),
        (sparse([[0, 1.5e308, 1.5e308], [1.5e308, 0, 0], [1.5e308, 0, 0]]), "node 0 add up to infinity"),
    ],
)
def test_unusable_matrices(matrix, message):
    with pytest.raises(InputError, match=message):
        Graph.from_scipy(matrix)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_indices_and_pointers_out_of_range_are_found_before_scipy_reads_them(format):
    A = sp.random_array((1000, 1000), density=0.01, format=format, rng=np.random.default_rng(0))
    for array, index, message in (
        ("indices", 10**7, "indices must be < 1000"),
        ("indices", -1, "indices must be >= 0"),
        ("indptr", 10**6, "indptr"),
    ):
        broken = A.copy()
        getattr(broken, array)[5] = index
        with pytest.raises(InputError, match=f"the indices of the {format} matrix are damaged: .*{message}"):
            Graph.from_scipy(broken)
    coo = A.tocoo()
    coo.coords[0][7] = 5000
    with pytest.raises(InputError, match="coo matrix are damaged: .* 5000 exceeds"):
        Graph.from_scipy(coo)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.bool_, np.float32, np.int64])
def test_duplicates_are_summed_in_float64(dtype):
    weights = np.array([100, 100], dtype=dtype)
    expected = [2.0 * float(weights[0])] * 2
    assert Graph.from_edge_list([(0, 1), (1, 0)], weights, sum_duplicates=True).weights.tolist() == expected
    both = sp.coo_array((np.repeat(weights, 2), ([0, 1, 0, 1], [1, 0, 1, 0])), shape=(2, 2))
    assert Graph.from_scipy(both, sum_duplicates=True).weights.tolist() == expected


def test_the_asymmetry_named_is_the_largest_relative_to_its_weights():
    A = np.zeros((4, 4))
    A[0, 1], A[1, 0] = 1e6, np.nextafter(1e6, 2e6)
    A[2, 3], A[3, 2] = 1e-20, 1.1e-20
    with pytest.raises(InputError, match=r"the weight of \((2, 3|3, 2)\)"):
        Graph.from_scipy(sp.csr_array(A))


def test_repeated_self_loops_are_dropped_before_duplicates_are_looked_for():
    A = sp.coo_array(([1.0, 1.0, 3.0, 4.0], ([0, 1, 1, 1], [1, 0, 1, 1])), shape=(2, 2))
    assert Graph.from_scipy(A, drop_self_loops=True).n_edges == 1


def test_half_precision_weights_and_tensors():
    index = torch.tensor([[0, 1], [1, 0]])
    for dtype in (torch.float16, torch.bfloat16):
        assert Graph.from_edge_index(index, torch.ones(2, dtype=dtype)).weights.tolist() == [1.0, 1.0]
    weight = torch.ones(2, requires_grad=True)
    assert Graph.from_edge_index(index, weight).n_edges == 1


def test_asymmetry_within_rounding_of_the_given_type_is_averaged():
    a = np.float32(0.1)
    b = np.nextafter(a, np.float32(1))
    matrix = sp.csr_array(np.array([[0, a], [b, 0]], dtype=np.float32))
    g = Graph.from_scipy(matrix)
    assert g.weights.tolist() == [0.5 * a.astype(float) + 0.5 * b.astype(float)] * 2
    with pytest.raises(InputError, match="not symmetric"):
        Graph.from_scipy(matrix.astype(np.float64))


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        ([[0, 1], [1, 5]], {"n_nodes": 3}, r"edges\[1, 1\] is 5, outside 0..2 for 3 nodes"),
        ([[0, -1]], {}, r"edges\[0, 1\] is -1, outside"),
        ([[0.0, 1.0]], {}, r"edges\[0, 0\] is .*0.0.* \(dtype float64\), but indices are integers"),
        (zip([0], [1], strict=True), {}, "dtype object.*in a list or array"),
        ([[0, 1], [2]], {}, "cannot be read as an array"),
        ([[0, 1]], {"n_nodes": 2.0}, "n_nodes is 2.0"),
        ([[0, 1]], {"n_nodes": -1}, "n_nodes is -1"),
        ([[0, 1]], {"weights": ["a"]}, "dtype <U1, but they must be real numbers"),
        ([[0, 1, 2]], {}, r"shape \(1, 3\), expected \(number of edges, 2\)"),
        ([[0, 1], [1, 0]], {}, r"edge \(0, 1\) is given more than once: pass sum_duplicates=True"),
        ([[1, 1]], {}, "node 1 has a self-loop"),
        ([[0, 1]], {"weights": [1.0, 2.0]}, r"shape \(2,\), but there are 1 edges"),
    ],
)
def test_unusable_edge_lists(edges, options, message):
    with pytest.raises(InputError, match=message):
        Graph.from_edge_list(edges, **options)


def test_duplicates_are_summed_and_self_loops_dropped_when_asked():
    g = Graph.from_edge_list(
        [(0, 1), (1, 0), (1, 1), (1, 2)], [1.0, 2.0, 5.0, 4.0], sum_duplicates=True, drop_self_loops=True
    )
    assert g == Graph.from_edge_list([(0, 1), (1, 2)], [3.0, 4.0])
    A = sp.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    with pytest.raises(InputError, match=r"edge \(0, 1\) is given more than once"):
        Graph.from_scipy(A)
    assert Graph.from_scipy(A, sum_duplicates=True).weights.tolist() == [3.0, 3.0]


def test_edge_index_needs_both_directions():
    with pytest.raises(InputError, match=r"not symmetric.*Graph\.from_edge_list"):
        Graph.from_edge_index(torch.tensor([[0], [1]]))
    with pytest.raises(InputError, match=r"shape \(3, 2\), expected \(2, number of edges\)"):
        Graph.from_edge_index([[0, 1], [1, 2], [2, 0]])
    assert Graph.from_edge_index(np.empty((2, 0)), n_nodes=3).n_edges == 0


def test_what_is_no_networkx_graph_is_named():
    with pytest.raises(InputError, match="a list was given, but a NetworkX graph is needed"):
        Graph.from_networkx([1])


def test_pyg_weights_come_from_edge_weight_or_one_channel_of_edge_attr():
    index = torch.tensor([[0, 1], [1, 0]])
    expected = Graph.from_edge_list([(0, 1)], [2.0])
    assert Graph.from_pyg(Data(edge_index=index, edge_attr=torch.full((2, 1), 2.0), num_nodes=2)) == expected
    assert Graph.from_pyg(Data(edge_index=index, edge_attr=torch.full((2,), 2.0), num_nodes=2)) == expected
    assert Graph.from_pyg(Data(edge_index=index, num_nodes=2)).weights.tolist() == [1.0, 1.0]
    with pytest.raises(InputError, match=r"shape \(2, 3\), but a graph has one weight per edge"):
        Graph.from_pyg(Data(edge_index=index, edge_attr=torch.ones(2, 3), num_nodes=2))
    assert expected.to_pyg().edge_weight.dtype == torch.float32  # that of new layers


def test_networkx_node_order_weights_and_kinds():
    G = networkx.Graph()
    G.add_edge("b", "a", weight=0.5)
    G.add_edge("a", "c", distance=3.0)
    assert Graph.from_networkx(G) == Graph.from_edge_list([(0, 1), (1, 2)], [0.5, 1.0])
    with pytest.raises(InputError, match="directed"):
        Graph.from_networkx(networkx.DiGraph([(0, 1)]))
    parallel = networkx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    with pytest.raises(InputError, match=r"edge \(0, 1\) is given more than once"):
        Graph.from_networkx(parallel)
    assert Graph.from_networkx(parallel, sum_duplicates=True) == Graph.from_edge_list([(0, 1), (1, 2)], [2.0, 1.0])


def test_repr_and_equality():
    g = Graph.from_edge_list([(0, 1)], [0.25], 3)
    assert repr(g) == "Graph(n_nodes=3, n_edges=1, weights in [0.25, 0.25])"
    assert repr(Graph.from_scipy(sp.csr_array((2, 2)))) == "Graph(n_nodes=2, n_edges=0)"
    assert g != Graph.from_edge_list([(0, 1)], [0.25], 4)
    assert g != "graph"


def test_entries_are_compared_block_by_block(monkeypatch):
    monkeypatch.setattr(validation, "BLOCK", 2)
    a = np.full((4, 4), 0.5) - 0.5 * np.eye(4)
    expected = Graph.from_scipy(sp.csr_array(a))
    a[3, 2] += 4 * np.spacing(0.5)
    g = Graph.from_scipy(sp.csr_array(a))
    assert g.weights[-1] == g.weights[8] == 0.5 + 2 * np.spacing(0.5)
    np.testing.assert_array_equal(g.weights[:8], expected.weights[:8])
    a[3, 2] = 0.6
    with pytest.raises(InputError, match=r"the weight of \((2, 3|3, 2)\)"):
        Graph.from_scipy(sp.csr_array(a))
