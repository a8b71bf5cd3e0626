import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.transforms import GDC

from s2gnn import Graph, InputError, diffuse
from s2gnn.graphs import largest_component
from tests.random_graphs import graphs, random_graph
from tests.real_data import citation_graph


def dense_pagerank(A, teleport):
    loops = A + np.eye(len(A))
    root = np.diag(loops.sum(axis=1) ** -0.5)
    return teleport * np.linalg.inv(np.eye(len(A)) - (1 - teleport) * root @ loops @ root)


def dense_diffusion(A, teleport, top):
    """The definition with a dense inverse and a sort; of equal entries the first are kept."""
    P = dense_pagerank(A, teleport)
    P[P < 1e-12] = 0
    np.put_along_axis(P, np.argsort(-P.round(11), axis=0, kind="stable")[top:], 0, axis=0)
    P /= P.sum(axis=0)
    S = P + P.T
    np.fill_diagonal(S, 0)
    return S


@settings(max_examples=60)
@given(graphs(weights=(1e-3, 1e2)), st.sampled_from([0.05, 0.3, 0.9]), st.integers(1, 20))
def test_exact_equals_the_dense_definition(g, teleport, top):
    """Isolated nodes, disconnected parts and a `top` larger than a component among them; weights are used."""
    A = g.to_scipy().toarray()
    if top < g.n_nodes:
        P = np.sort(dense_pagerank(A, teleport), axis=0)
        if np.any(np.abs(P[-top] - P[-top - 1]) < 1e-9):
            top = g.n_nodes  # entries that are nearly equal may round to the same or to different values
    diffused = diffuse(g, teleport, top)
    np.testing.assert_allclose(diffused.to_scipy().toarray(), dense_diffusion(A, teleport, top), atol=1e-10)


SYMMETRIC = {
    "star": [(0, leaf) for leaf in range(1, 30)],
    "two hubs": [(hub, leaf) for hub in (0, 1) for leaf in range(2, 30)],
    "ring": [(i, (i + 1) % 30) for i in range(30)],
    "cliques": [(i, j) for j in range(30) for i in range(j) if i // 6 == j // 6],
    "ladder": [(i, i + 2) for i in range(28)] + [(i, i + 1) for i in range(0, 30, 2)],
}


@pytest.mark.parametrize("inverted_up_to", [100, 0], ids=["direct", "iterative"])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_of_equal_entries_the_first_are_kept(name, inverted_up_to, monkeypatch):
    """Ties at every `top`; nodes 30 to 32 are isolated."""
    monkeypatch.setattr("s2gnn.graphs.diffusion.INVERTED_UP_TO", inverted_up_to)
    g = Graph.from_edge_list(SYMMETRIC[name], n_nodes=33)
    for top in (1, 2, 4, 7, 16, 40):
        expected = dense_diffusion(g.to_scipy().toarray(), 0.05, top)
        np.testing.assert_allclose(diffuse(g, 0.05, top).to_scipy().toarray(), expected, atol=1e-10)


@pytest.mark.parametrize("inverted_up_to", [100, 0], ids=["direct", "iterative"])
def test_weighted_graph_by_both_solvers(inverted_up_to, monkeypatch):
    monkeypatch.setattr("s2gnn.graphs.diffusion.INVERTED_UP_TO", inverted_up_to)
    g = random_graph(90, density=0.04, seed=7)
    expected = dense_diffusion(g.to_scipy().toarray(), 0.1, 12)
    np.testing.assert_allclose(diffuse(g, 0.1, 12).to_scipy().toarray(), expected, atol=1e-10)


def test_a_graph_without_edges_stays_without():
    assert diffuse(Graph.from_edge_list([], n_nodes=4)).n_edges == 0


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-8])
def test_push_keeps_its_error_bound(tolerance):
    g = random_graph(60, density=0.06, seed=3)
    A = g.to_scipy().toarray()
    exact = dense_pagerank(A, 0.15)
    degrees = A.sum(axis=1) + 1
    approximate = pushed_pagerank(g, 0.15, tolerance)
    error = exact - approximate
    assert error.min() > -1e-12
    assert np.all(error <= tolerance * np.sqrt(degrees[:, None] / degrees[None]) + 1e-12)
    if tolerance == 1e-2:
        assert error.max() > 1e-6


