"""Convert base predictor, smoothing and blend of a fitted estimator to arrays and JSON, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.estimator.base_predictor import BasePredictor
from s2gnn.estimator.blending import Blend, ClassBlend, ValueBlend
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.description import Blends
from s2gnn.estimator.features import NormalScores
from s2gnn.estimator.members import BaseMember
from s2gnn.estimator.regressor import S2GNNRegressor
from s2gnn.reading import as_type

LEARNER = "learner."  # prefix of the arrays of the base predictor
N_MEMBERS = 3


def described_blends(estimator: S2GNNClassifier | S2GNNRegressor) -> dict[str, Any]:
    """Return the blends of the members and of the base learners as JSON."""
    assert estimator.base_ is not None
    blends = {"members": estimator.blend_, "learners": estimator.base_.blend}
    return {name: None if blend is None else asdict(blend) for name, blend in blends.items()}


def blended_arrays(estimator: S2GNNClassifier | S2GNNRegressor) -> dict[str, NDArray[Any]]:
    """Return the arrays by name."""
    base, smoothed = estimator.members_.base, estimator.smoothed_
    assert base is not None
    assert smoothed is not None
    return {
        "predictions": estimator.predictions_,
        "smoothed": smoothed,
        "smoothing_rows": base.labelled,
        "smoothing_known": base.known,
        "smoothing_strength": base.strength,
        "base_inputs": base.inputs,
        "column_weights": base.column_weights,
        "score_values": base.normal_scores.values,
        "score_scores": base.normal_scores.scores,
        **{f"{LEARNER}{name}": array for name, array in base.predictor.arrays().items()},
    }


def restored_blended(
    shape: tuple[int, int], n_classes: int | None, blends: Blends, arrays: Mapping[str, NDArray[Any]]
) -> tuple[BaseMember, NDArray[np.float64], NDArray[np.float64], Blend]:
    """Restore base member, smoothed signal, predictions of all members and their blend.

    Args:
        shape: of the features, (N, M).
        n_classes: C; `None` for values.
        blends: from `described_blends`.
        arrays: from `blended_arrays`.

    Raises:
        InputError: if the arrays do not fit together; damaged content may also raise one of `DAMAGE`.
    """
    n, columns = shape
    outputs = n_classes or 1
    rows, n_knots = arrays["smoothing_rows"].astype(np.int64), len(arrays["score_values"])
    shapes = {
        "predictions": (N_MEMBERS, n, outputs),
        "smoothed": (n, outputs),
        "smoothing_known": (len(rows), outputs),
        "smoothing_strength": (len(rows),),
        "base_inputs": (n, outputs),
        "column_weights": (columns,),
        "score_values": (n_knots, columns),
        "score_scores": (n_knots, columns),
    }
    arrays = {"smoothing_strength": np.ones(len(rows)), **arrays}  # absent before labels had weights
    found = {name: arrays[name].astype(np.float64) for name in shapes}
    for name, expected in shapes.items():
        if found[name].shape != expected or not np.isfinite(found[name]).all():
            raise InputError(f"it has {name} of shape {found[name].shape}, or not finite")
    if not len(rows) or not ((np.diff(rows) > 0).all() and rows[0] >= 0 and rows[-1] < n):
        raise InputError(f"it has labelled rows outside 0..{n - 1}")
    members, learners = (_blend(blend, n_classes) for blend in (blends.members, blends.learners))
    if members is None or len(members.weights) != N_MEMBERS:
        raise InputError(f"it has a blend that is not of {N_MEMBERS} members")
    own = {name.removeprefix(LEARNER): array for name, array in arrays.items() if name.startswith(LEARNER)}
    base = BaseMember(
        BasePredictor.from_arrays(own, learners, columns, outputs),
        NormalScores(found["score_values"], found["score_scores"]),
        found["column_weights"],
        found["predictions"][0],
        found["base_inputs"],
        rows,
        found["smoothing_known"],
        found["smoothing_strength"],
    )
    return base, found["smoothed"], found["predictions"], members


def _blend(stored: Mapping[str, Any] | None, n_classes: int | None) -> Blend | None:
    """Restore a blend; its numbers must be positive, with one temperature per weight and odds for every class."""
    if stored is None:
        return None
    blend: Blend = as_type(stored, ValueBlend) if n_classes is None else as_type(stored, ClassBlend)
    if not all(0 < number < np.inf for value in vars(blend).values() for number in np.atleast_1d(value)):
        raise InputError(f"it has a blend with numbers that are not positive: {dict(stored)}")
    if isinstance(blend, ClassBlend) and (len(blend.temperatures), len(blend.odds)) != (len(blend.weights), n_classes):
        raise InputError(f"it has a blend of other members or classes: {dict(stored)}")
    return blend
