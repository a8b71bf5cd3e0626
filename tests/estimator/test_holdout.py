import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.estimator.holdout import check_fraction, hold_out


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
