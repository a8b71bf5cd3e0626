from dataclasses import replace

import numpy as np
import pytest
import torch

from s2gnn import Graph, InputError, NonFiniteLossError
from s2gnn.learning import FitConfig
from s2gnn.links import LinkPredictor, NonEdges, fit_links, link_scores, predict_links, score_links, split_links
from s2gnn.nn import make_model

CONFIG = FitConfig(lr=0.02, weight_decay=0.0, epochs=60, patience=None, monitor="auc")


@pytest.fixture(scope="module")
def communities():
    """Three dense groups of 25 nodes with few edges between them, and features that say nothing."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(3), 25)
    probability = np.where(group[:, None] == group, 0.4, 0.01)
    i, j = np.nonzero(np.triu(rng.random((75, 75)) < probability, k=1))
    graph = Graph.from_edge_list(np.stack([i, j], axis=1), rng.uniform(0.2, 1.0, len(i)), 75)
    return graph, np.eye(75)


def predictor(encoder="s2gnn", decoder="dot"):
    torch.manual_seed(0)
    return LinkPredictor(make_model(encoder, 75, 8, hidden_channels=16, dropout=0.0), decoder, 8)


@pytest.mark.parametrize("decoder", ["dot", "mlp"])
def test_held_out_edges_are_found_in_communities(communities, decoder):
    graph, x = communities
    split = split_links(graph, 0)
    model = predictor(decoder=decoder)
    inputs, op = model.prepare(x, split.graph)
    result = fit_links(model, inputs, op, split, config=CONFIG, seed=0)
    scores = score_links(model, inputs, op, split.test)
    assert scores.roc_auc > 0.65  # most pairs inside a group are no edge: 1 is out of reach
    assert result.history.train_loss[-1] < 0.9 * result.history.train_loss[0]
    positive, negative = (predict_links(model, inputs, op, p) for p in (split.val.positive, split.val.negative))
    val = link_scores(positive, negative)
    assert val.roc_auc == max(result.history.val_auc) == result.history.val_auc[result.best_epoch]


def test_a_seed_gives_the_same_bits_and_training_goes_by_the_edges(communities):
    graph, x = communities
    split = split_links(graph, 0)
    states = []
    for seed in (5, 5, 6):
        model = predictor()
        inputs, op = model.prepare(x, split.graph)
        fit_links(model, inputs, op, split, config=replace(CONFIG, epochs=5, keep="last"), seed=seed)
        states.append(torch.cat([p.flatten() for p in model.parameters()]))
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])


def test_every_step_has_new_pairs_without_a_training_edge(communities, monkeypatch):
    graph, x = communities
    split = split_links(graph, 0)
    drawn = []
    draw = NonEdges.draw
    monkeypatch.setattr(NonEdges, "draw", lambda *a, **k: drawn.append(draw(*a, **k)) or drawn[-1])
    model = predictor()
    fit_links(model, *model.prepare(x, split.graph), split, config=replace(CONFIG, epochs=3), seed=0)
    assert [pairs.shape for pairs in drawn] == [split.train.shape] * 3
    assert not np.array_equal(drawn[0], drawn[1])
    train = set(map(tuple, split.train.tolist()))
    assert not train & {pair for pairs in drawn for pair in map(tuple, pairs.tolist())}


def test_training_stops_by_the_validation_auc(communities):
    graph, x = communities
    split = split_links(graph, 1)
    model = predictor("mlp")
    seen = []
    config = replace(CONFIG, patience=4, epochs=200)
    result = fit_links(model, *model.prepare(x, split.graph), split, config=config, seed=0, on_epoch=seen.append)
    assert result.best_epoch == int(np.argmax(result.history.val_auc))
    assert len(seen) == len(result.history.val_auc) == result.best_epoch + 5


def test_the_auxiliary_loss_of_the_encoder_is_trained(communities):
    graph, x = communities
    split = split_links(graph, 0)
    first_losses, weights = [], []
    for loss in (0.0, 50.0):
        torch.manual_seed(0)
        encoder = make_model("supergat", 75, 8, hidden_channels=16, dropout=0.0, attention_loss=loss)
        model = LinkPredictor(encoder, "dot", 8)
        inputs, op = model.prepare(x, split.graph)
        result = fit_links(model, inputs, op, split, config=replace(CONFIG, epochs=1, keep="last"), seed=0)
        first_losses.append(result.history.train_loss[0])
        weights.append(encoder.layers[0].lin.weight.detach().clone())
    assert first_losses[1] > first_losses[0] + 50  # cross-entropies of two layers, ln 2 each to begin with
    assert not torch.equal(*weights)
    plain = predictor("gcn")
    assert plain.auxiliary_loss() == 0


def test_unusable_configurations(communities):
    graph, x = communities
    split = split_links(graph, 0)
    model = predictor()
    inputs, op = model.prepare(x, split.graph)
    with pytest.raises(InputError, match="monitor is 'accuracy', but edges are ranked"):
        fit_links(model, inputs, op, split, config=FitConfig())
    with pytest.raises(InputError, match="the encoder gives 8 channels, but the decoder is made for 4"):
        fit_links(LinkPredictor(model.encoder, "mlp", 4), inputs, op, split, config=CONFIG)
    with pytest.raises(InputError, match="batch_size is 5, but a step uses all training edges"):
        fit_links(model, inputs, op, split, config=replace(CONFIG, batch_size=5))
    with pytest.raises(NonFiniteLossError, match="loss is"):
        fit_links(model, inputs, op, split, config=replace(CONFIG, lr=1e30))
