import numpy as np
import pytest
import torch

from s2gnn import S2GNN, InputError, S2GNNClassifier
from s2gnn.analysis import branch_contributions, branch_shares, branch_weights, without_branch
from s2gnn.graphs import knn_graph
from s2gnn.learning import predict_logits
from s2gnn.nn import GCN
from s2gnn.operators import SobolevOperator


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


@pytest.fixture
def points():
    features = np.random.default_rng(1).normal(size=(30, 3)).astype(np.float32)
    return features, knn_graph(features, k=4)


def dense_branches(conv, x, operator):
    """σ(S_ρ x W_ρ + b_ρ) by dense products, (α + 1, N, out)."""
    weight, bias = conv.weight.detach().double().numpy(), conv.bias.detach().double().numpy()
    shifted = [operator.matrix(rho) @ (x @ weight[rho]) + bias[rho] for rho in range(conv.alpha + 1)]
    return np.maximum(shifted, 0)


@pytest.mark.parametrize("fusion", ["linear", "mlp"])
def test_a_contribution_is_the_norm_of_the_fused_branch(points, fusion):
    features, graph = points
    model = S2GNN(3, 4, 2, num_layers=1, alpha=2, epsilon=1.0, fusion=fusion, dropout=0.5)
    x, op = model.prepare(features, graph)
    branches = dense_branches(model.convs[0], features.astype(np.float64), SobolevOperator(graph, alpha=2, epsilon=1.0))
    fused = model.convs[0].fusion
    if fusion == "linear":
        parts = [mu * branch for mu, branch in zip(fused.mu.detach().numpy(), branches, strict=True)]
    else:
        blocks = fused.weight.detach().double().numpy().reshape(3, 2, 2)
        parts = [branch @ block for branch, block in zip(branches, blocks, strict=True)]
    contributions = branch_contributions(model, x, op)
    np.testing.assert_allclose(contributions, [[np.linalg.norm(part) for part in parts]], rtol=1e-4)
    bias = np.zeros(2) if fusion == "linear" else fused.bias.detach().numpy()
    before = predict_logits(model, x, op).numpy()
    np.testing.assert_allclose(before, sum(parts) + bias, atol=1e-5)
    for rho in range(3):
        with without_branch(model, rho):
            rest = predict_logits(model, x, op).numpy()
        np.testing.assert_allclose(rest, sum(parts) - parts[rho] + bias, atol=1e-5)
    np.testing.assert_array_equal(predict_logits(model, x, op).numpy(), before)  # no hook is left


def test_a_branch_is_zero_in_every_layer(points):
    features, graph = points
    model = S2GNN(3, 4, 2, num_layers=2, alpha=1, fusion="linear")
    x, op = model.prepare(features, graph)
    with without_branch(model, 1):
        alone = predict_logits(model, x, op).numpy()
    for conv in model.convs:
        conv.fusion.mu.data[1] = 0
    np.testing.assert_allclose(alone, predict_logits(model, x, op).numpy(), atol=1e-6)
    assert (branch_contributions(model, x, op)[:, 1] == 0).all()


def test_a_branch_that_is_not_there():
    with (
        pytest.raises(InputError, match="there is no branch 3: choose one from 0 to 2"),
        without_branch(S2GNN(3, 4, 2, alpha=2), 3),
    ):
        pass
    with pytest.raises(InputError, match="GCN has no branches to weigh"), without_branch(GCN(3, 4, 2), 0):
        pass
