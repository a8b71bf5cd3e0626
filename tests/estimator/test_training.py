from typing import ClassVar

import numpy as np
import pytest
import torch

from s2gnn import InputError, S2GNNClassifier
from s2gnn.estimator import load_estimator, save_estimator
from s2gnn.estimator.training import Objective, check_fraction, hold_out, train_ensemble
from s2gnn.learning import FitConfig, fit, predict_logits
from s2gnn.nn import MLP


def split(n_by_class, fraction, seed=0):
    strata = np.repeat(np.arange(len(n_by_class)), n_by_class)
    rows = np.arange(len(strata)) * 3
    train, val = hold_out(rows, strata, fraction, np.random.default_rng(seed))
    assert sorted([*train, *val]) == rows.tolist()
    return np.bincount(strata[val // 3], minlength=len(n_by_class)).tolist(), val


@pytest.mark.parametrize(
    ("n_by_class", "fraction", "held"),
    [
        ((50, 100), 0.2, [10, 20]),
        ((1, 100), 0.5, [0, 50]),  # the only row of a class is never held out
        ((99, 100), "auto", [0, 0]),
        ((100, 100), "auto", [20, 20]),
        ((2, 198), "auto", [0, 40]),
        ((60, 60), None, [0, 0]),
        ((60, 60), 0.0, [0, 0]),
    ],
)
def test_every_class_keeps_its_share(n_by_class, fraction, held):
    assert split(n_by_class, fraction)[0] == held


def test_without_classes_and_by_seed():
    rows = np.arange(200)
    first, again, other = (hold_out(rows, None, "auto", np.random.default_rng(seed))[1] for seed in (0, 0, 1))
    assert len(first) == 40
    assert first.tolist() == again.tolist() != other.tolist()
    assert len(hold_out(rows[:199], None, "auto", np.random.default_rng(0))[1]) == 0


@pytest.mark.parametrize("fraction", [1, -0.1, "half", True])
def test_fractions_are_checked(fraction):
    with pytest.raises(InputError, match="validation_fraction is"):
        check_fraction(fraction)


def test_an_ensemble_of_any_network():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + 2 * y[:, None]
    objective, config, shares = Objective(y, np.arange(30), 2), FitConfig(epochs=5), []
    trained = train_ensemble(
        lambda: MLP(3, 4, 2), lambda network: network.prepare(X), objective, config, seeds=[3, 7],
        validation_fraction=None, on_progress=shares.append,
    )  # fmt: skip
    assert shares == pytest.approx(np.arange(1, 11) / 10)
    assert trained.kept_epochs == (4, 4)
    for network, logits, seed in zip(trained.networks, trained.logits, (3, 7), strict=True):
        alone = MLP(3, 4, 2)
        inputs = alone.prepare(X)
        fit(alone, *inputs, y, np.arange(30), config=config, seed=seed)
        np.testing.assert_array_equal(logits, predict_logits(alone, *inputs).double().numpy())
        np.testing.assert_array_equal(logits, predict_logits(network, *inputs).double().numpy())


class Moved(MLP):
    """Remembers where networks were sent to, and stays where it is."""

    places: ClassVar[list[str]] = []

    def to(self, device):
        self.places.append(str(device))
        return self

    def cpu(self):
        self.places.append("back")
        return self


def test_networks_are_trained_on_the_device_and_return():
    x, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    objective, config = Objective(y, np.arange(20), 2), FitConfig(epochs=2)
    Moved.places.clear()
    train_ensemble(
        lambda: Moved(3, 4, 2), lambda network: network.prepare(x, None), objective, config, seeds=[1, 2],
        device=torch.device("cuda:1"),
    )  # fmt: skip
    assert Moved.places == ["cuda:1", "cuda:1", "cuda:1", "back", "back"]  # one prepares the input


def test_the_device_of_an_estimator_is_checked_and_saved(tmp_path):
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    for device, message in [
        ("gpu", "device is 'gpu', which is no device: choose 'auto' or one of cpu"),
        ("cuda:99", "device is 'cuda:99', which is not available here"),
    ]:
        with pytest.raises(InputError, match=message):
            S2GNNClassifier(device=device).fit(X, y)
    fitted = S2GNNClassifier(network="s2gnn", device="cpu", max_epochs=2, random_state=0).fit(X, y)
    fitted.device = "cuda:99"  # as fitted on another machine
    save_estimator(fitted, tmp_path / "model")
    loaded, _ = load_estimator(tmp_path / "model")
    assert loaded.device == "cuda:99"
    assert np.array_equal(loaded.predict_proba(X + 1), fitted.predict_proba(X + 1))
    with pytest.raises(InputError, match="device is 'cuda:99', which is not available here"):
        loaded.evaluate(2)
    assert loaded.set_params(device="cpu").evaluate(2) is not None
