import copy

import pytest
import torch
from torch.nn import functional as F

from s2gnn import Graph, InputError
from s2gnn.nn import SuperGAT
from s2gnn.nn.baselines.non_edges import non_edges
from tests.random_graphs import random_graph


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


def test_the_same_seed_gives_the_same_loss():
    model = SuperGAT(4, 5, 2, dropout=0.0)
    inputs = model.prepare(torch.randn(30, 4), random_graph(30, 0.1))
    losses = []
    for _ in range(2):
        torch.manual_seed(0)
        model(*inputs)
        losses.append(model.auxiliary_loss().item())
    model(*inputs)
    assert losses[0] == losses[1] != model.auxiliary_loss().item()


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
