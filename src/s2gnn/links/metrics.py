"""How well the scores of pairs separate edges from non-edges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import average_precision_score
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.graphs.validation import as_array
from s2gnn.learning.metrics import mean_roc_auc
from s2gnn.nn.arguments import positive_integer

Logits = ArrayLike | Tensor

# Those of the Open Graph Benchmark: of ogbl-ddi, ogbl-collab and ogbl-ppa.
HITS_AT = (20, 50, 100)


@dataclass(frozen=True)
class LinkScores:
    """Link-prediction metrics on held-out pairs, all in [0, 1].

    Attributes:
        roc_auc: area under the ROC curve.
        average_precision: area under the precision-recall curve, as a sum of steps.
        hits: hits@K by K, see `hits_at`.
    """

    roc_auc: float
    average_precision: float
    hits: Mapping[int, float]


def link_scores(positive: Logits, negative: Logits, *, hits: Sequence[int] = HITS_AT) -> LinkScores:
    """Compute the metrics of a model from its logits.

    Args:
        positive: logits of edges (P,).
        negative: logits of non-edges (Q,).
        hits: values of K for hits@K.
    """
    joined, apart = _checked(positive, negative)
    return LinkScores(
        roc_auc(joined, apart),
        float(average_precision_score(*_labelled(joined, apart))),
        {k: hits_at(k, joined, apart) for k in hits},
    )


def roc_auc(positive: Logits, negative: Logits) -> float:
    """Return the area under the ROC curve; equal logits count half."""
    labels, logits = _labelled(*_checked(positive, negative))
    return mean_roc_auc(labels[:, None], logits[:, None])


def hits_at(k: int, positive: Logits, negative: Logits) -> float:
    """Return hits@K as in the Open Graph Benchmark: the share of edges that score above the K-th best non-edge.

    Ties are not hits. With fewer than K non-edges every edge is a hit.
    """
    k = positive_integer(k, "k")
    joined, apart = _checked(positive, negative)
    if len(apart) < k:
        return 1.0
    bar = np.partition(apart, len(apart) - k)[len(apart) - k]
    return float(np.mean(joined > bar))


def _labelled(joined: NDArray[np.float64], apart: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    labels = np.repeat([1, 0], [len(joined), len(apart)])
    return labels, np.concatenate([joined, apart])


def _checked(positive: Logits, negative: Logits) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    found = []
    for name, given in (("positive", positive), ("negative", negative)):
        values = as_array(given).astype(np.float64)
        if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
            raise InputError(f"`{name}` has shape {values.shape}, expected at least one finite logit (n,)")
        found.append(values)
    return found[0], found[1]
