"""The base predictor, which predicts a row from its columns alone, before the graph is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.estimator.blending import PSEUDO_LABELS, Blend, ClassBlend, ValueBlend
from s2gnn.estimator.forest import Forest
from s2gnn.estimator.learners import FORESTS, Kernel, KnownTargets, Learner, Linear, fit_forest, held_out

LEARNERS: Mapping[str, type[Learner]] = {
    "linear": Linear,
    "kernel": Kernel,
    **dict.fromkeys(FORESTS, Forest),
}


@dataclass(frozen=True)
class BasePredictor:
    """A blend of a linear model, a kernel model, a random forest and extra trees.

    Each learner is calibrated and weighted by its predictions for labelled rows that it did not see: out-of-bag for the
    forests, five folds for the others, and for the forests too if rows have groups.

    Attributes:
        learners: the learners by name; empty if there is a single class.
        blend: combines their predictions; `None` if there is a single class.
    """

    learners: Mapping[str, Learner]
    blend: Blend | None

    @classmethod
    def fit(
        cls, X: Any, scores: Any, targets: KnownTargets, seed: int
    ) -> tuple[BasePredictor, NDArray[np.float64], NDArray[np.float64]]:
        """Fit to the labelled rows.

        Args:
            X: the scaled columns of the labelled rows, (n, M), dense or CSR.
            scores: the same rows as `NormalScores`, (n, M).
            targets: targets of these rows.
            seed: random seed of the folds and forests.

        Returns:
            The predictor; its predictions for the rows while their own targets were hidden, (n, outputs); and the
            importance of each column, with mean 1, (M,).
        """
        n, columns = X.shape
        if targets.n_classes == 1:
            return cls({}, None), np.ones((n, 1)), np.ones(columns)
        learners: dict[str, Learner] = {"linear": Linear.fit(X, targets)}
        hidden = [held_out(Linear.fit, X, targets, seed)]
        if not sp.issparse(X):  # kernels of sparse rows would take landmarks of any width
            learners["kernel"] = Kernel.fit(scores, targets)
            hidden.append(held_out(Kernel.fit, scores, targets, seed))
        importance = np.zeros(columns)
        for kind in FORESTS:
            learners[kind], out_of_bag, own_importance = fit_forest(kind, X, targets, seed)
            hidden.append(out_of_bag)
            importance += own_importance
        members = np.stack(hidden)  # (learners, n, outputs)
        blend = (ValueBlend if targets.n_classes is None else ClassBlend).fit(
            members, targets.values, [PSEUDO_LABELS] * len(members)
        )
        total = importance.sum()  # zero if no tree has a split
        importance = importance * columns / total if total > 0 else np.ones(columns)
        return cls(learners, blend), blend.apply(members), importance

    def predict(self, X: Any, scores: Any) -> NDArray[np.float64]:
        """Predict class probabilities (Q, C) or values (Q, 1) for rows in the two forms that `fit` takes."""
        if self.blend is None:
            return np.ones((X.shape[0], 1))
        members = [learner.predict(scores if isinstance(learner, Kernel) else X) for learner in self.learners.values()]
        return self.blend.apply(np.stack(members))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of all learners by name, for a model folder."""
        named = ((kind, learner.arrays()) for kind, learner in self.learners.items())
        return {f"{kind}.{name}": array for kind, arrays in named for name, array in arrays.items()}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], blend: Blend | None, columns: int, outputs: int
    ) -> BasePredictor:
        """Restore a predictor from `arrays`; raises an `InputError` if they are inconsistent."""
        learners = {}
        for kind, make in LEARNERS.items():
            prefix = f"{kind}."
            own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            if own:
                learners[kind] = make.from_arrays(own, columns, outputs)
        if len(learners) != (0 if blend is None else len(blend.weights)):
            raise InputError(f"it has {len(learners)} base learners, but a different number of weights")
        return cls(learners, blend)
