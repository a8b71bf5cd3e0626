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
    """Scores of held-out pairs, all in [0, 1].

    Attributes:
        roc_auc: the probability that a random edge scores higher than a random pair without one.
        average_precision: the area below the curve of precision over recall, as a sum of steps.
        hits: by K, see `hits_at`.
    """

    roc_auc: float
    average_precision: float
    hits: Mapping[int, float]


def link_scores(positive: Logits, negative: Logits, *, hits: Sequence[int] = HITS_AT) -> LinkScores:
    """The scores of a model by its logits.

    Args:
        positive: its logits of edges (P,), larger for likelier ones.
        negative: its logits of pairs without an edge (Q,).
        hits: the K of hits@K.
    """
    joined, apart = _checked(positive, negative)
    return LinkScores(
        roc_auc(joined, apart),
        float(average_precision_score(*_labelled(joined, apart))),
        {k: hits_at(k, joined, apart) for k in hits},
    )


def roc_auc(positive: Logits, negative: Logits) -> float:
    """The area under the ROC curve; equal logits count half."""
    labels, logits = _labelled(*_checked(positive, negative))
    return mean_roc_auc(labels[:, None], logits[:, None])


def hits_at(k: int, positive: Logits, negative: Logits) -> float:
    """hits@K as the Open Graph Benchmark takes it: the share of edges that score above the K-th best non-edge.

    An edge that scores just as high is no hit. With fewer than K pairs without an edge every edge is one.
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
