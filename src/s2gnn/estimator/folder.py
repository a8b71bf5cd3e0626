"""The model folder: a fitted estimator saved so that loading it executes no code, whatever the folder holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from s2gnn.estimator.card import ModelCard


def save_estimator(
    estimator: Any,
    folder: str | Path,
    extra: Mapping[str, Any] | None = None,
    files: Mapping[str, bytes] | None = None,
    *,
    card: ModelCard | None = None,
) -> None:
    """Write a fitted `S2GNNClassifier` or `S2GNNRegressor` into `folder`, which appears whole or not at all.

    Args:
        estimator: fitted.
        folder: new, or a model folder written before, which is replaced.
        extra: JSON that `load_estimator` gives back.
        files: further files by name, without folders in it.
        card: what `README.md` says about data, scores and command.
    """
    raise NotImplementedError


def load_estimator(folder: str | Path) -> tuple[Any, dict[str, Any]]:
    """The estimator and the `extra` that `save_estimator` wrote into `folder`.

    Raises:
        InputError: if the folder holds no such model, or its files are damaged or do not belong together.
    """
    raise NotImplementedError
