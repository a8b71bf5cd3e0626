"""Train a link predictor on the training edges of a split."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from s2gnn.errors import InputError
from s2gnn.learning.checkpoint import History
from s2gnn.learning.config import FitConfig
from s2gnn.learning.epochs import FitResult, Loss, require_finite, train_epochs
from s2gnn.links.metrics import roc_auc
from s2gnn.links.non_edges import NonEdges
from s2gnn.links.predictor import LinkPredictor, predict_links
from s2gnn.links.split import LinkSplit
from s2gnn.nn.inputs import NetworkInput
from s2gnn.operators import GraphOperator


def fit_links(
    model: LinkPredictor,
    x: NetworkInput,
    op: GraphOperator | None,
    split: LinkSplit,
    *,
    config: FitConfig | None = None,
    seed: int = 0,
    on_epoch: Callable[[int], None] | None = None,
) -> FitResult:
    """Train `model` from scratch on the training edges, and restore the weights of the best epoch.

    Every epoch is one step on all training edges and the same number of random negative pairs, which are not training
    edges. They may include validation and test edges, because excluding these would leak information. The loss is the
    mean binary cross-entropy, plus `model.auxiliary_loss()`. The same seed and number of threads give bitwise the same
    result, and every model with this seed is trained on the same pairs.

    Args:
        model: a module called as `model(x, op, pairs)`, see `LinkPredictor`.
        x: features, or the result of `model.prepare`.
        op: the operator of `split.graph`.
        split: training and validation edges.
        config: training configuration; `monitor` is "auc" (default) or "loss", on the validation pairs.
        seed: random seed of the initial parameters, of dropout and of the negative pairs.
        on_epoch: function called with the index of each finished epoch.

    Raises:
        NonFiniteLossError: if the loss is not finite; the model is then unusable.
    """
    config = config or FitConfig(monitor="auc", weight_decay=0.0)
    if config.monitor == "accuracy":
        raise InputError('monitor is \'accuracy\', but edges are ranked, not classified: monitor "auc" or "loss"')
    if config.batch_size is not None:
        raise InputError(f"batch_size is {config.batch_size}, but a step uses all training edges: omit it")
    non_edges, generator = NonEdges(split.graph), np.random.default_rng(seed)
    train, history = split.train, History()

    def steps() -> Iterator[tuple[Loss]]:
        pairs = np.concatenate([train, non_edges.draw(len(train), generator, distinct=False)])
        value = _cross_entropy(model(x, op, pairs), len(train))
        yield (Loss(value, len(pairs)),)

    def validate() -> float:
        logits = predict_links(model, x, op, split.val.together)
        n_edges = len(split.val.positive)
        loss = _cross_entropy(logits, n_edges).item()
        require_finite(loss, "validation", len(history.val_loss), config.lr)
        history.val_loss.append(loss)
        history.val_auc.append(roc_auc(logits[:n_edges], logits[n_edges:]))
        return -loss if config.monitor == "loss" else history.val_auc[-1]

    return train_epochs(model, config, seed, steps, validate, history, on_epoch=on_epoch)


def _cross_entropy(logits: Tensor, n_edges: int) -> Tensor:
    """Return the binary cross-entropy of the logits (P + Q,) of `n_edges` edges followed by non-edges."""
    labels = (torch.arange(len(logits), device=logits.device) < n_edges).to(logits.dtype)
    return F.binary_cross_entropy_with_logits(logits, labels)
