import numpy as np
import pytest
import torch

from s2gnn import S2GNN, InputError, S2GNNClassifier
from s2gnn.analysis import branch_shares, branch_weights
from s2gnn.nn import GCN


def test_the_weights_of_a_hand_made_linear_fusion():
    model = S2GNN(3, 4, 2, num_layers=2, alpha=2, fusion="linear")
    for conv, mu in zip(model.convs, ([1.0, -2.0, 1.0], [0.0, 0.0, 0.0]), strict=True):
        conv.fusion.mu.data = torch.tensor(mu)
    np.testing.assert_allclose(branch_weights(model), [[1, 2, 1], [0, 0, 0]])
    np.testing.assert_allclose(branch_shares(model), [[0.25, 0.5, 0.25], [0, 0, 0]])


def test_a_block_that_is_a_multiple_of_the_identity_weighs_as_the_linear_fusion_with_that_factor():
    model = S2GNN(3, 4, 2, num_layers=2, alpha=2, fusion="mlp")
    for conv, width in zip(model.convs, (4, 2), strict=True):
        conv.fusion.weight.data = torch.cat([mu * torch.eye(width) for mu in (0.5, -3.0, 0.0)])
    np.testing.assert_allclose(branch_weights(model), [[0.5, 3.0, 0.0]] * 2, rtol=1e-6)
    model.convs[1].fusion.weight.data[0] = torch.tensor([3.0, 4.0])  # half of the rows of the identity's block
    np.testing.assert_allclose(branch_weights(model)[1, 0], np.sqrt((25 + 0.25) / 2), rtol=1e-6)


def test_an_estimator_is_weighed_by_the_mean_over_its_networks():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.where(np.arange(40) < 30, X[:, 0] > 0, -1)
    classifier = S2GNNClassifier(n_networks=2, max_epochs=3, k=5, random_state=0).fit(X, y)
    first, second = (branch_weights(network) for network in classifier.networks_)
    assert not np.allclose(first, second)
    np.testing.assert_allclose(branch_weights(classifier), (first + second) / 2)
    np.testing.assert_allclose(branch_shares(classifier).sum(axis=1), 1)


def test_attention_is_weighed_by_its_mean_over_the_nodes_of_training():
    model = S2GNN(3, 4, 2, num_layers=1, alpha=2, fusion="attention")
    fusion, branches = model.convs[0].fusion, torch.rand(50, 3, 2)
    np.testing.assert_allclose(branch_weights(model), [[1 / 3] * 3])
    for _ in range(100):
        fusion(branches)
    mean = fusion.attention(branches).mean(dim=0).detach()
    np.testing.assert_allclose(branch_weights(model)[0], mean, atol=1e-4)
    model.eval()
    fusion(10 * branches)
    np.testing.assert_allclose(branch_weights(model)[0], mean, atol=1e-4)
    model.reset_parameters()
    np.testing.assert_allclose(branch_shares(model), [[1 / 3] * 3])


def test_what_has_no_branches_is_refused():
    with pytest.raises(InputError, match="GCN has no branches to weigh: give an S2GNN or a fitted"):
        branch_weights(GCN(3, 4, 2))
    with pytest.raises(InputError, match="S2GNNClassifier has no branches to weigh"):
        branch_weights(S2GNNClassifier())
