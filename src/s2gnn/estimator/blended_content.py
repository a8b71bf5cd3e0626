"""Base predictor, smoothing and blend of a fitted estimator as arrays and JSON, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.estimator.base_predictor import BasePredictor
from s2gnn.estimator.blending import Blend, ClassBlend, ValueBlend
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.features import NormalScores
from s2gnn.estimator.regressor import S2GNNRegressor

LEARNER = "learner."  # prefix of the arrays of the base predictor
N_MEMBERS = 3


def described_blends(estimator: S2GNNClassifier | S2GNNRegressor) -> dict[str, Any]:
    """The blends of the members and of the base learners as JSON."""
    assert estimator.base_ is not None
    blends = {"members": estimator.blend_, "learners": estimator.base_.blend}
    return {name: None if blend is None else asdict(blend) for name, blend in blends.items()}


def blended_arrays(estimator: S2GNNClassifier | S2GNNRegressor) -> dict[str, NDArray[Any]]:
    """The arrays by name."""
    assert estimator.base_ is not None
    assert estimator.normal_scores_ is not None
    return {
        "predictions": estimator.predictions_,
        "smoothed": estimator.smoothed_,
        "smoothing_rows": estimator.smoothing_rows_,
        "smoothing_known": estimator.smoothing_known_,
        "base_inputs": estimator.base_inputs_,
        "column_weights": estimator.column_weights_,
        "score_values": estimator.normal_scores_.values,
        "score_scores": estimator.normal_scores_.scores,
        **{f"{LEARNER}{name}": array for name, array in estimator.base_.arrays().items()},
    }


def restore_blended(
    estimator: S2GNNClassifier | S2GNNRegressor, blends: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Give the estimator, which has its features and classes, what the two functions above stored.

    Raises:
        InputError: if the arrays do not fit together; damaged content may also raise other errors, see `DAMAGE`.
    """
    n, columns = estimator.features_.shape
    classifies = isinstance(estimator, S2GNNClassifier)
    outputs = len(estimator.classes_) if isinstance(estimator, S2GNNClassifier) else 1
    rows, n_knots = arrays["smoothing_rows"].astype(np.int64), len(arrays["score_values"])
    shapes = {
        "predictions": (N_MEMBERS, n, outputs),
        "smoothed": (n, outputs),
        "smoothing_known": (len(rows), outputs),
        "base_inputs": (n, outputs),
        "column_weights": (columns,),
        "score_values": (n_knots, columns),
        "score_scores": (n_knots, columns),
    }
    found = {name: arrays[name].astype(np.float64) for name in shapes}
    for name, shape in shapes.items():
        if found[name].shape != shape or not np.isfinite(found[name]).all():
            raise InputError(f"it has {name} of shape {found[name].shape}, or not finite")
    if not len(rows) or not ((np.diff(rows) > 0).all() and rows[0] >= 0 and rows[-1] < n):
        raise InputError(f"it has labelled rows outside 0..{n - 1}")
    members, learners = (_blend(blends[name], outputs, classifies) for name in ("members", "learners"))
    if members is None or len(members.weights) != N_MEMBERS:
        raise InputError(f"it has a blend that is not of {N_MEMBERS} members")
    own = {name.removeprefix(LEARNER): array for name, array in arrays.items() if name.startswith(LEARNER)}
    estimator.base_ = BasePredictor.from_arrays(own, learners, columns, outputs)
    estimator.blend_ = members
    estimator.normal_scores_ = NormalScores(found["score_values"], found["score_scores"])
    estimator.predictions_, estimator.base_predictions_ = found["predictions"], found["predictions"][0]
    estimator.smoothed_, estimator.base_inputs_ = found["smoothed"], found["base_inputs"]
    estimator.smoothing_rows_, estimator.smoothing_known_ = rows, found["smoothing_known"]
    estimator.column_weights_ = found["column_weights"]
    estimator.network_input_ = estimator._network_input(estimator.features_, estimator.base_inputs_)


def _blend(stored: Mapping[str, Any] | None, outputs: int, classifies: bool) -> Blend | None:
    """A blend with positive numbers, as many weights as temperatures, and odds for every class."""
    if stored is None:
        return None
    numbers = {name: tuple(map(float, np.atleast_1d(value))) for name, value in stored.items()}
    if not all(0 < number < np.inf for of_name in numbers.values() for number in of_name):
        raise InputError(f"it has a blend with numbers that are not positive: {dict(stored)}")
    if not classifies:
        return ValueBlend(**numbers)
    (temperature,) = numbers.pop("temperature")
    blend = ClassBlend(temperature=temperature, **numbers)
    if len(blend.temperatures) != len(blend.weights) or len(blend.odds) != outputs:
        raise InputError(f"it has a blend of other members or classes: {dict(stored)}")
    return blend
