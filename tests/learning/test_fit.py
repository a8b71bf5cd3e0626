from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

from s2gnn import S2GNN, Graph, InputError, NonFiniteLossError, SobolevOperator, knn_graph
from s2gnn.learning import FitConfig, fit, predict_logits, seeded, train_network


@pytest.fixture(scope="module")
def blobs():
    """Three Gaussian blobs in the plane: features, operator, labels."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) + np.array([[4, 0], [-4, 0], [0, 6]])[y]
    op = SobolevOperator(knn_graph(X, 8), alpha=2)
    return torch.tensor(X, dtype=torch.float32), op, y


def new_model():
    return S2GNN(2, 8, 3, alpha=2)


TRAIN, VAL, TEST = np.arange(15), np.arange(15, 45), np.arange(45, 90)


def test_learns_and_leaves_the_model_in_evaluation_mode(blobs):
    x, op, y = blobs
    model = new_model()
    result = fit(model, op.prepare(x), op, y, TRAIN, VAL, config=FitConfig(epochs=100))
    predicted = predict_logits(model, x, op).argmax(dim=1).numpy()
    assert np.mean(predicted[TEST] == y[TEST]) > 0.9
    assert not model.training
    assert result.history.train_loss[-1] < result.history.train_loss[0]


def test_same_seed_same_bits_and_the_callers_generator_is_untouched(blobs):
    x, op, y = blobs
    states = []
    for seed in (3, 3, 4):
        model = new_model()
        before = torch.random.get_rng_state()
        fit(model, x, op, y, TRAIN, VAL, config=FitConfig(epochs=30), seed=seed)
        assert torch.equal(torch.random.get_rng_state(), before)
        states.append(torch.cat([p.flatten() for p in model.parameters()]))
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])


def test_a_network_trained_from_a_seed_has_the_bits_of_fit(blobs):
    x, op, y = blobs
    before = torch.random.get_rng_state()
    epochs = []
    trained = train_network(new_model, x, op, y, TRAIN, VAL, config=FitConfig(epochs=5), seed=3, on_epoch=epochs.append)
    assert torch.equal(torch.random.get_rng_state(), before)
    model = new_model()
    result = fit(model, x, op, y, TRAIN, VAL, config=FitConfig(epochs=5), seed=3)
    assert epochs == [0, 1, 2, 3, 4]
    assert trained.result.history == result.history
    assert torch.equal(trained.logits, predict_logits(model, x, op))
    assert torch.equal(trained.logits, predict_logits(trained.network, x, op))


@pytest.mark.parametrize("monitor", ["accuracy", "loss"])
def test_restores_the_first_best_epoch_and_stops_after_patience(blobs, monitor):
    x, op, y = blobs
    model = new_model()
    config = FitConfig(lr=0.05, epochs=400, patience=12, monitor=monitor)
    result = fit(model, x, op, y, TRAIN, VAL, config=config)
    history = result.history
    scores = history.val_accuracy if monitor == "accuracy" else [-loss for loss in history.val_loss]
    assert result.best_epoch == int(np.argmax(scores))
    assert len(scores) == len(history.train_loss) == result.best_epoch + 12 + 1 < 400
    logits = predict_logits(model, x, op)[VAL]
    expected = nn.functional.cross_entropy(logits, torch.from_numpy(y)[VAL]).item()
    assert history.val_loss[result.best_epoch] == pytest.approx(expected)


def test_without_validation_all_epochs_run_and_the_last_weights_stay(blobs):
    x, op, y = blobs
    epochs = []
    result = fit(new_model(), x, op, y, TRAIN, config=FitConfig(epochs=7, patience=1), on_epoch=epochs.append)
    assert epochs == list(range(7))
    assert result.best_epoch == 6
    assert result.history.val_loss == []


def test_masks_and_indices_are_the_same_and_hidden_labels_are_not_looked_at(blobs):
    x, op, y = blobs
    hidden = y.copy()
    hidden[TEST] = -1
    mask = torch.zeros(90, dtype=torch.bool)
    mask[TRAIN] = True
    losses = [
        fit(new_model(), x, op, labels, train, config=FitConfig(epochs=3)).history.train_loss
        for labels, train in ((y, TRAIN), (torch.from_numpy(hidden), mask))
    ]
    assert losses[0] == losses[1]


def test_non_finite_loss_stops_with_an_explanation(blobs):
    x, op, y = blobs
    broken = x.clone()
    broken[0, 0] = float("nan")
    with pytest.raises(NonFiniteLossError, match=r"loss is nan in epoch 0: check the features .* \(now 0.01\)"):
        fit(new_model(), broken, op, y, TRAIN)
    with pytest.raises(NonFiniteLossError, match="lower the learning rate"):
        fit(new_model(), x, op, y, TRAIN, VAL, config=FitConfig(lr=1e30, weight_decay=0))


class InfiniteSlope(nn.Module):
    """Finite at its first parameters, with a gradient that is not."""

    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(1))

    def reset_parameters(self):
        nn.init.zeros_(self.shift)

    def forward(self, x, op):
        return torch.cat([x, x], dim=1)[:, :3] + self.shift.sqrt()


def test_non_finite_validation_loss_and_last_weights_are_noticed(blobs):
    x, op, y = blobs
    broken = x.clone()
    broken[VAL[0]] = float("inf")
    isolated = SobolevOperator(Graph.from_edge_list(np.empty((0, 2)), n_nodes=90), alpha=2)
    with pytest.raises(NonFiniteLossError, match="the validation loss is nan in epoch 0"):
        fit(new_model(), broken, isolated, y, TRAIN, VAL)
    with pytest.raises(NonFiniteLossError, match="weights are not finite after the last epoch"):
        fit(InfiniteSlope(), x, op, y, TRAIN, config=FitConfig(epochs=1))


def test_weight_decay_shrinks_the_weights(blobs):
    x, op, y = blobs
    sizes = []
    for weight_decay in (0.0, 0.1):
        model = new_model()
        fit(model, x, op, y, TRAIN, config=FitConfig(epochs=100, weight_decay=weight_decay))
        sizes.append(sum(float(p.detach().square().sum()) for p in model.parameters()))
    assert sizes[1] < 0.7 * sizes[0]


def test_dropout_is_on_in_every_step_and_off_in_validation(blobs):
    x, op, y = blobs
    modes = []

    class Watched(S2GNN):
        def forward(self, *inputs):
            modes.append(self.training)
            return super().forward(*inputs)

    fit(Watched(2, 8, 3, alpha=2), x, op, y, TRAIN, VAL, config=FitConfig(epochs=3))
    assert modes == [True, False] * 3


def test_models_that_cannot_be_trained(blobs):
    x, op, y = blobs
    for model in (nn.ReLU(), nn.Sequential(nn.Linear(2, 3))):
        with pytest.raises(InputError, match="needs parameters and a method reset_parameters"):
            fit(model, x, op, y, TRAIN)


def test_an_interrupt_reaches_the_caller(blobs):
    x, op, y = blobs

    def interrupt(epoch):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(new_model(), x, op, y, TRAIN, on_epoch=interrupt)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train": []}, "no training nodes"),
        ({"train": [0, 90]}, r"train\[1\] is 90, outside 0..89 for 90 nodes"),
        ({"train": [-1, 5]}, r"train\[0\] is -1, outside 0..89"),
        ({"train": np.array([1] * 15 + [0] * 75)}, "names node 0 more than once; if it is a mask of 0 and 1"),
        ({"train": None}, "train is .*None.*, but indices are integers in a list or array"),
        ({"y": np.array(["a"] * 90)}, "number the classes with np.unique"),
        ({"y": None}, "expected 90 integer labels"),
        ({"train": [0.5]}, r"train\[0\] is .*0.5.*, but indices are integers"),
        ({"train": [[0, 1]]}, r"`train` has shape \(1, 2\), expected a mask or a list of node indices"),
        ({"train": np.ones(5, dtype=bool)}, r"mask `train` has shape \(5,\), expected \(90,\)"),
        ({"val": [14, 20]}, "node 14 is both a training and a validation node"),
        ({"y": np.full(90, -1)}, "node 0 has label -1"),
        ({"y": np.zeros(90)}, "expected 90 integer labels"),
        ({"y": np.zeros(3, dtype=int)}, r"y has shape \(3,\)"),
        ({"y": np.full(90, 3)}, "label 3, but the model has 3 classes"),
        ({"y": np.zeros((90, 3), dtype=int)}, 'monitor is .accuracy., but y has several labels .* monitor "auc"'),
        ({"y": np.full((90, 3), 2), "val": None}, "need labels of 0 and 1"),
        ({"y": np.zeros((90, 2), dtype=int), "val": None}, "y has 2 labels for each node, but the model has 3 outputs"),
        ({"y": np.zeros((90, 3))}, r"or \(90, L\) integers of 0 and 1"),
        ({"config": FitConfig(monitor="auc")}, "monitor is .auc., but y has one class for each node"),
    ],
)
def test_unusable_targets(blobs, changes, message):
    x, op, y = blobs
    arguments = {"y": y, "train": TRAIN, "val": VAL, **changes}
    with pytest.raises(InputError, match=message):
        fit(new_model(), x, op, **arguments)


@pytest.mark.parametrize(
    "changes",
    [
        {"lr": 0.0},
        {"epochs": 0},
        {"epochs": 2.5},
        {"epochs": "3"},
        {"patience": 0},
        {"patience": 1.5},
        {"weight_decay": -1.0},
        {"monitor": "f1"},
        {"keep": "first"},
        {"decay": "none"},
        {"frozen": "fusion"},
    ],
)
def test_unusable_configs(changes):
    with pytest.raises(InputError, match=next(iter(changes))):
        FitConfig(**changes)


def test_keep_last_leaves_the_weights_of_the_last_epoch(blobs):
    x, op, y = blobs
    last, best, without = new_model(), new_model(), new_model()
    config = FitConfig(lr=0.05, epochs=40, patience=None)
    result = fit(last, x, op, y, TRAIN, VAL, config=replace(config, keep="last"))
    chosen = fit(best, x, op, y, TRAIN, VAL, config=config)
    fit(without, x, op, y, TRAIN, config=config)
    assert result.best_epoch == 39
    assert chosen.best_epoch < 39
    assert result.history == chosen.history
    assert all(torch.equal(a, b) for a, b in zip(last.parameters(), without.parameters(), strict=True))
    stopped = fit(last, x, op, y, TRAIN, VAL, config=replace(config, keep="last", patience=5))
    assert stopped.best_epoch == len(stopped.history.val_loss) - 1 == chosen.best_epoch + 5


def test_frozen_parameters_stay_at_their_start_and_only_the_first_layer_decays(blobs):
    x, op, y = blobs
    model, start = new_model(), new_model()
    with seeded(7):
        start.reset_parameters()
    config = FitConfig(epochs=30, weight_decay=5.0, decay="first-layer", frozen=("fusion",))
    fit(model, x, op, y, TRAIN, config=config, seed=7)
    shrinkage = {}
    for (name, after), before in zip(model.named_parameters(), start.parameters(), strict=True):
        assert torch.equal(after, before) == ("fusion" in name), name
        shrinkage[name] = float(after.detach().norm() / before.detach().norm())
    assert shrinkage["convs.0.weight"] < 0.8 < 0.95 < shrinkage["convs.1.weight"]


def test_first_layer_decay_is_adam_with_two_groups(blobs):
    x, op, y = blobs
    model, other = new_model(), new_model()
    config = FitConfig(epochs=3, weight_decay=0.1, decay="first-layer")
    with seeded(1):
        other.reset_parameters()
        groups = [
            {"params": other.convs[0].parameters(), "weight_decay": 0.1},
            {"params": other.convs[1].parameters(), "weight_decay": 0.0},
        ]
        optimizer = torch.optim.Adam(groups, lr=config.lr)
        for _ in range(3):
            optimizer.zero_grad()
            nn.functional.cross_entropy(other(x, op)[TRAIN], torch.from_numpy(y)[TRAIN]).backward()
            optimizer.step()
    fit(model, x, op, y, TRAIN, config=config, seed=1)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))


def test_what_cannot_be_decayed_or_frozen(blobs):
    x, op, y = blobs
    with pytest.raises(InputError, match="nothing is left to train in S2GNN: frozen is .*convs"):
        fit(new_model(), x, op, y, TRAIN, config=FitConfig(frozen=("convs",)))
    with pytest.raises(InputError, match="InfiniteSlope has no ModuleList of layers"):
        fit(InfiniteSlope(), x, op, y, TRAIN, config=FitConfig(decay="first-layer"))


def test_the_auxiliary_loss_is_trained(blobs):
    x, op, y = blobs

    class Pulled(S2GNN):
        def auxiliary_loss(self):
            return 100 * (self.convs[0].bias - 3).square().mean()

    model = Pulled(2, 8, 3, alpha=2)
    result = fit(model, x, op, y, TRAIN, config=FitConfig(lr=0.05, epochs=300))
    assert float((model.convs[0].bias - 3).abs().max().detach()) < 0.3
    assert result.history.train_loss[0] > 800


def test_several_labels(blobs):
    x, op, y = blobs
    labels = np.stack([y == 0, y != 1, y == 2, np.zeros(90)], axis=1).astype(int)
    model = S2GNN(2, 8, 4, alpha=2)
    result = fit(model, x, op, labels, TRAIN, VAL, config=FitConfig(lr=0.05, epochs=60, monitor="auc"))
    logits = predict_logits(model, x, op)
    expected = np.mean([roc_auc_score(labels[VAL, label], logits[VAL, label]) for label in range(3)])
    assert max(result.history.val_auc) == result.history.val_auc[result.best_epoch] == pytest.approx(expected)
    assert expected > 0.95
    assert result.history.val_accuracy == []
    loss = nn.functional.binary_cross_entropy_with_logits(logits[VAL], torch.tensor(labels[VAL], dtype=torch.float32))
    assert result.history.val_loss[result.best_epoch] == pytest.approx(loss.item())


def test_class_weights_count_in_the_loss(blobs):
    x, op, y = blobs
    model, weight = new_model(), torch.tensor([5.0, 0.1, 1.0])
    config = FitConfig(epochs=3, keep="last")
    history = fit(model, x, op, y, TRAIN, VAL, config=config, class_weight=weight.tolist()).history
    expected = nn.functional.cross_entropy(predict_logits(model, x, op)[VAL], torch.tensor(y[VAL]), weight)
    assert history.val_loss[-1] == pytest.approx(float(expected), rel=1e-5)
    fit(model, x, op, y, TRAIN, config=FitConfig(epochs=60), class_weight=[1000.0, 1e-4, 1e-4])
    assert (predict_logits(model, x, op).argmax(dim=1) == 0).double().mean() > 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"class_weight": [1.0, 2.0]}, "class_weight has 2 weights, but the model has 3 classes"),
        ({"class_weight": [1.0, -2.0, 1.0]}, "class_weight is"),
        ({"class_weight": ["a", "b", "c"]}, "class_weight is"),
        ({"class_weight": [1.0] * 3, "loss": "squared-error"}, "y does not have one class for each node"),
        ({"loss": "hinge"}, "loss is 'hinge', but it must be one of cross-entropy, squared-error"),
        ({"loss": "squared-error"}, "y has 1 values for each node, but the model has 3 outputs"),
    ],
)
def test_losses_and_weights_are_checked(blobs, arguments, message):
    x, op, y = blobs
    with pytest.raises(InputError, match=message):
        fit(new_model(), x, op, y, TRAIN, **arguments)


@pytest.mark.parametrize("width", [1, 2])
def test_values_are_learned_by_their_squared_error(blobs, width):
    x, op, y = blobs
    signal = np.stack([x[:, 0].numpy() / 4, y - 1.0], axis=1)[:, :width]
    signal[TEST] = np.nan  # not looked at
    model = S2GNN(2, 16, width, alpha=2, dropout=0.0)
    config = FitConfig(epochs=150, monitor="loss")
    values = signal[:, 0] if width == 1 else signal
    result = fit(model, x, op, values, TRAIN, VAL, config=config, loss="squared-error")
    error = np.mean((predict_logits(model, x, op).numpy() - signal)[VAL] ** 2)
    assert result.history.val_loss[result.best_epoch] == pytest.approx(error, rel=1e-4)
    assert result.history.val_accuracy == result.history.val_auc == []
    assert error < 0.3 * signal[VAL].var(axis=0).mean()


def test_values_need_their_own_monitor_and_must_be_known(blobs):
    x, op, y = blobs
    model = S2GNN(2, 8, 1, alpha=2)
    with pytest.raises(InputError, match="monitor is 'accuracy', but y has values and no classes"):
        fit(model, x, op, y / 2, TRAIN, VAL, loss="squared-error")
    values = y / 2
    values[TRAIN[1]] = np.nan
    with pytest.raises(InputError, match="node 1 has a value that is not finite"):
        fit(model, x, op, values, TRAIN, loss="squared-error")
