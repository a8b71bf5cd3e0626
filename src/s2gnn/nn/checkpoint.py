"""Save and load an S2GNN: weights as safetensors, architecture as JSON."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

import s2gnn
from s2gnn.devices import checked_device
from s2gnn.errors import InputError
from s2gnn.files import write_atomically
from s2gnn.nn.s2gnn import S2GNN, S2GNNConfig
from s2gnn.reading import parse_json, parse_safetensors, read_bytes

FORMAT = "s2gnn-model"
VERSION = 2
WEIGHTS = "weights.safetensors"
DESCRIPTION = "model.json"


def save_model(model: S2GNN, folder: str | Path) -> None:
    """Write `model` into `folder`, created if missing, as `weights.safetensors` and `model.json`."""
    if type(model) not in (S2GNN, s2gnn.S2GNN):
        raise InputError(f"the model is a {type(model).__name__}, but save_model saves an S2GNN")
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, but a model is saved into a folder")
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    weights = save(state)
    description = {
        "format": FORMAT,
        "version": VERSION,
        "class": "S2GNN",
        "config": asdict(model.config),
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
    }
    text = json.dumps(description, indent=2) + "\n"
    write_atomically(folder / WEIGHTS, weights)
    write_atomically(folder / DESCRIPTION, text.encode())


def load_model(folder: str | Path, device: str | torch.device = "cpu", cls: type[S2GNN] | None = None) -> S2GNN:
    """Load the model that `save_model` wrote into `folder`, in evaluation mode.

    Weights are stored without a device, so a model trained on a GPU loads on a CPU and vice versa.

    Args:
        folder: the folder of the model.
        device: the device of the model: "cpu", "cuda", "cuda:1", "mps", or "auto" for a GPU if there is one.
        cls: the class of the model: by default `s2gnn.S2GNN`, which is that of PyTorch Geometric layers if it is
            installed; or `s2gnn.nn.S2GNN`. Both have the same weights.

    Raises:
        InputError: if the folder contains no such model, if its files are damaged or do not match, or if the device is
            not available.
    """
    place = checked_device(device)
    description = _read_description(Path(folder) / DESCRIPTION)
    path = Path(folder) / WEIGHTS
    weights = _read_bytes(path)
    if hashlib.sha256(weights).hexdigest() != description.get("weights_sha256"):
        raise InputError(f"{path} is damaged or belongs to another model: its sha256 is not the one in {DESCRIPTION}")
    try:
        state, _ = parse_safetensors(weights)
        with torch.device("meta"):  # no memory is taken, no random number drawn, before the shapes are known to fit
            model = (cls or s2gnn.S2GNN).from_config(S2GNNConfig(**description["config"]))
        model.load_state_dict(state, assign=True)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{folder} does not hold an S2GNN that this version can rebuild: {error}") from error
    return model.to(place).eval()


def _read_bytes(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except FileNotFoundError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}): is this a folder written by save_model?"
        ) from error


def _read_description(path: Path) -> dict[str, Any]:
    content = _read_bytes(path)
    try:
        description = parse_json(content, dict[str, Any])
    except InputError as error:
        raise InputError(f"{path} is not JSON ({error}): is this a folder written by save_model?") from error
    if description.get("format") != FORMAT:
        raise InputError(f"{path} does not describe an s2gnn model: it lacks format = {FORMAT!r}")
    if description.get("version") != VERSION or description.get("class") != "S2GNN":
        raise InputError(
            f"{path} describes a {description.get('class')!r} in format version "
            f"{description.get('version')!r}, but this release reads S2GNN in version {VERSION}"
        )
    return description
