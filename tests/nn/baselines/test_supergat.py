import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from s2gnn import Graph, InputError
from s2gnn.graphs import DisjointUnion
from s2gnn.nn import SuperGAT
from s2gnn.nn.baselines.supergat import non_edges
from tests.random_graphs import graphs, random_graph


def test_a_complete_graph_has_a_finite_loss():
    graph = Graph.from_edge_list([(0, 1)], [0.3])
    model = SuperGAT(2, 3, 2)
    model(*model.prepare(torch.randn(2, 2), graph))
    assert torch.isfinite(model.auxiliary_loss())


def test_the_auxiliary_loss_is_the_cross_entropy_of_edges_against_non_edges():
    graph = random_graph(12)
    model = SuperGAT(4, 5, 2, num_layers=1, heads=2, attention_loss=3.0)
    x, edges = model.prepare(torch.randn(12, 4), graph)
    torch.manual_seed(5)
    model(x, edges)
    loss = model.auxiliary_loss()
    torch.manual_seed(5)
    others = non_edges(edges)
    heads = (x @ model.layers[0].lin.weight.T).view(12, 2, 2)
    i, j = torch.cat([edges.rows, others.rows]), torch.cat([edges.columns, others.columns])
    scores = (heads[i] * heads[j]).sum(-1).mean(-1)
    is_edge = (torch.arange(len(i)) < len(edges)).float()
    torch.testing.assert_close(loss, 3 * F.binary_cross_entropy_with_logits(scores, is_edge))
    (gradient,) = torch.autograd.grad(loss, model.layers[0].lin.weight)
    assert gradient.abs().sum() > 0


def test_the_auxiliary_loss_teaches_to_tell_edges_from_non_edges():
    graph = Graph.from_edge_list([(i, j) for half in (0, 10) for i in range(half, half + 10) for j in range(half, i)])
    torch.manual_seed(0)
    model = SuperGAT(20, 8, 2, dropout=0.0)
    inputs = model.prepare(torch.randn(20, 20), graph)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        model(*inputs)
        loss = model.auxiliary_loss()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]


def test_no_auxiliary_loss_in_evaluation_or_with_weight_zero():
    graph, x = random_graph(12), torch.randn(12, 4)
    model, without = SuperGAT(4, 5, 2, dropout=0.0), SuperGAT(4, 5, 2, dropout=0.0, attention_loss=0.0)
    without.load_state_dict(model.state_dict())
    inputs = model.prepare(x, graph)
    torch.testing.assert_close(without(*inputs), model(*inputs))
    assert without.auxiliary_loss() == 0
    assert model.auxiliary_loss() > 0
    model.eval()
    assert model.auxiliary_loss() == 0
    copy.deepcopy(model)  # nothing of the last step is kept
    with pytest.raises(InputError, match="attention_loss is -1"):
        SuperGAT(4, 5, 2, attention_loss=-1)


def closed_edges(graph):
    return SuperGAT(1, 1, 1).prepare(torch.ones(graph.n_nodes, 1), graph)[1]


def union_edges(union):
    return closed_edges(union.graph).within_graphs(torch.from_numpy(np.diff(union.offsets)))


def complete(n):
    return Graph.from_edge_list([(i, j) for i in range(n) for j in range(i)], n_nodes=n)


@pytest.mark.parametrize("density", [0.05, 0.5])
def test_non_edges_are_none_and_about_half_as_many(density):
    torch.manual_seed(0)
    edges = closed_edges(random_graph(200, density))
    others = non_edges(edges)
    assert not torch.isin(others.codes, edges.codes).any()
    assert torch.equal(others.rows[others.reverse], others.columns)
    assert 0.7 < 2 * len(others) / len(edges) < 1.1
    counts = torch.bincount(torch.cat([non_edges(edges).rows for _ in range(20)]), minlength=200)
    assert counts.min() > 0.3 * counts.double().mean()  # no node is left out


def test_on_one_graph_non_edges_are_what_a_seed_has_always_given():
    edges = closed_edges(random_graph(60, 0.2))
    torch.manual_seed(3)
    found = non_edges(edges)
    torch.manual_seed(3)
    drawn = torch.randint(3600, (math.ceil(len(edges) / 4 / (1 - len(edges) / 3600)),))
    drawn = drawn[~torch.isin(drawn, edges.codes)]
    assert torch.equal(found.codes, torch.unique(torch.cat([drawn, drawn % 60 * 60 + drawn // 60])))


def test_a_complete_graph_has_no_non_edges():
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
        chance = 1 - (1 - 1 / pairs) ** drawn if pairs else 0.0  # of a pair, to be among these draws
        assert times[own, own][~absent].sum() == 0
        torch.testing.assert_close(times[own, own][absent], torch.full((2 * pairs,), chance), rtol=0, atol=0.12)
        assert times[own, own].sum() == pytest.approx(2 * pairs * chance, rel=0.02)
