import numpy as np
import pytest

from s2gnn import InputError
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