def test_push_reaches_neighbours_whatever_the_size_of_the_weights():
    pairs = [(i, i + 1) for i in range(99)]
    for weight in (0.5, 1.0, 1e6):
        path = Graph.from_edge_list(pairs, np.full(99, weight))
        pushed, exact = diffuse(path, method="push", top=5), diffuse(path, method="exact", top=5)
        assert pushed.n_edges >= 99
        assert pushed.n_edges == pytest.approx(exact.n_edges, rel=0.1)
    star = Graph.from_edge_list([(0, leaf) for leaf in range(1, 300)])
    assert np.diff(diffuse(star, method="push", top=16).indptr).min() >= 1


def pushed_pagerank(g, teleport, tolerance):
    """The approximate Π (N, N) before columns are cut and normalised."""
    from s2gnn.graphs.diffusion import _pushed_blocks

    return np.vstack([block.toarray() for block in _pushed_blocks(g, teleport, tolerance, lambda _: None, width=7)]).T


def test_push_with_a_small_tolerance_gives_the_exact_graph():
    g = random_graph(60, density=0.06, seed=4)
    exact, pushed = (diffuse(g, 0.1, 10, method, tolerance=1e-11) for method in ("exact", "push"))
    np.testing.assert_array_equal(exact.indices, pushed.indices)
    np.testing.assert_allclose(exact.weights, pushed.weights, rtol=1e-6)


def gdc(teleport, top):
    """PyG's diffusion with the normalisation and sparsification of ours."""
    return GDC(
        self_loop_weight=1,
        normalization_in="sym",
        normalization_out="col",
        diffusion_kwargs={"method": "ppr", "alpha": teleport},
        sparsification_kwargs={"method": "topk", "k": top, "dim": 0},
    )


def test_equals_pyg_on_an_unweighted_graph():
    """PyG keeps S for the transposed direction unsummed; its columns are ours before S + Sᵀ."""
    pairs, _ = random_graph(30, density=0.1, seed=5).to_edge_list()
    g, _ = largest_component(Graph.from_edge_list(pairs, n_nodes=30))
    data = Data(edge_index=g.to_pyg().edge_index, num_nodes=g.n_nodes)
    peer = gdc(0.15, 8)(data)
    S = torch.zeros(g.n_nodes, g.n_nodes)
    S[peer.edge_index[0], peer.edge_index[1]] = peer.edge_attr.float()
    S = (S + S.T).numpy()
    np.fill_diagonal(S, 0)
    np.testing.assert_allclose(diffuse(g, 0.15, 8).to_scipy().toarray(), S, atol=1e-6)


PUBLISHED = {"cora": (2_485, 205_928), "citeseer": (2_120, 183_572)}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_edges(data_folder, name):
    component, _ = largest_component(citation_graph(data_folder, name)[0])
    assert (component.n_nodes, diffuse(component).n_edges) == PUBLISHED[name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"teleport": 0.0}, "teleport is 0.0"),
        ({"teleport": 1.0}, "teleport is 1.0"),
        ({"top": 0}, "top is 0"),
        ({"top": 1.5}, "top is 1.5"),
        ({"method": "inverse"}, "method is 'inverse'"),
        ({"tolerance": 0.0}, "tolerance is 0.0"),
        ({"tolerance": 1.0}, "tolerance is 1.0"),
        ({"method": "push", "teleport": 1e-6}, "pushing takes too many rounds"),
    ],
)
def test_unusable_options(options, message):
    with pytest.raises(InputError, match=message):
        diffuse(random_graph(5), **options)
