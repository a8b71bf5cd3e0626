"""Training targets: labels or values, and the training and validation nodes."""

import hashlib
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn import functional as F

from s2gnn.errors import InputError
from s2gnn.graphs.validation import as_array, as_indices, check_choice
from s2gnn.learning.metrics import mean_roc_auc

LossName = Literal["cross-entropy", "squared-error"]


@dataclass(frozen=True)
class Targets:
    """Labels or values, and training and validation nodes, on the device of the model.

    Attributes:
        labels: one class per node, int64 (N,); or several labels of 0 and 1, or values, floating point (N, L).
        train: indices of the training nodes, int64.
        val: indices of the validation nodes, int64.
        loss_name: "cross-entropy", or "squared-error" for values.
        class_weight: weight of each class in the loss, (C,); `None` for 1.
        sample_weight: weight of each node in the loss, (N,), multiplied by the weight of its class; `None` for 1.
    """

    labels: Tensor
    train: Tensor
    val: Tensor
    loss_name: LossName = "cross-entropy"
    class_weight: Tensor | None = None
    sample_weight: Tensor | None = None

    def part(self, nodes: Tensor, counted: Tensor) -> "Targets":
        """Return the targets of some `nodes` (n,), whose training nodes are at the positions `counted`."""
        weight = None if self.sample_weight is None else self.sample_weight[nodes]
        return replace(self, labels=self.labels[nodes], train=counted, val=counted[:0], sample_weight=weight)

    @property
    def values(self) -> bool:
        """Whether the targets are values instead of labels."""
        return self.loss_name == "squared-error"

    @property
    def several_labels(self) -> bool:
        """Whether a node may have several labels."""
        return self.labels.ndim == 2 and not self.values

    def loss(self, logits: Tensor, nodes: Tensor) -> Tensor:
        """Return the mean loss of `logits` (N, C) over `nodes`.

        It is the weighted cross-entropy, the binary cross-entropy of several labels, or the squared error of values.
        """
        outputs, labels = logits[nodes], self.labels[nodes]
        reduction = "mean" if self.sample_weight is None else "none"
        if self.values:
            losses = F.mse_loss(outputs, labels.to(logits.dtype), reduction=reduction)
        elif self.several_labels:
            losses = F.binary_cross_entropy_with_logits(outputs, labels.to(logits.dtype), reduction=reduction)
        else:
            weight = None if self.class_weight is None else self.class_weight.to(logits.dtype)
            losses = F.cross_entropy(outputs, labels, weight, reduction=reduction)
        if self.sample_weight is None:
            return losses
        weights = self.sample_weight[nodes].to(logits.dtype)
        return weights @ losses.reshape(len(nodes), -1).mean(dim=1) / self.weight(nodes)

    def weight(self, nodes: Tensor) -> float:
        """Return the total weight of `nodes` in the loss: sample weight × class weight, by default their number."""
        if len(nodes) == 0 or (self.class_weight is None and self.sample_weight is None):
            return float(len(nodes))
        own = torch.ones(len(nodes), dtype=torch.float64, device=nodes.device)
        own = own if self.sample_weight is None else self.sample_weight[nodes]
        if self.class_weight is None:
            return float(own.sum())
        labels = self.labels[nodes]
        known = labels < len(self.class_weight)  # `check_width` refuses the others when the number of classes is known
        return float((own[known] * self.class_weight[labels[known]]).sum()) if known.any() else float(len(nodes))

    def accuracy(self, logits: Tensor, nodes: Tensor) -> float:
        """Return the accuracy of `logits` on `nodes`."""
        return float((logits[nodes].argmax(dim=1) == self.labels[nodes]).double().mean())

    def auc(self, logits: Tensor, nodes: Tensor) -> float:
        """Return the mean ROC-AUC over labels, on `nodes`."""
        return mean_roc_auc(self.labels[nodes].cpu().numpy(), logits[nodes].cpu().numpy())

    def digest(self) -> str:
        """Return a digest of the labels, the nodes, the loss and the weights."""
        digest = hashlib.sha256(self.loss_name.encode())
        weights = (self.class_weight,) if self.sample_weight is None else (self.class_weight, self.sample_weight)
        for tensor in (self.labels, self.train, self.val, *weights):
            digest.update(b"none" if tensor is None else tensor.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()[:16]

    def check_width(self, logits: Tensor) -> None:
        """Raise an error unless `logits` (N, C) have a column for every label."""
        width = logits.shape[1]
        if self.several_labels or self.values:
            if width != self.labels.shape[1]:
                what = "values" if self.values else "labels"
                raise InputError(
                    f"y has {self.labels.shape[1]} {what} for each node, but the model has {width} outputs"
                )
            return
        if self.class_weight is not None and len(self.class_weight) != width:
            raise InputError(f"class_weight has {len(self.class_weight)} weights, but the model has {width} classes")
        largest = int(self.labels[torch.cat([self.train, self.val])].max())
        if largest >= width:
            raise InputError(f"a node has label {largest}, but the model has {width} classes: labels are 0..C-1")


def checked_targets(
    n: int,
    y: ArrayLike | Tensor,
    train: ArrayLike | Tensor,
    val: ArrayLike | Tensor | None,
    device: torch.device,
    loss: LossName = "cross-entropy",
    class_weight: ArrayLike | Tensor | None = None,
    sample_weight: ArrayLike | Tensor | None = None,
) -> Targets:
    """Validate labels and nodes for a graph with `n` nodes; see `fit`."""
    check_choice("loss", loss, get_args(LossName))
    labels = _values(as_array(y), n) if loss == "squared-error" else _labels(as_array(y), n)
    train_nodes = _node_indices(train, n, "train")
    val_nodes = _node_indices([] if val is None else val, n, "val")
    if len(train_nodes) == 0:
        raise InputError("there are no training nodes: `train` is empty")
    both = set(train_nodes.tolist()) & set(val_nodes.tolist())
    if both:
        raise InputError(f"node {min(both)} is both a training and a validation node")
    used = torch.cat([train_nodes, val_nodes])
    if labels.ndim == 1 and int(labels[used].min()) < 0:
        node = int(used[labels[used] < 0][0])
        raise InputError(
            f"node {node} has label {int(labels[node])}, but training and validation nodes need a label >= 0"
        )
    if loss == "squared-error" and not bool(labels[used].isfinite().all()):
        node = int(used[~labels[used].isfinite().all(dim=1)][0])
        raise InputError(f"node {node} has a value that is not finite, but training and validation nodes need a value")
    if loss == "cross-entropy" and labels.ndim == 2 and not bool(((labels[used] == 0) | (labels[used] == 1)).all()):
        raise InputError("y has several labels for each node, but training and validation nodes need labels of 0 and 1")
    weight = None if class_weight is None else _class_weight(as_array(class_weight), labels, loss).to(device)
    own = None if sample_weight is None else _sample_weight(as_array(sample_weight), n, used).to(device)
    return Targets(labels.to(device), train_nodes.to(device), val_nodes.to(device), loss, weight, own)


def _labels(given: NDArray[np.generic], n: int) -> Tensor:
    if given.dtype.kind in "iu" and given.shape == (n,):
        return torch.from_numpy(given.astype(np.int64))
    if given.dtype.kind in "iub" and given.ndim == 2 and len(given) == n and given.shape[1] > 0:
        return torch.from_numpy(given.astype(np.float32))
    raise InputError(
        f"y has shape {given.shape} and dtype {given.dtype}, expected {n} integer labels: number the classes with "
        f"np.unique(y, return_inverse=True)[1]; or ({n}, L) integers of 0 and 1 for several labels"
    )


def _values(given: NDArray[np.generic], n: int) -> Tensor:
    if given.dtype.kind not in "fiu" or given.ndim not in (1, 2) or len(given) != n or given.size == 0:
        raise InputError(
            f"y has shape {given.shape} and dtype {given.dtype}, expected numbers of shape ({n},) or ({n}, L)"
        )
    return torch.from_numpy(given.astype(np.float64).reshape(n, -1))


def _class_weight(given: NDArray[np.generic], labels: Tensor, loss: LossName) -> Tensor:
    if loss != "cross-entropy" or labels.ndim == 2:
        raise InputError("class_weight is given, but y does not have one class for each node: omit it")
    weights = given.astype(np.float64) if given.dtype.kind in "fiu" else np.empty(0)
    if weights.ndim != 1 or weights.size == 0 or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InputError(f"class_weight is {given!r}, but it must be one finite number >= 0 for each class")
    return torch.from_numpy(weights)


def _sample_weight(given: NDArray[np.generic], n: int, used: Tensor) -> Tensor:
    weights = given.astype(np.float64) if given.dtype.kind in "fiu" else np.empty(0)
    own = weights[used.numpy()] if weights.shape == (n,) else np.empty(0)
    if len(own) == 0 or not (np.isfinite(own).all() and (own > 0).all()):
        raise InputError(
            f"sample_weight has shape {given.shape} and dtype {given.dtype}, expected {n} numbers, positive and finite "
            "at training and validation nodes: exclude nodes without weight from both"
        )
    return torch.from_numpy(weights)


def _node_indices(nodes: ArrayLike | Tensor, n: int, name: str) -> Tensor:
    given = as_array(nodes)
    if given.dtype == np.bool_:
        if given.shape != (n,):
            raise InputError(f"the mask `{name}` has shape {given.shape}, expected ({n},)")
        given = np.flatnonzero(given)
    indices, _ = as_indices(given, n, name)
    if indices.ndim != 1:
        raise InputError(f"`{name}` has shape {indices.shape}, expected a mask or a list of node indices")
    unique, counts = np.unique(indices, return_counts=True)
    if len(unique) < len(indices):
        raise InputError(
            f"`{name}` names node {unique[counts > 1][0]} more than once; if it is a mask of 0 and 1, "
            "make it a mask of booleans"
        )
    return torch.from_numpy(indices)
