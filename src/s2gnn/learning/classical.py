"""Classical baselines: label spreading on the graph, and a support vector machine on the features."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.graphs.features import checked_features
from s2gnn.graphs.validation import as_array
from s2gnn.operators.shifts import shift_matrix


class ClassicalBaseline(Protocol):
    """A baseline that is not a neural network."""

    def fit_predict(self, x: Any, graph: Graph, y: ArrayLike, train: ArrayLike, seed: int) -> NDArray[np.float64]:
        """Fit on the labels of `train`, and return the scores (N, C) of every node for every class.

        Args:
            x: features (N, M), an array or a SciPy sparse matrix.
            graph: a graph on N nodes.
            y: integer labels (N,) in 0..C-1; labels outside `train` only determine C.
            train: indices of the labelled nodes.
            seed: random seed.
        """
        ...


@dataclass(frozen=True)
class LabelSpreading:
    r"""Label spreading on the given graph (Zhou et al., 2004): the limit of F ← α A_N F + (1 − α) Y.

    Y (N, C) has a one at the class of every labelled node, and :math:`A_N = D^{-1/2} A D^{-1/2}`. The result is that of
    scikit-learn's `LabelSpreading` with A as the kernel matrix and the same stopping rule: the sum of absolute changes
    of F is below `tol`. Features and seed have no effect. A node that no label reaches scores zero for all classes.

    Attributes:
        alpha: weight of the neighbours, in (0, 1); the rest is the weight of the labels.
        max_iter: maximum number of iterations.
        tol: stopping threshold.
    """

    alpha: float = 0.2
    max_iter: int = 30
    tol: float = 1e-3

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha is {self.alpha}, but it must lie in (0, 1)")
        if self.max_iter < 1:
            raise InputError(f"max_iter is {self.max_iter}, but it must be at least 1")

    def fit_predict(self, x: Any, graph: Graph, y: ArrayLike, train: ArrayLike, seed: int) -> NDArray[np.float64]:
        """See `ClassicalBaseline`; the scores of a node sum to one."""
        del x, seed
        labels, nodes, n_classes = _checked(graph, y, train)
        Y = np.zeros((graph.n_nodes, n_classes))
        Y[nodes, labels[nodes]] = 1.0
        spread = self.spread(graph, Y)
        totals = spread.sum(axis=1, keepdims=True)
        scores: NDArray[np.float64] = np.divide(spread, totals, out=np.zeros_like(spread), where=totals > 0)
        return scores

    def spread(self, graph: Graph, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the limit F (N, C) for the labels Y (N, C)."""
        shift = shift_matrix(graph, 0.0, "normalized_adjacency")
        A_N = sp.csr_array((shift.magnitudes, graph.indices, graph.indptr), shape=(graph.n_nodes,) * 2)
        spread = Y
        for _ in range(self.max_iter):
            previous = spread
            spread = self.alpha * (A_N @ previous) + (1 - self.alpha) * Y
            if np.abs(spread - previous).sum() < self.tol:
                break
        return spread


@dataclass(frozen=True)
class SVM:
    """A support vector machine on the features: Gaussian kernel on standardised columns, or linear on sparse ones.

    Sparse columns are not standardised, which would make them dense. The graph has no effect. The seed only has an
    effect on sparse features, where it determines the order of the solver's steps.

    Attributes:
        C: inverse strength of the regularisation.
    """

    C: float = 1.0

    def __post_init__(self) -> None:
        if not self.C > 0:
            raise InputError(f"C is {self.C}, but it must be positive")

    def fit_predict(self, x: Any, graph: Graph, y: ArrayLike, train: ArrayLike, seed: int) -> NDArray[np.float64]:
        """See `ClassicalBaseline`; the scores are margins, the lowest for a class without a label."""
        labels, nodes, n_classes = _checked(graph, y, train)
        features = checked_features(x)
        if features.shape[0] != graph.n_nodes:
            raise InputError(f"x has {features.shape[0]} rows, but the graph has {graph.n_nodes} nodes")
        seen = np.unique(labels[nodes])
        if len(seen) < 2:
            raise InputError(f"the training nodes are all of class {seen[0]}, but an SVM separates at least two")
        if sp.issparse(features):
            machine, known = LinearSVC(C=self.C, random_state=seed), features[nodes]
            # LIBLINEAR has no 64-bit indices, which SciPy may choose for selected rows.
            known.indices, known.indptr = known.indices.astype(np.int32), known.indptr.astype(np.int32)
        else:
            features = StandardScaler().fit_transform(features)
            machine, known = SVC(C=self.C), features[nodes]
        margins = machine.fit(known, labels[nodes]).decision_function(features)
        if len(seen) == 2:
            margins = np.stack([-margins, margins], axis=1)
        scores = np.full((graph.n_nodes, n_classes), margins.min() - 1)
        scores[:, seen] = margins
        return scores


CLASSICAL: Mapping[str, type[LabelSpreading] | type[SVM]] = MappingProxyType(
    {"label-spreading": LabelSpreading, "svm": SVM}
)


def classical_defaults(name: str) -> dict[str, Any]:
    """Return the parameters of the baseline `name` with their defaults."""
    return dataclasses.asdict(CLASSICAL[name]())


def make_classical(name: str, **given: Any) -> ClassicalBaseline:
    """Create the baseline `name` with the `given` parameters."""
    allowed = classical_defaults(name)
    for key, value in given.items():
        if key not in allowed:
            raise InputError(f"{name} has no hyperparameter {key!r}: allowed are {', '.join(allowed)}")
        if not isinstance(value, int | float):
            raise InputError(f"{key} is {value!r}, but it must be a number")
    return CLASSICAL[name](**given)


def _checked(graph: Graph, y: ArrayLike, train: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return labels (N,), labelled nodes and the number of classes."""
    labels, nodes = as_array(y), as_array(train)
    if labels.dtype.kind not in "iu" or labels.shape != (graph.n_nodes,):
        raise InputError(
            f"y has shape {labels.shape} and dtype {labels.dtype}, expected {graph.n_nodes} integer labels: "
            "a classical baseline predicts one class per node"
        )
    if nodes.dtype == np.bool_:
        nodes = np.flatnonzero(nodes)
    if nodes.ndim != 1 or nodes.size == 0 or nodes.dtype.kind not in "iu":
        raise InputError(f"train has shape {nodes.shape} and dtype {nodes.dtype}, expected indices of labelled nodes")
    if nodes.min() < 0 or nodes.max() >= graph.n_nodes:
        raise InputError(f"train names nodes {nodes.min()}..{nodes.max()}, but nodes are 0..{graph.n_nodes - 1}")
    if labels[nodes].min() < 0:
        raise InputError(f"a training node has the label {labels[nodes].min()}, but labels are 0..C-1")
    return labels.astype(np.int64), nodes.astype(np.int64), int(labels.max()) + 1
