"""A fitted estimator as plain data, weights and arrays, and back."""

import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load, save
from sklearn.utils.validation import check_is_fitted

from s2gnn.errors import InputError
from s2gnn.estimator.archive import packed, unpacked
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.features import DIGEST_SIZE, Scaling, SeenRows
from s2gnn.estimator.new_rows import freeze
from s2gnn.estimator.regressor import S2GNNRegressor
from s2gnn.estimator.training_graph import Attachment, GaussianAttachment, LearnedAttachment
from s2gnn.graphs import Graph
from s2gnn.learning import History
from s2gnn.nn import S2GNN, S2GNNConfig

Estimator = S2GNNClassifier | S2GNNRegressor
CLASSES: Mapping[str, type[Estimator]] = {"S2GNNClassifier": S2GNNClassifier, "S2GNNRegressor": S2GNNRegressor}
LONGEST_REASON = 200
_MATRICES = tuple(f"{name}_{part}" for name in ("features", "graph") for part in ("data", "indices", "indptr", "shape"))
ARRAYS = (
    "logits", "centre", "width", "digests", "groups", "features", "graph", *_MATRICES,
    "classes", "classes_were_objects", "target", "feature_names",
)  # fmt: skip
ATTACHMENTS: Mapping[str, type[Attachment]] = {"gaussian": GaussianAttachment, "learned": LearnedAttachment}


@dataclass(frozen=True)
class Content:
    """An estimator as it is stored.

    Attributes:
        description: JSON: class, parameters, sizes, how new rows are joined, histories.
        weights: of all networks, safetensors.
        training: arrays of the training rows, NPZ without pickles.
    """

    description: Mapping[str, Any]
    weights: bytes
    training: bytes


def content_of(estimator: Any) -> Content:
    """What is stored of a fitted estimator."""
    name = type(estimator).__name__
    if CLASSES.get(name) is not type(estimator):
        raise InputError(
            f"the estimator is a {name}, but {' and '.join(CLASSES)} can be saved: extract it from its pipeline"
        )
    check_is_fitted(estimator)
    attachment = estimator.attachment_
    parameters = {key: _plain(key, value) for key, value in estimator.get_params(deep=False).items()}
    if callable(estimator.graph):
        parameters["graph"] = "precomputed"
    description = {
        "class": name,
        "parameters": parameters,
        "network": asdict(estimator.networks_[0].config),
        "n_networks": len(estimator.networks_),
        "attachment": None if attachment is None else {"kind": _kind(attachment), **asdict(attachment)},
        "histories": [asdict(history) for history in estimator.history_],
        "kept_epochs": list(estimator.kept_epochs_),
        "n_labelled": estimator.n_labelled_,
    }
    state = {
        f"{number}.{key}": tensor.detach().cpu().contiguous()
        for number, network in enumerate(estimator.networks_)
        for key, tensor in network.state_dict().items()
    }
    arrays: dict[str, Any] = {
        "logits": estimator.logits_.astype(np.float32),  # as the networks computed them
        "centre": estimator.scaling_.centre,
        "width": estimator.scaling_.width,
        "digests": estimator.seen_rows_.digests,
        "groups": estimator.seen_rows_.groups,
        **_stored_matrix("features", estimator.features_),
        **_stored_matrix("graph", estimator.graph_.to_scipy()),
    }
    if isinstance(estimator, S2GNNClassifier):
        arrays |= _stored_labels(estimator.classes_)
    else:
        arrays["target"] = np.array([estimator.target_mean_, estimator.target_scale_])
    if hasattr(estimator, "feature_names_in_"):
        arrays["feature_names"] = estimator.feature_names_in_.astype(np.str_)
    return Content(description, save(state), packed(arrays))


def estimator_of(content: Content) -> Estimator:
    """The estimator that was stored; InputError if the parts are damaged or do not fit together."""
    try:
        return _rebuilt(content)
    except InputError:
        raise
    except (
        SafetensorError, KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError, OverflowError,
        MemoryError, OSError, EOFError, zipfile.BadZipFile,
    ) as error:  # fmt: skip
        reason = " ".join(str(error).split())[:LONGEST_REASON]
        raise InputError(f"its parts are damaged or do not fit together ({type(error).__name__}: {reason})") from error


