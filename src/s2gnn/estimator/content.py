"""A fitted estimator as JSON, weights and arrays, and back; nothing that is read is executed or unpickled."""

import io
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from sklearn.utils.validation import check_is_fitted

from s2gnn.errors import InputError
from s2gnn.estimator.blended_content import blended_arrays, described_blends, restored_blended
from s2gnn.estimator.card import Estimator, ModelCard
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.description import CLASSES, STORED_GRAPH, Description, Origin, Versioned, stored_parameters
from s2gnn.estimator.evaluation import Evaluation, HiddenPredictions
from s2gnn.estimator.features import DIGEST_SIZE, SeenRows
from s2gnn.estimator.members import Members
from s2gnn.estimator.outputs import ClassOutputs, Outputs, ValueOutputs
from s2gnn.estimator.training import Ensemble
from s2gnn.estimator.training_graph import Attachment, GaussianAttachment, LearnedAttachment
from s2gnn.graphs import Graph
from s2gnn.nn import S2GNN, S2GNNConfig
from s2gnn.reading import as_type, checked_csr, parse_json, parse_safetensors, read_arrays
from s2gnn.tables import Identifiers, TableEncoder
from s2gnn.tables.scaling import Scaling

ATTACHMENTS: Mapping[str, type[Attachment]] = {"gaussian": GaussianAttachment, "learned": LearnedAttachment}
_MATRICES = tuple(f"{name}_{part}" for name in ("features", "graph") for part in ("data", "indices", "indptr", "shape"))
ARRAYS = (
    "logits", "centre", "width", "digests", "groups", "features", "graph", *_MATRICES,
    "classes", "classes_were_objects", "target", "feature_names", "medians",
)  # fmt: skip
BLENDED = "blended."  # prefix of the arrays of base predictor, smoothing and blend
EVIDENCE_ARRAYS = (
    "description", "labelled", "targets", "hidden", "folds", "answers", "identifiers",
    "members", "member_rows", "member_folds", "label_weights", "label_groups", "missing",
)  # fmt: skip
EVIDENCE_VERSION = 1
LARGEST = 1e150  # limit of numbers in a folder, and 1 / LARGEST of widths: products of two stay finite
DAMAGE = (KeyError, TypeError, ValueError, IndexError, RuntimeError, OverflowError, MemoryError)
"""What arrays and weights that do not fit together may raise; an `InputError` is a `ValueError`."""


@dataclass(frozen=True)
class Content:
    """An estimator as it is stored."""

    description: Mapping[str, Any]  # JSON: class, parameters, sizes, how new rows are joined, histories
    weights: bytes  # of all networks, safetensors
    training: bytes  # arrays of the training rows, NPZ
    evidence: bytes | None  # labels, evaluation and origin for the report, NPZ; folders of early releases have none


def content_of(estimator: Any, card: ModelCard) -> Content:
    """Convert a fitted estimator to its stored form."""
    name = type(estimator).__name__
    if CLASSES.get(name) is not type(estimator):
        raise InputError(
            f"the estimator is a {name}, but {' and '.join(CLASSES)} can be saved: extract it from its pipeline"
        )
    check_is_fitted(estimator)
    attachment = estimator.attachment_
    parameters = {key: _plain(key, value) for key, value in estimator.get_params(deep=False).items()}
    if not isinstance(estimator.graph, str):
        parameters["graph"] = STORED_GRAPH
    kinds = {kind: name for name, kind in ATTACHMENTS.items()}
    description = {
        "class": name,
        "parameters": parameters,
        "n_columns": estimator.n_features_in_,
        "encoder": None if estimator.encoder_ is None else estimator.encoder_.state(),
        "network": asdict(estimator.networks_[0].config),
        "n_networks": len(estimator.networks_),
        "attachment": None if attachment is None else {"kind": kinds[type(attachment)], **asdict(attachment)},
        "histories": [asdict(history) for history in estimator.history_],
        "kept_epochs": list(estimator.kept_epochs_),
        "n_labelled": estimator.n_labelled_,
        "graph_gain": None if estimator.graph_gain_ is None else asdict(estimator.graph_gain_),
    }
    stored_parameters(CLASSES[name], parameters)  # what could not be loaded is not saved
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
        arrays |= _stored_classes(estimator.classes_)
    else:
        arrays["target"] = np.array([estimator.target_mean_, estimator.target_scale_])
    if estimator.base_ is not None:
        description["blends"] = described_blends(estimator)
        arrays |= {f"{BLENDED}{name}": array for name, array in blended_arrays(estimator).items()}
    if estimator.medians_ is not None:
        arrays["medians"] = estimator.medians_
    if hasattr(estimator, "feature_names_in_"):
        arrays["feature_names"] = estimator.feature_names_in_.astype(np.str_)
    return Content(description, save(state), _packed(arrays), _stored_evidence(estimator, card))


