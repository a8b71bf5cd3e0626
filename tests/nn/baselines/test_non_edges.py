import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from s2gnn import Graph
from s2gnn.graphs import DisjointUnion
from s2gnn.nn import NodeGroups, SuperGAT
from s2gnn.nn.baselines.non_edges import non_edges
from tests.random_graphs import graphs, random_graph


def closed_edges(graph):
    return SuperGAT(1, 1, 1).prepare(torch.ones(graph.n_nodes, 1), graph)[1]


def union_edges(union):
    return closed_edges(union.graph).within(NodeGroups.of(union.offsets, torch.device("cpu")))


def complete(n):
    return Graph.from_edge_list([(i, j) for i in range(n) for j in range(i)], n_nodes=n)


@pytest.mark.parametrize("density", [0.05, 0.5])
def test_they_are_none_and_about_half_as_many(density):
    torch.manual_seed(0)
    edges = closed_edges(random_graph(200, density))
    others = non_edges(edges)
    assert not torch.isin(others.codes, edges.codes).any()
    assert torch.equal(others.rows[others.reverse], others.columns)
    assert 0.7 < 2 * len(others) / len(edges) < 1.1
    counts = torch.bincount(torch.cat([non_edges(edges).rows for _ in range(20)]), minlength=200)
    assert counts.min() > 0.3 * counts.double().mean()  # no node is left out


def test_on_one_graph_they_are_what_a_seed_has_always_given():
    edges = closed_edges(random_graph(60, 0.2))
    torch.manual_seed(3)
    found = non_edges(edges)
    torch.manual_seed(3)
    drawn = torch.randint(3600, (math.ceil(len(edges) / 4 / (1 - len(edges) / 3600)),))
    drawn = drawn[~torch.isin(drawn, edges.codes)]
    assert torch.equal(found.codes, torch.unique(torch.cat([drawn, drawn % 60 * 60 + drawn // 60])))


def test_a_complete_graph_has_none():
    assert len(non_edges(closed_edges(complete(4)))) == 0
    assert len(non_edges(union_edges(DisjointUnion.of([complete(4), complete(1), complete(2)])))) == 0


@given(st.lists(graphs(), min_size=1, max_size=6), st.integers(0, 3))
def test_in_a_union_no_pair_joins_two_graphs(parts, seed):
    union = DisjointUnion.of(parts)
    edges = union_edges(union)
    torch.manual_seed(seed)
    others = non_edges(edges)
    graph = torch.from_numpy(union.graph_of_node)
    assert torch.equal(graph[others.rows], graph[others.columns])
    assert not torch.isin(others.codes, edges.codes).any()
    assert (others.rows != others.columns).all()
    assert torch.equal(others.rows[others.reverse], others.columns)
    counts = torch.bincount(graph[others.rows], minlength=union.n_graphs).tolist()
    for part, count in zip(parts, counts, strict=True):
        n_edges = len(closed_edges(part))
        exist = part.n_nodes**2 - n_edges
        assert min(exist, 2) <= count <= min(exist, 2 * math.ceil(n_edges / 4))


def test_in_a_union_each_graph_has_as_many_as_its_edges_ask_for_and_each_pair_its_turn():
    parts = [complete(5), random_graph(16, 0.5, seed=1), complete(1), random_graph(30, 0.1, seed=2)]
    parts.append(Graph.from_edge_list(complete(12).to_edge_list()[0][:-1], n_nodes=12))  # one pair is no edge
    union = DisjointUnion.of(parts)
    torch.manual_seed(0)
    draws = [non_edges(union_edges(union)) for _ in range(400)]
    rows, columns = (torch.cat([getattr(draw, axis) for draw in draws]) for axis in ("rows", "columns"))
    times = torch.zeros(union.graph.n_nodes, union.graph.n_nodes).index_put_(
        (rows, columns), torch.tensor(1 / 400), accumulate=True
    )
    for part, start in zip(parts, union.offsets[:-1], strict=True):
        own = slice(start, start + part.n_nodes)
        absent = torch.from_numpy(part.to_scipy().toarray() == 0) & ~torch.eye(part.n_nodes, dtype=torch.bool)
        pairs, drawn = int(absent.sum()) // 2, math.ceil(len(closed_edges(part)) / 4)
        chance = 1 - (1 - 1 / pairs) ** drawn if pairs else 0.0  # of a pair, to be among so many draws
        assert times[own, own][~absent].sum() == 0
        torch.testing.assert_close(times[own, own][absent], torch.full((2 * pairs,), chance), rtol=0, atol=0.12)
        assert times[own, own].sum() == pytest.approx(2 * pairs * chance, rel=0.02)
