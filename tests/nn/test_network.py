import numpy as np
import pytest
import torch
from torch import nn

from s2gnn import InputError, S2Conv, SobolevOperator, knn_graph
from s2gnn.learning import FitConfig, fit, predict_logits
from s2gnn.links import LinkPredictor
from s2gnn.nn import GAT, GCN, ClusterGCN, GraphClassifier, GraphNetwork, SuperGAT, make_model
from tests.random_graphs import random_graph

X = np.random.default_rng(0).normal(size=(30, 4))
GRAPH = knn_graph(X, 5)


class Own(GraphNetwork):
    """Two layers and a penalty, as a user would write it."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([S2Conv(4, 8, 2), S2Conv(8, 3, 2)])

    def prepare(self, x, graph):
        op = SobolevOperator(graph, 2)
        return op.prepare(torch.tensor(x, dtype=torch.float32)), op

    def forward(self, x, op=None):
        return self.convs[1](self.convs[0](x, op).relu(), op)


class Duck(nn.Module):
    """The methods of the contract without its class, and without the optional ones."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def reset_parameters(self):
        self.linear.reset_parameters()

    def forward(self, x, op):
        return op @ self.linear(x)


def test_a_network_of_the_user_is_reset_and_trained_like_ours():
    network = Own()
    x, op = network.prepare(X, GRAPH)
    states = []
    for _ in range(2):
        fit(network, x, op, np.arange(30) % 3, range(15), config=FitConfig(epochs=3), seed=1)
        states.append(predict_logits(network, x, op))
    assert torch.equal(*states)
    assert network.auxiliary_loss() == 0


def test_a_module_with_the_same_methods_is_trained_too():
    network, x, op = Duck(), torch.tensor(X, dtype=torch.float32), torch.eye(30)
    result = fit(network, x, op, np.arange(30) % 3, range(15), config=FitConfig(epochs=30, lr=0.1))
    assert result.history.train_loss[-1] < result.history.train_loss[0]


def test_what_is_missing_of_the_contract_is_named():
    class Half(GraphNetwork):
        def prepare(self, x, graph):
            return x, None

    with pytest.raises(TypeError, match="forward"):
        Half()


def test_the_auxiliary_loss_of_what_a_network_contains_is_its_own():
    inner = SuperGAT(4, 8, 3)
    x, op = inner.prepare(X, GRAPH)
    inner(x, op)
    assert inner.auxiliary_loss() > 0
    for outer in (LinkPredictor(inner, "dot", 3), GraphClassifier(inner, "mean", 3)):
        assert outer.auxiliary_loss() == inner.auxiliary_loss()


@pytest.mark.parametrize("network", [GCN, ClusterGCN, GAT])
def test_the_operator_of_another_network_is_refused(network):
    _, op = make_model("s2gnn", 4, 3).prepare(X, GRAPH)
    with pytest.raises(InputError, match=f"{network.__name__} cannot compute with SobolevOperator.*model.prepare"):
        network(4, 8, 3)(torch.ones(30, 4), op)


def test_graphs_and_nodes_are_not_confused():
    classifier = GraphClassifier(GCN(4, 8, 3), "mean", 3)
    with pytest.raises(InputError, match="the graphs are a Graph: join them with DisjointUnion"):
        classifier.prepare(X, random_graph(30))
    with pytest.raises(InputError, match="x is a Tensor, expected a GraphInput: call model.prepare"):
        classifier(torch.ones(30, 4), None)