def estimator_of(content: Content) -> tuple[Estimator, ModelCard | None]:
    """Return the estimator that was stored, and what its evidence keeps of the card; one of `DAMAGE` if that fails."""
    description = as_type(content.description, Description)
    arrays = _unpacked(content.training, ARRAYS, BLENDED)
    for name, array in arrays.items():
        wide = array.dtype.kind == "f" and array.itemsize > 4  # others do not reach it
        excessive = wide and bool((np.isfinite(array) & (np.abs(array) > LARGEST)).any())
        _require(not excessive, f"{name} with a number beyond {LARGEST:g}")
    kind = CLASSES[description.kind]
    estimator, parameters = kind(), stored_parameters(kind, description.parameters)
    graph = Graph(_matrix("graph", arrays))
    if parameters.get("graph") == STORED_GRAPH:
        parameters["graph"] = graph
    estimator.set_params(**{"network": "s2gnn"} | parameters)  # releases before version 3 had the networks alone
    features = _matrix("features", arrays)
    config, n, n_networks = description.network, graph.n_nodes, description.n_networks
    seen = SeenRows(arrays["digests"].astype(np.uint8), arrays["groups"].astype(np.int64))
    logits = arrays["logits"].astype(np.float64)
    _require(logits.shape == (n_networks, n, config.out_channels), f"logits of shape {logits.shape}")
    _require(features.shape[0] == n, f"features of shape {features.shape}")
    columns = features.shape[1]
    _require(seen.groups.shape == (n,) and seen.digests.shape[1:] == (DIGEST_SIZE,), "a list of rows of another length")
    distinct = np.unique(seen.digests, axis=0)
    numbered = np.array_equal(np.unique(seen.groups), np.arange(len(distinct)))
    _require(numbered and len(distinct) == len(seen.digests), "equal rows with wrong numbers")
    _restore_columns(estimator, description, arrays, columns)
    scaling = Scaling(*(arrays[name].astype(np.float64).reshape(columns) for name in ("centre", "width")))
    finite = all(np.isfinite(numbers).all() for numbers in (logits, scaling.centre, scaling.width))
    _require(finite and bool((scaling.width >= 1 / LARGEST).all()), "logits or scales that are not finite")
    estimator.features_, estimator.scaling_, estimator.seen_rows_ = features, scaling, seen
    histories, kept_epochs = tuple(description.histories), tuple(description.kept_epochs)
    _require(len(histories) == len(kept_epochs) == n_networks, "histories of other networks")
    networks = _networks(content.weights, config, n_networks)
    trained = Ensemble(networks, logits, histories, kept_epochs)
    estimator.n_labelled_ = description.n_labelled
    outputs, n_classes = _outputs(estimator, arrays, config)
    estimator.labelled_ = estimator.targets_ = estimator.evaluation_ = None
    estimator.label_weights_ = estimator.groups_ = None
    estimator.blend_ = estimator.normal_scores_ = estimator.hidden_ = None
    joined = (graph, _attachment(description.attachment))
    if estimator.network == "blended":
        own = {name.removeprefix(BLENDED): array for name, array in arrays.items() if name.startswith(BLENDED)}
        if description.blends is None:
            raise InputError("it has no blends")
        base, signal, predictions, estimator.blend_ = restored_blended(
            features.shape, n_classes, description.blends, own
        )
        estimator.normal_scores_ = base.normal_scores
        inputs = base.network_input(features, base.inputs)
    else:
        base, signal, predictions, inputs = None, None, outputs.from_networks(logits)[None], features
    _require(inputs.shape == (n, config.in_channels), f"inputs of shape {inputs.shape}")
    epsilon = estimator.smoothing_epsilon
    weighted = estimator._graph_depends_on_labels
    estimator.members_ = Members(
        outputs, base, features, *joined, inputs, trained, weighted, epsilon, signal, predictions
    )
    _require(len(estimator.members_.frozen) == n_networks, "networks of another graph")
    estimator.answers_ = estimator._answers(predictions)
    estimator.graph_gain_ = description.graph_gain
    return estimator, None if content.evidence is None else _restore_evidence(estimator, content.evidence)