def _rebuilt(content: Content) -> Estimator:
    description = content.description
    arrays = unpacked(content.training, ARRAYS)
    estimator = CLASSES[description["class"]]()
    estimator.set_params(**{name: _parameter(value) for name, value in description["parameters"].items()})
    graph = Graph(_matrix("graph", arrays))
    features = _matrix("features", arrays)
    config = S2GNNConfig(**description["network"])
    n, n_networks = graph.n_nodes, int(description["n_networks"])
    seen = SeenRows(arrays["digests"].astype(np.uint8), arrays["groups"].astype(np.int64))
    logits = arrays["logits"].astype(np.float64)
    _require(logits.shape == (n_networks, n, config.out_channels), f"logits of shape {logits.shape}")
    _require(features.shape == (n, config.in_channels), f"features of shape {features.shape}")
    _require(seen.groups.shape == (n,) and seen.digests.shape[1:] == (DIGEST_SIZE,), "a list of rows of another length")
    estimator.n_features_in_ = config.in_channels
    if "feature_names" in arrays:
        estimator.feature_names_in_ = arrays["feature_names"].astype(object)
    scaling = Scaling(*(arrays[name].astype(np.float64).reshape(config.in_channels) for name in ("centre", "width")))
    finite = all(np.isfinite(numbers).all() for numbers in (logits, scaling.centre, scaling.width))
    _require(finite and bool((scaling.width > 0).all()), "logits or scales that are not finite")
    estimator.graph_, estimator.features_, estimator.scaling_, estimator.seen_rows_ = graph, features, scaling, seen
    estimator.attachment_ = _attachment(description["attachment"])
    estimator.networks_ = _networks(content.weights, config, n_networks)
    estimator.history_ = tuple(History(**history) for history in description["histories"])
    estimator.kept_epochs_ = tuple(description["kept_epochs"])
    _require(len(estimator.history_) == len(estimator.kept_epochs_) == n_networks, "histories of other networks")
    estimator.n_labelled_ = int(description["n_labelled"])
    estimator.labelled_ = estimator.targets_ = estimator.evaluation_ = None  # older folders do not have them
    if isinstance(estimator, S2GNNClassifier):
        estimator.classes_ = _labels(arrays)
        _require(estimator.classes_.shape == (config.out_channels,), f"{len(estimator.classes_)} classes")
    else:
        estimator.target_mean_, estimator.target_scale_ = arrays["target"].astype(np.float64).tolist()
    estimator.frozen_networks_, _ = freeze(estimator.networks_, features, graph)
    estimator.logits_, estimator.answers_ = logits, estimator._answers(logits)
    return estimator


def _networks(weights: bytes, config: S2GNNConfig, n_networks: int) -> tuple[S2GNN, ...]:
    state = load(weights)
    # The weights limit the size of a network, not the description: building 10^9 layers would never end.
    _require(config.num_layers <= len(state), f"a network of {config.num_layers:,} layers")
    n_branches = len(state["0.convs.0.weight"])
    _require(config.alpha + 1 == n_branches, f"a network whose α is {config.alpha:,}")
    networks = []
    for number in range(n_networks):
        with torch.device("meta"):  # no memory is allocated before the shapes are checked
            network = S2GNN.from_config(config)
        prefix = f"{number}."
        own = {key.removeprefix(prefix): tensor for key, tensor in state.items() if key.startswith(prefix)}
        network.load_state_dict(own, assign=True)
        _require(all(tensor.isfinite().all() for tensor in own.values()), "weights that are not finite")
        networks.append(network.eval())
    return tuple(networks)


def _stored_matrix(name: str, matrix: Any) -> dict[str, Any]:
    """A dense array, or the arrays of a CSR matrix, under names that begin with `name`."""
    if not sp.issparse(matrix):
        return {name: matrix}
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"{name}_{part}": values for part, values in parts.items()}


def _matrix(name: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if name in arrays:
        return arrays[name].astype(np.float64)
    parts = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    matrix = sp.csr_array(tuple(parts), shape=tuple(arrays[f"{name}_shape"].tolist()))
    matrix.check_format(full_check=True)
    return matrix


def _stored_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Classes as an array without objects; Python objects must be text, booleans or numbers."""
    if classes.dtype.kind != "O":
        return {"classes": classes}
    plain = np.array(classes.tolist())
    if plain.dtype.kind not in "Ufiub" or any(
        type(a) is not type(b) for a, b in zip(plain.tolist(), classes, strict=True)
    ):
        raise InputError("the labels are neither text nor numbers, so they cannot be saved: convert them before fit")
    return {"classes": plain, "classes_were_objects": np.array(True)}


def _labels(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    classes = arrays["classes"]
    return classes.astype(object) if "classes_were_objects" in arrays else classes


def _plain(name: str, value: Any) -> Any:
    """A parameter as JSON; a random generator, whose initial state is lost, becomes `None`."""
    if name == "random_state" and not isinstance(value, int | np.integer):
        return None
    if isinstance(value, Mapping):
        return {"pairs": [[_plain("", key), _plain("", weight)] for key, weight in value.items()]}
    return value.item() if isinstance(value, np.generic) else value


def _parameter(stored: Any) -> Any:
    return dict(stored["pairs"]) if isinstance(stored, dict) else stored


def _kind(attachment: Attachment) -> str:
    return next(name for name, kind in ATTACHMENTS.items() if isinstance(attachment, kind))


def _attachment(stored: Mapping[str, Any] | None) -> Attachment | None:
    if stored is None:
        return None
    arguments = {name: value for name, value in stored.items() if name != "kind"}
    for name, value in arguments.items():
        whole = name in ("k", "candidates")
        fits = isinstance(value, int) and value >= 1 if whole else isinstance(value, int | float) and value >= 0
        _require(fits, f"an attachment whose {name} is {value!r}")
    make: Callable[..., Attachment] = ATTACHMENTS[stored["kind"]]
    return make(**arguments)


def _require(fits: bool, found: str) -> None:
    if not fits:
        raise InputError(f"its parts do not fit together, such as {found}")
