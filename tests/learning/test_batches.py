from functools import partial

import numpy as np
import pytest
import torch

from s2gnn import InputError
from s2gnn.graphs import DisjointUnion
from s2gnn.learning import FitConfig, fit, predict_logits
from s2gnn.learning.batches import Batches
from s2gnn.learning.sharing import Shared
from s2gnn.learning.targets import checked_targets
from s2gnn.nn import make_graph_model, make_model
from tests.random_graphs import random_graph

SPARSE_OR_DENSE = np.tile([0, 1], 20)
UNION = DisjointUnion.of([random_graph(10, (0.15, 0.6)[label], seed) for seed, label in enumerate(SPARSE_OR_DENSE)])
X = np.log1p(UNION.graph.degrees)[:, None]
TRAIN, VAL = np.arange(20), np.arange(20, 30)


new_model = partial(make_graph_model, "s2gnn", 1, 2, hidden_channels=8, alpha=2, dropout=0.0)


def prepared(model):
    return model.prepare(X, UNION)


@pytest.mark.parametrize("batch_size", [None, 6])
def test_dense_graphs_are_distinguished_from_sparse_ones(batch_size):
    model = new_model()
    x, op = prepared(model)
    config = FitConfig(epochs=60, batch_size=batch_size)
    result = fit(model, x, op, SPARSE_OR_DENSE, TRAIN, VAL, config=config)
    tested = np.arange(30, 40)
    assert (predict_logits(model, x, op)[tested].argmax(1).numpy() == SPARSE_OR_DENSE[tested]).mean() >= 0.9
    assert result.history.train_loss[-1] < 0.5 * result.history.train_loss[0]
    assert max(result.history.val_accuracy) >= 0.9


def test_the_first_loss_is_that_of_all_training_graphs():
    model = new_model()
    x, op = prepared(model)
    result = fit(model, x, op, SPARSE_OR_DENSE, TRAIN, VAL, config=FitConfig(epochs=1), seed=5)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model.reset_parameters()
    logits = predict_logits(model, x, op)
    labels = torch.from_numpy(SPARSE_OR_DENSE)
    expected = torch.nn.functional.cross_entropy(logits[TRAIN], labels[TRAIN])
    assert result.history.train_loss[0] == pytest.approx(float(expected), rel=1e-5)


def test_the_graphs_outside_training_and_validation_play_no_part():
    states = []
    for rest in (0.0, 1e3):
        features = X.copy()
        features[UNION.graph_of_node >= 30] += rest
        model = new_model()
        x, op = model.prepare(features, UNION)
        fit(model, x, op, SPARSE_OR_DENSE, TRAIN, VAL, config=FitConfig(epochs=3, batch_size=7))
        states.append(model.state_dict())
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_an_epoch_has_every_training_graph_once_in_a_new_order():
    x, op = prepared(new_model())
    targets = checked_targets(40, np.arange(40), TRAIN, VAL, torch.device("cpu"))
    batches = Batches(x, op, targets, 6)
    epochs = [[draw.make().targets.labels.tolist() for (draw,) in batches.epoch()] for _ in range(2)]
    assert [len(rows) for rows in epochs[0]] == [6, 6, 6, 2]
    for epoch in epochs:
        assert sorted(label for rows in epoch for label in rows) == TRAIN.tolist()
    assert epochs[0] != epochs[1]
    assert batches.validation.targets.labels.tolist() == VAL.tolist()
    ((whole,),) = Batches(x, op, targets, 50).epoch()
    assert whole.make().targets.labels.tolist() == TRAIN.tolist()


def test_a_seed_gives_the_same_bits_again():
    outputs = []
    for seed in (1, 1, 2):
        model = new_model()
        x, op = prepared(model)
        fit(model, x, op, SPARSE_OR_DENSE, TRAIN, VAL, config=FitConfig(epochs=2, batch_size=8), seed=seed)
        outputs.append(predict_logits(model, x, op))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


def test_another_process_reads_the_same_graphs_from_shared_memory():
    model = new_model().eval()
    x, op = prepared(model)
    load, arguments = Shared((x, op)).__reduce__()
    shared_x, shared_op = load(*arguments).value
    for rows in (np.arange(40), TRAIN[::3]):
        assert torch.equal(model(*shared_x.part(shared_op, rows)), model(*x.part(op, rows)))


def test_nodes_of_one_graph_have_no_batches():
    model = make_model("gcn", 1, 2)
    with pytest.raises(InputError, match="batch_size is 4, but the rows depend on each other: nodes of one graph"):
        fit(model, *model.prepare(X[:10], next(iter(UNION))), np.zeros(10, int), [0, 1], config=FitConfig(batch_size=4))
    with pytest.raises(InputError, match="batch_size is 0, but it must be an integer >= 1"):
        FitConfig(batch_size=0)
