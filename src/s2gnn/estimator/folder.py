"""Model folders: fitted estimators saved so that loading executes no code, whatever the folder contains."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from s2gnn.devices import checked_device
from s2gnn.errors import InputError
from s2gnn.estimator.card import Estimator, ModelCard, card_page
from s2gnn.estimator.content import DAMAGE, Content, content_of, estimator_of
from s2gnn.estimator.description import CLASSES
from s2gnn.files import folder_aside, replace_folder, write_atomically
from s2gnn.reading import parse_json, why_not

FORMAT = "s2gnn-estimator"
VERSION = 3  # since the base predictor and the blend
READABLE = (1, 2, VERSION)
WEIGHTS = "model.safetensors"
TRAINING = "training.npz"
EVIDENCE = "evidence.npz"
DESCRIPTION = "estimator.json"
CARD = "README.md"
REPORT = "report.html"
FILES = (WEIGHTS, TRAINING, DESCRIPTION, CARD, EVIDENCE, REPORT)
LARGEST_DESCRIPTION = 2**26  # bytes
LONGEST_REASON = 200
MODEL_FOLDER = "a folder written by s2gnn fit or save_estimator"


def save_estimator(
    estimator: Any, folder: str | Path, extra: Mapping[str, Any] | None = None, *, card: ModelCard | None = None
) -> None:
    """Write a fitted `S2GNNClassifier` or `S2GNNRegressor` into `folder`, atomically.

    The folder holds `model.safetensors` (weights), `training.npz` (features, graph and answers of the training rows,
    without pickles), `evidence.npz` (labels and evaluation, for the report), `estimator.json` and the model card
    `README.md`. A graph made by a function is saved as a given graph: the loaded estimator has that `Graph` as its
    parameter and still predicts new rows.

    Args:
        estimator: a fitted estimator; call its `evaluate` first to include scores in the card and the report.
        folder: new or empty, or an existing model folder, which is replaced.
        extra: JSON-serialisable data that `load_estimator` returns.
        card: description of data and command for `README.md` and the report.
    """
    folder, card = Path(folder), card or ModelCard()
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder} is a file or a symlink, but a model is saved into a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / DESCRIPTION).is_file():
        raise InputError(f"{folder} holds files that are not a model: choose a new folder")
    content = content_of(estimator, card)
    description = {
        "format": FORMAT,
        "version": VERSION,
        **content.description,
        "sha256": {WEIGHTS: _sha256(content.weights), TRAINING: _sha256(content.training)},
        "extra": dict(extra or {}),
    }
    try:
        text = json.dumps(description, indent=1, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"extra, or a parameter of the estimator, cannot be stored as JSON: {error}") from error
    files = {
        WEIGHTS: content.weights,
        TRAINING: content.training,
        DESCRIPTION: f"{text}\n".encode(),
        CARD: card_page(card, estimator).encode(),
    }
    _write_folder(folder, files if content.evidence is None else files | {EVIDENCE: content.evidence})


def load_estimator(folder: str | Path, device: str | torch.device = "cpu") -> tuple[Any, dict[str, Any]]:
    """Load the estimator and the `extra` that `save_estimator` wrote into `folder`.

    Nothing in the folder is executed or unpickled: only two allow-listed classes load, and only plain files of the
    folder itself are read, by name. Folders do not record a device: a model trained on a GPU loads on a CPU, and vice
    versa.

    Args:
        folder: the model folder.
        device: where the networks predict new rows: "cpu", "cuda", "cuda:1", "mps", or "auto" for a GPU
            if there is one. Predictions on different devices differ by rounding.

    Raises:
        InputError: if the folder contains no such model, its files are damaged or inconsistent, or the device is not
            available.
    """
    estimator, extra, _ = read_folder(Path(folder), device)
    return estimator, extra


def read_folder(folder: Path, device: str | torch.device = "cpu") -> tuple[Estimator, dict[str, Any], ModelCard | None]:
    """Load an estimator as `load_estimator` does, with the stored card: origin, command and versions.

    The card is `None` for folders of early releases, which have no labels either.
    """
    place = checked_device(device)
    description = _read_description(folder)
    digests, extra = description.get("sha256"), description.get("extra")
    read = {}
    for name in (WEIGHTS, TRAINING):
        read[name] = _read_plain_file(folder, name)
        if not isinstance(digests, dict) or _sha256(read[name]) != digests.get(name):
            raise InputError(
                f"{folder / name} is damaged or belongs to another model: its sha256 is not that of {DESCRIPTION}"
            )
    if not isinstance(extra, dict):
        raise InputError(f"{folder / DESCRIPTION} is damaged: its extra is not an object")
    evidence = _read_plain_file(folder, EVIDENCE) if (folder / EVIDENCE).exists() else None
    try:
        estimator, card = estimator_of(Content(description, read[WEIGHTS], read[TRAINING], evidence))
    except DAMAGE as error:
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        reason = " ".join(f"{kind}{error}".split())[:LONGEST_REASON]
        raise InputError(
            f"{folder} is not a model that this release can load, because its files are damaged or do not fit "
            f"together ({reason})"
        ) from error
    for network in estimator.networks_:
        network.to(place)
    return estimator, extra, card


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    text = _read_plain_file(folder, DESCRIPTION, LARGEST_DESCRIPTION)
    try:
        description = parse_json(text, dict[str, Any])
    except InputError as error:
        raise InputError(f"{path} is not JSON ({error}): give {MODEL_FOLDER}") from error
    if description.get("format") != FORMAT:
        raise InputError(f"{path} does not describe an estimator of s2gnn: it lacks format = {FORMAT!r}")
    if description.get("version") not in READABLE or description.get("class") not in tuple(CLASSES):
        raise InputError(
            f"{path} describes a {description.get('class')!r} in format version {description.get('version')!r}, but "
            f"this release reads {' or '.join(CLASSES)} in version {' or '.join(map(str, READABLE))}"
        )
    return description


def _read_plain_file(folder: Path, name: str, largest: int | None = None) -> bytes:
    """Read a plain file in `folder`; a symlink, which may point anywhere, is refused."""
    path = folder / name
    if not folder.is_dir():
        raise InputError(f"{folder} {why_not(folder, 'folder')}: give {MODEL_FOLDER}")
    if path.is_symlink() or not path.is_file():
        raise InputError(f"{path} is missing or not a plain file: give {MODEL_FOLDER}")
    try:
        size = path.stat().st_size
        if largest is not None and size > largest:
            raise InputError(f"{path} has {size:,} bytes, but one written by save_estimator has at most {largest:,}")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (MemoryError, OverflowError) as error:
        raise InputError(f"{path} has {size:,} bytes, which do not fit into memory") from error


def _write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files into a temporary folder, then replace the existing one with it."""
    with folder_aside(folder) as aside:
        new = aside / "new"
        new.mkdir()
        for name, content in files.items():
            write_atomically(new / name, content)
        replace_folder(new, folder)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
