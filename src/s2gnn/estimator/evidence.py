"""What `s2gnn fit` saw of a table and how hidden labels were predicted: kept beside a model, for its report."""

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
from s2gnn.estimator.archive import packed, unpacked
from s2gnn.estimator.cross_validation import HiddenAnswers
from s2gnn.estimator.folder import EVIDENCE, read_plain_file

VERSION = 1
_ARRAYS = ("description", "labelled", "targets", "hidden", "folds", "answers")


@dataclass(frozen=True)
class Evidence:
    """What is known of a model beside what it needs to predict; no value of the table but the labels.

    Attributes:
        source: name of the table's file.
        missing: how many values each column that is learned from lacks, by name.
        left_out: the reason for each column that is not learned from.
        labelled: the rows that have a label, ascending, (n,).
        targets: the places of their classes among those of the estimator, or their quantities, (n,).
        hidden: what was predicted for labels while they were hidden; `None` if none was.
        command: that trained the model.
        commit: of the code that trained it; `None` outside a checkout.
        versions: of the packages that trained it.
    """

    source: str
    missing: Mapping[str, int]
    left_out: Mapping[str, str]
    labelled: NDArray[np.int64]
    targets: NDArray[Any]
    hidden: HiddenAnswers | None
    command: str
    commit: str | None
    versions: Mapping[str, str]

    def hidden_targets(self) -> NDArray[Any]:
        """The targets of the hidden rows, (number of hidden rows,)."""
        assert self.hidden is not None
        found: NDArray[Any] = self.targets[np.searchsorted(self.labelled, self.hidden.rows)]
        return found

    def stored(self) -> bytes:
        """All of it as the file `evidence.npz`."""
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


def load_evidence(folder: Path, estimator: Any) -> Evidence | None:
    """What was kept beside the model in `folder`; `None` if nothing was, as in folders of earlier releases.

    Args:
        folder: a model folder.
        estimator: the one that was loaded from it.

    Raises:
        InputError: if the file is damaged, belongs to another model, or was written by a later release.
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
    hidden = None
    if "hidden" in arrays:
        answers = arrays["answers"].astype(np.float64)
        hidden = HiddenAnswers(_rows(arrays["hidden"], n), arrays["folds"].astype(np.int64), answers)
        width = 1 if classes is None else len(classes)
        _require(hidden.folds.shape == hidden.rows.shape and answers.shape == (len(hidden.rows), width))
        _require(bool(np.isin(hidden.rows, labelled).all() and np.isfinite(answers).all()))
    _require(targets.shape == labelled.shape and len(labelled) == estimator.n_labelled_)
    _require(
        bool(np.isfinite(targets).all()) and (classes is None or bool(np.isin(targets, range(len(classes))).all()))
    )
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
    """Different rows of 0..n−1 in ascending order."""
    _require(stored.ndim == 1 and stored.dtype.kind in "iu" and len(stored) > 0)
    rows = stored.astype(np.int64)
    _require(bool((np.diff(rows) > 0).all()) and rows[0] >= 0 and rows[-1] < n)
    return rows


def _require(fits: bool) -> None:
    if not fits:
        raise InputError("it does not belong to this model")