def _restore_columns(
    estimator: Estimator, description: Description, arrays: Mapping[str, NDArray[Any]], n_features: int
) -> None:
    """Give the estimator what it needs to encode X as features."""
    encoder = None if description.encoder is None else TableEncoder.from_state(description.encoder)
    _require(encoder is None or encoder.n_features == n_features, "an encoder of other features")
    medians = arrays["medians"].astype(np.float64).reshape(n_features) if "medians" in arrays else None
    _require(medians is None or bool(np.isfinite(medians).all()), "medians that are not finite")
    estimator.encoder_, estimator.medians_ = encoder, medians
    estimator.missing_ = np.array([], dtype=np.int64)
    estimator.n_features_in_ = n_features if description.n_columns is None else description.n_columns
    _require(encoder is not None or estimator.n_features_in_ == n_features, f"{estimator.n_features_in_} columns")
    if "feature_names" in arrays:
        estimator.feature_names_in_ = arrays["feature_names"].astype(object)
        _require(estimator.feature_names_in_.shape == (estimator.n_features_in_,), "names of other columns")


def _outputs(
    estimator: Estimator, arrays: Mapping[str, NDArray[Any]], config: S2GNNConfig
) -> tuple[Outputs, int | None]:
    """Restore the kind of predictions and set the number of classes."""
    if not isinstance(estimator, S2GNNClassifier):
        mean, scale = arrays["target"].astype(np.float64).tolist()
        return ValueOutputs(mean, scale, config.out_channels), None
    classes = arrays["classes"]
    estimator.classes_ = classes.astype(object) if "classes_were_objects" in arrays else classes
    _require(classes.shape == (config.out_channels,), f"{len(classes)} classes")
    return ClassOutputs(len(classes), np.arange(len(classes))), len(classes)


def _networks(weights: bytes, config: S2GNNConfig, n_networks: int) -> tuple[S2GNN, ...]:
    state, _ = parse_safetensors(weights)
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


def _stored_evidence(estimator: Estimator, card: ModelCard) -> bytes | None:
    """Return labels, evaluation and origin; `None` if the estimator was loaded from a folder without labels."""
    if estimator.labelled_ is None:
        return None
    origin = {
        "version": EVIDENCE_VERSION,
        "source": card.source,
        "missing": dict(card.missing),
        "left_out": dict(card.left_out),
        "command": card.command or "",
        "commit": card.commit,
        "versions": dict(card.versions),
    }
    arrays = {"description": np.array(json.dumps(origin)), "labelled": estimator.labelled_}
    arrays["targets"] = np.asarray(estimator.targets_)
    if estimator.label_weights_ is not None:
        arrays["label_weights"] = estimator.label_weights_
    if len(estimator.missing_):
        arrays["missing"] = estimator.missing_
    if estimator.groups_ is not None:
        arrays["label_groups"] = estimator.groups_
    hidden = estimator.evaluation_
    if hidden is not None:
        arrays |= {"hidden": hidden.rows, "folds": hidden.folds, "answers": hidden.answers}
    predicted = estimator.hidden_
    if predicted is not None:
        arrays |= {"members": predicted.members, "member_rows": predicted.rows, "member_folds": predicted.folds}
    if card.identifiers is not None:
        arrays["identifiers"] = np.frombuffer(json.dumps(asdict(card.identifiers)).encode(), dtype=np.uint8)
    return _packed(arrays)


def _restore_evidence(estimator: Estimator, content: bytes) -> ModelCard:
    """Give the estimator its labels and evaluation; the result has the origin of the model."""
    arrays = _unpacked(content, EVIDENCE_ARRAYS)
    text = str(arrays["description"])
    version = parse_json(text, Versioned).version
    if version != EVIDENCE_VERSION:
        raise InputError(f"its evidence has version {version}, but this release reads version {EVIDENCE_VERSION}")
    origin = parse_json(text, Origin)
    n, classes = estimator.graph_.n_nodes, getattr(estimator, "classes_", None)
    labelled = _rows(arrays["labelled"], n)
    targets = arrays["targets"].astype(np.float64 if classes is None else np.int64)
    known = np.isfinite(targets) if classes is None else np.isin(targets, range(len(classes)))
    fits = targets.shape == labelled.shape and len(labelled) == estimator.n_labelled_ and bool(known.all())
    _require(fits, "labels of another model")
    estimator.labelled_, estimator.targets_ = labelled, targets
    if "label_weights" in arrays:
        weights = arrays["label_weights"].astype(np.float64).reshape(len(labelled))
        _require(bool((np.isfinite(weights) & (weights > 0)).all()), "weights of labels that are not positive")
        estimator.label_weights_ = weights
    if "label_groups" in arrays:
        estimator.groups_ = arrays["label_groups"].astype(np.int64).reshape(len(labelled))
    if "missing" in arrays:
        estimator.missing_ = _rows(arrays["missing"], n * estimator.features_.shape[1])
    if "hidden" in arrays:
        rows, folds = _rows(arrays["hidden"], n), arrays["folds"].astype(np.int64)
        answers = arrays["answers"].astype(np.float64)
        shapes = folds.shape == rows.shape and answers.shape == (len(rows), estimator.answers_.shape[1])
        fits = shapes and bool(np.isin(rows, labelled).all() and np.isfinite(answers).all())
        _require(fits, "an evaluation of another model")
        hidden = targets[np.searchsorted(labelled, rows)]
        estimator.evaluation_ = Evaluation(rows, folds, answers, hidden, estimator._number_of_groups(rows))
    if "members" in arrays:
        rows, folds = _rows(arrays["member_rows"], n), arrays["member_folds"].astype(np.int64)
        members = arrays["members"].astype(np.float64)
        shapes = folds.shape == rows.shape and members.shape[1:] == (len(rows), estimator.answers_.shape[1])
        fits = shapes and bool(np.isin(rows, labelled).all() and np.isfinite(members).all())
        _require(fits and len(members) == len(estimator.predictions_), "hidden labels of another model")
        estimator.hidden_ = HiddenPredictions(rows, folds, members, targets[np.searchsorted(labelled, rows)])
    return ModelCard(
        source=origin.source,
        missing=origin.missing,
        left_out=origin.left_out,
        command=origin.command or None,
        commit=origin.commit,
        versions=origin.versions,
        identifiers=_identifiers(arrays["identifiers"], n) if "identifiers" in arrays else None,
    )


