"""What a model folder keeps for its report: labels, the evaluation on hidden labels, and where the model came from."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.estimator.archive import packed, read_plain_file, unpacked
from s2gnn.estimator.card import ModelCard
from s2gnn.estimator.evaluation import Evaluation

EVIDENCE = "evidence.npz"
VERSION = 1
_ARRAYS = ("description", "labelled", "targets", "hidden", "folds", "answers")


@dataclass(frozen=True)
class Evidence:
    """What is known of a model besides what it needs to predict; it has no value of the table except the labels.

    Attributes:
        source: name of the table; "" if it has none.
        missing: the number of missing values of each column that is learned from, by name.
        left_out: the reason for each column that is not learned from.
        labelled: the labelled rows, ascending, (n,).
        targets: their classes as indices of the estimator's classes, or their values, (n,).
        hidden: the evaluation on hidden labels; `None` if there was none.
        command: that trained the model; "" if it was not a command.
        commit: of the code that trained it; `None` outside a checkout.
        versions: of the packages that trained it.
    """

    source: str
    missing: Mapping[str, int]
    left_out: Mapping[str, str]
    labelled: NDArray[np.int64]
    targets: NDArray[Any]
    hidden: Evaluation | None
    command: str
    commit: str | None
    versions: Mapping[str, str]

    def stored(self) -> bytes:
        """The content of `evidence.npz`."""
        said = {
            "version": VERSION,
            "source": self.source,
            "missing": dict(self.missing),
            "left_out": dict(self.left_out),
            "command": self.command,
            "commit": self.commit,
            "versions": dict(self.versions),
        }
        arrays = {"description": np.array(json.dumps(said)), "labelled": self.labelled, "targets": self.targets}
        if self.hidden is not None:
            arrays |= {"hidden": self.hidden.rows, "folds": self.hidden.folds, "answers": self.hidden.answers}
        return packed(arrays)


def evidence_of(estimator: Any, card: ModelCard) -> Evidence | None:
    """What is kept of a fitted estimator; `None` if it was loaded from a folder without labels."""
    if estimator.labelled_ is None:
        return None
    return Evidence(
        source=card.source,
        missing=card.missing,
        left_out=card.left_out,
        labelled=estimator.labelled_,
        targets=estimator.targets_,
        hidden=estimator.evaluation_,
        command=card.command or "",
        commit=card.commit,
        versions=card.versions,
    )


def load_evidence(folder: Path, estimator: Any) -> Evidence | None:
    """What the model folder keeps for the report; `None` for folders of early releases, which have no such file.

    Args:
        folder: a model folder.
        estimator: loaded from it.

    Raises:
        InputError: if the file is damaged, belongs to another model, or was written by a newer release.
    """
    path = folder / EVIDENCE
    if not path.exists():
        return None
    content = read_plain_file(folder, EVIDENCE)
    try:
        return _read(unpacked(content, _ARRAYS), estimator)
    except (
        InputError, KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError, OverflowError,
        MemoryError, OSError, EOFError, zipfile.BadZipFile,
    ) as error:  # fmt: skip
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path} cannot be read ({reason}): fit the model again") from error


def _read(arrays: Mapping[str, NDArray[Any]], estimator: Any) -> Evidence:
    said = json.loads(str(arrays["description"]))
    if said["version"] != VERSION:
        raise InputError(f"it has version {said['version']!r}, but this release reads version {VERSION}")
    n, classes = estimator.graph_.n_nodes, getattr(estimator, "classes_", None)
    labelled = _rows(arrays["labelled"], n)
    targets = arrays["targets"].astype(np.float64 if classes is None else np.int64)
    _require(targets.shape == labelled.shape and len(labelled) == estimator.n_labelled_)
    _require(
        bool(np.isfinite(targets).all()) and (classes is None or bool(np.isin(targets, range(len(classes))).all()))
    )
    hidden = None
    if "hidden" in arrays:
        answers = arrays["answers"].astype(np.float64)
        rows, folds = _rows(arrays["hidden"], n), arrays["folds"].astype(np.int64)
        width = 1 if classes is None else len(classes)
        _require(folds.shape == rows.shape and answers.shape == (len(rows), width))
        _require(bool(np.isin(rows, labelled).all() and np.isfinite(answers).all()))
        hidden = Evaluation(rows, folds, answers, targets[np.searchsorted(labelled, rows)])
    return Evidence(
        source=str(said["source"]),
        missing={str(name): int(count) for name, count in said["missing"].items()},
        left_out={str(name): str(reason) for name, reason in said["left_out"].items()},
        labelled=labelled,
        targets=targets,
        hidden=hidden,
        command=str(said["command"]),
        commit=None if said["commit"] is None else str(said["commit"]),
        versions={str(name): str(version) for name, version in said["versions"].items()},
    )


def _rows(stored: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Distinct rows of 0..n−1 in ascending order."""
    _require(stored.ndim == 1 and stored.dtype.kind in "iu" and len(stored) > 0)
    rows = stored.astype(np.int64)
    _require(bool((np.diff(rows) > 0).all()) and rows[0] >= 0 and rows[-1] < n)
    return rows


def _require(fits: bool) -> None:
    if not fits:
        raise InputError("it does not belong to this model")
