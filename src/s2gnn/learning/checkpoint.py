"""Save a training run between epochs and resume it bit by bit, in one safetensors file without pickle."""

import copy
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from s2gnn.errors import InputError
from s2gnn.files import write_atomically
from s2gnn.nn.arguments import positive_integer
from s2gnn.reading import parse_json, parse_safetensors, read_bytes

FORMAT = "s2gnn-training"
VERSION = 2
_ADAM = ("step", "exp_avg", "exp_avg_sq")


@dataclass
class History:
    """Losses and scores, one number for each epoch; the validation lists are empty without validation nodes.

    `val_accuracy` is filled for classes, `val_auc` for several labels per node, neither for regression.
    """

    train_loss: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)
    val_accuracy: list[float] = field(default_factory=list)
    val_auc: list[float] = field(default_factory=list)


@dataclass(eq=False)
class TrainingRun:
    """A model in training.

    Attributes:
        model: with its current weights.
        optimizer: with its moments.
        history: by epoch.
        best_score: of the validation so far.
        best_epoch: the first epoch that had it; `None` without validation.
        best_state: the weights at that epoch, if they are kept.
        seconds: of training so far.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    history: History
    best_score: float = -math.inf
    best_epoch: int | None = None
    best_state: dict[str, Tensor] | None = None
    seconds: float = 0.0

    @property
    def epochs(self) -> int:
        """Number of finished epochs."""
        return len(self.history.train_loss)

    def take_score(self, score: float, *, keep: bool) -> None:
        """Record the validation score of the last epoch and, if it is the best so far, `keep` its weights."""
        if score > self.best_score:
            self.best_score, self.best_epoch = score, self.epochs - 1
            self.best_state = copy.deepcopy(self.model.state_dict()) if keep else None

    def has_waited(self, patience: int | None) -> bool:
        """Return whether the score has not improved for `patience` epochs."""
        return self.best_epoch is not None and patience is not None and self.epochs - 1 - self.best_epoch >= patience


@dataclass(frozen=True)
class Checkpoint:
    """A file that a training run is regularly saved to, and resumed from if it exists.

    On the CPU a resumed run is bitwise identical to an uninterrupted one.

    Attributes:
        path: of the file, which is replaced atomically.
        every: epochs between two saves.
        settings: inputs of the run that `fit` does not compare itself, such as the features, the graph and the dropout
            (it compares labels, nodes, partition, `FitConfig` and the shapes of weights); a run resumes only with equal
            settings.
    """

    path: Path
    every: int = 10
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        positive_integer(self.every, "every")

    def is_due(self, epochs: int) -> bool:
        """Return whether to save after this number of epochs."""
        return epochs % self.every == 0

    def read(self) -> bytes | None:
        """Read the file; `None` if there is none."""
        try:
            return read_bytes(self.path)
        except FileNotFoundError:
            return None

    def epochs(self) -> int:
        """Return the number of finished epochs of the saved run, 0 if there is none."""
        saved = self.read()
        return 0 if saved is None else len(self._parsed(saved)[1].history.train_loss)

    def write(self, run: TrainingRun, settings: Mapping[str, Any]) -> None:
        """Save a run and the state of torch's generator, with the `settings` that `fit` passes."""
        description = {
            "format": FORMAT,
            "version": VERSION,
            "settings": {**settings, **self.settings},
            "history": asdict(run.history),
            "best_score": run.best_score if math.isfinite(run.best_score) else None,
            "best_epoch": run.best_epoch,
            "seconds": run.seconds,
        }
        tensors = {
            "rng": torch.get_rng_state(),
            **{f"model/{name}": tensor for name, tensor in run.model.state_dict().items()},
            **{f"best/{name}": tensor for name, tensor in (run.best_state or {}).items()},
            **{
                f"adam/{number}/{name}": state[name]
                for number, state in run.optimizer.state_dict()["state"].items()
                for name in _ADAM
            },
        }
        plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
        write_atomically(self.path, save(plain, {FORMAT: json.dumps(description)}))

    def restore(self, saved: bytes, run: TrainingRun, settings: Mapping[str, Any]) -> None:
        """Load what `write` saved into a new run and into torch's generator."""
        tensors, stored = self._parsed(saved)
        self._check_settings(stored.settings, {**settings, **self.settings})
        best = _named("best/", tensors)
        try:
            if best:  # loaded only to compare names and shapes
                run.model.load_state_dict(best)
            run.model.load_state_dict(_named("model/", tensors))
            run.optimizer.load_state_dict(_adam_state(run.optimizer, _named("adam/", tensors)))
            torch.set_rng_state(tensors["rng"])
        except (RuntimeError, LookupError, ValueError, TypeError) as error:
            raise InputError(
                f"the checkpoint {self.path} is of another model ({str(error).splitlines()[0]}): take another file"
            ) from error
        for name, values in asdict(stored.history).items():
            getattr(run.history, name).extend(values)
        run.best_score = -math.inf if stored.best_score is None else stored.best_score
        run.best_epoch, run.best_state, run.seconds = stored.best_epoch, best or None, stored.seconds

    def _parsed(self, saved: bytes) -> tuple[dict[str, Tensor], "_Description"]:
        try:
            tensors, metadata = parse_safetensors(saved)
            description = metadata.get(FORMAT, "")
            version = parse_json(description, _Versioned).version
            if version == VERSION:
                if "rng" not in tensors or not _named("adam/", tensors):
                    raise InputError("it lacks the state of the optimiser or of the random numbers")
                return tensors, parse_json(description, _Description)
        except InputError as error:
            raise InputError(
                f"{self.path} is not a checkpoint of a training run, or is damaged ({error}): take another file, or "
                "delete it to start again"
            ) from error
        raise InputError(
            f"the checkpoint {self.path} has version {version}, this reads {VERSION}: take another file, or delete "
            "it to start again"
        )

    def _check_settings(self, stored: Mapping[str, Any], present: Mapping[str, Any]) -> None:
        present = json.loads(json.dumps(present))
        for name in sorted({*stored, *present}):
            if stored.get(name) != present.get(name):
                raise InputError(
                    f"the checkpoint {self.path} is of a run with {name} {stored.get(name)!r}, not "
                    f"{present.get(name)!r}: take another file, or delete it to start again"
                )


@dataclass
class _Versioned:
    version: int


@dataclass
class _Description(_Versioned):
    """The metadata of the file."""

    settings: dict[str, Any]
    history: History
    best_score: float | None
    best_epoch: int | None
    seconds: float

    def __post_init__(self) -> None:
        epochs = len(self.history.train_loss)
        if any(len(values) not in (0, epochs) for values in asdict(self.history).values()):
            raise ValueError("the curves of its history have different lengths")
        if self.best_epoch is not None and not 0 <= self.best_epoch < epochs:
            raise ValueError(f"its best epoch is {self.best_epoch}, but it has {epochs}")
        if self.seconds < 0:
            raise ValueError(f"it took {self.seconds} seconds")


def _named(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _adam_state(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return the state of an optimiser with the same parameters, with its moments by number of parameter; checked."""
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        number, moment = name.split("/")
        expected = torch.Size() if moment == "step" else parameters[int(number)].shape
        if moment not in _ADAM or tensor.shape != expected:
            raise ValueError(f"{name} of the optimiser has shape {tuple(tensor.shape)}")
        moments.setdefault(int(number), {})[moment] = tensor
    if any(len(found) < len(_ADAM) for found in moments.values()):
        raise ValueError("moments of the optimiser are missing")
    return {**optimizer.state_dict(), "state": moments}