def _identifiers(stored: NDArray[Any], n: int) -> Identifiers:
    _require(stored.ndim == 1 and stored.dtype == np.uint8, "identifiers that are not text")
    found = parse_json(stored.tobytes(), Identifiers)
    _require(len(found.values) == n, f"{len(found.values):,} identifiers for {n:,} rows")
    return found


def _rows(stored: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Return distinct rows of 0..n−1 in ascending order."""
    _require(stored.ndim == 1 and stored.dtype.kind in "iu" and len(stored) > 0, "a list that is not of rows")
    rows = stored.astype(np.int64)
    _require(bool((np.diff(rows) > 0).all()) and rows[0] >= 0 and rows[-1] < n, f"rows outside 0..{n - 1}")
    return rows


def _packed(arrays: Mapping[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _unpacked(content: bytes, names: Collection[str], prefix: str | None = None) -> dict[str, NDArray[Any]]:
    """Return the named arrays of an NPZ archive that is not compressed, and those whose names begin with `prefix`."""
    return read_arrays(
        io.BytesIO(content), lambda name: name in names or (prefix is not None and name.startswith(prefix)), expansion=1
    )


def _stored_matrix(name: str, matrix: Any) -> dict[str, Any]:
    """Return a dense array, or the arrays of a CSR matrix, under names that begin with `name`."""
    if not sp.issparse(matrix):
        return {name: matrix}
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"{name}_{part}": values for part, values in parts.items()}


def _matrix(name: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if name in arrays:
        return arrays[name].astype(np.float64)
    data, indices, indptr = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return checked_csr(data, indices, indptr, tuple(arrays[f"{name}_shape"].tolist()))


def _stored_classes(classes: NDArray[Any]) -> dict[str, Any]:
    """Return classes as an array without objects; Python objects must be text, booleans or numbers."""
    if classes.dtype.kind != "O":
        return {"classes": classes}
    plain = np.array(classes.tolist())
    if plain.dtype.kind not in "Ufiub" or any(
        type(a) is not type(b) for a, b in zip(plain.tolist(), classes, strict=True)
    ):
        raise InputError("the labels are neither text nor numbers, so they cannot be saved: convert them before fit")
    return {"classes": plain, "classes_were_objects": np.array(True)}


def _plain(name: str, value: Any) -> Any:
    """Return a parameter as JSON; a random generator, whose initial state is lost, becomes `None`."""
    if name == "random_state" and not isinstance(value, int | np.integer):
        return None
    if isinstance(value, Mapping):
        return {"pairs": [[_plain("", key), _plain("", weight)] for key, weight in value.items()]}
    return value.item() if isinstance(value, np.generic) else value


def _attachment(stored: Mapping[str, Any] | None) -> Attachment | None:
    if stored is None:
        return None
    _require(stored.get("kind") in tuple(ATTACHMENTS), f"an attachment of the kind {stored.get('kind')!r}")
    attachment = as_type(stored, ATTACHMENTS[stored["kind"]])
    for name, value in vars(attachment).items():
        _require(LARGEST >= value >= (name in ("k", "candidates")), f"an attachment whose {name} is {value!r}")
    return attachment


def _require(fits: bool, found: str) -> None:
    if not fits:
        raise InputError(f"it has {found}")
