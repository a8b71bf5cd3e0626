"""Random forests as plain arrays, so that a model folder can hold them and evaluating them executes no stored code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.errors import InputError

VALUES_AT_ONCE = 2**22  # pairs of a row and a tree or landmark


@dataclass(frozen=True)
class Forest:
    """Decision trees, one after the other in the same arrays; `nodes` is their total number of nodes.

    A row at an inner node goes left if its value in the column `feature` is at most `threshold`. Every child comes
    after its parent, so that every path ends.
    """

    roots: NDArray[np.int64]  # the first node of each tree, (trees,)
    feature: NDArray[np.int64]  # column of each inner node, −1 at a leaf, (nodes,)
    threshold: NDArray[np.float64]  # (nodes,)
    left: NDArray[np.int64]  # number of the left child; a leaf is its own child, (nodes,)
    right: NDArray[np.int64]  # (nodes,)
    value: NDArray[np.float64]  # the prediction of each leaf, (nodes, outputs)

    @classmethod
    def of(cls, fitted: Any) -> Forest:
        """Return the trees of a fitted `RandomForestClassifier` or the like."""
        trees = [estimator.tree_ for estimator in fitted.estimators_]
        sizes = [tree.node_count for tree in trees]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        own = np.arange(sum(sizes))
        start = np.repeat(roots, sizes)
        feature = np.concatenate([tree.feature for tree in trees]).astype(np.int64)
        leaf = feature < 0
        left = np.where(leaf, own, start + np.concatenate([tree.children_left for tree in trees]))
        right = np.where(leaf, own, start + np.concatenate([tree.children_right for tree in trees]))
        value = np.concatenate([tree.value[:, 0, :] for tree in trees])
        threshold = np.concatenate([tree.threshold for tree in trees])
        return cls(roots, np.where(leaf, -1, feature), threshold, left, right, value)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the mean of the trees' predictions for the rows of `X` (Q, M), dense or CSR, (Q, outputs)."""
        predicted = np.empty((X.shape[0], self.value.shape[1]))
        for rows, leaves in self._leaves_by_block(X):
            predicted[rows] = sum(self.value[of_tree] for of_tree in leaves) / len(self.roots)
        return predicted

    def deviations(self, X: Any) -> NDArray[np.float64]:
        """Return the standard deviation between the trees' predictions for the rows of `X` (Q, M), (Q, outputs)."""
        found = np.empty((X.shape[0], self.value.shape[1]))
        for rows, leaves in self._leaves_by_block(X):
            found[rows] = self.value[leaves].std(axis=0)
        return found

    def predict_out_of_bag(self, X: Any, drawn: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Predict the rows of `X` (n, M) that the trees were grown on, each by the trees that did not see it.

        Args:
            X: the training rows.
            drawn: whether each tree drew each row, (trees, n). A row that every tree drew gets the forest's mean
                prediction over all rows, which does not depend on its target more than on any other.
        """
        unseen = ~drawn  # (trees, n)
        counts = unseen.sum(axis=0)
        total = np.zeros((X.shape[0], self.value.shape[1]))
        for of_tree, out in zip(self.leaves(X), unseen, strict=True):
            total[out] += self.value[of_tree[out]]
        means: NDArray[np.float64] = total / np.maximum(counts, 1)[:, None]
        if (counts == 0).any():
            means[counts == 0] = means[counts > 0].mean(axis=0) if (counts > 0).any() else 1 / means.shape[1]
        return means

    def _leaves_by_block(self, X: Any) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """Yield blocks of the rows of `X` (Q, M) whose `leaves` fit into memory, with these."""
        at_once = max(1, VALUES_AT_ONCE // len(self.roots))
        for start in range(0, X.shape[0], at_once):
            rows = slice(start, start + at_once)
            yield rows, self.leaves(X[rows])

    def leaves(self, X: Any) -> NDArray[np.int64]:
        """Return the node at which each row ends in each tree, (trees, Q)."""
        # scikit-learn grows trees on float32, so that a threshold may lie between a number and its rounding.
        columns = np.ascontiguousarray((X.toarray() if sp.issparse(X) else X).astype(np.float32).T)  # (M, Q)
        rows = np.arange(X.shape[0])
        at = np.empty((len(self.roots), X.shape[0]), dtype=np.int64)
        for tree, root in enumerate(self.roots):
            node = np.full(len(rows), root)
            active = rows
            while len(active := active[self.feature[node[active]] >= 0]):
                here = node[active]
                goes_left = columns[self.feature[here], active] <= self.threshold[here]
                node[active] = np.where(goes_left, self.left[here], self.right[here])
            at[tree] = node
        return at

    def label_weights(
        self, X: Any, weights: sp.csr_array, labelled: Any, sample_weight: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return how much labels of rows `labelled` (n, M) count in `weights` (R, Q) times predictions for X (Q, M).

        A leaf predicts about the mean of the labelled rows in it, weighted by their `sample_weight` (n,), if any; the
        trees drew these rows at random.

        Returns:
            The weights of the labels, (R, n).
        """
        total = np.zeros((weights.shape[0], labelled.shape[0]))
        counted = np.ones(labelled.shape[0]) if sample_weight is None else sample_weight
        leaves = self.leaves(labelled)  # (trees, n)
        for rows, leaves_of_rows in self._leaves_by_block(X):
            part = weights[:, rows]
            for of_rows, of_labelled in zip(leaves_of_rows, leaves, strict=True):
                occupied, place = np.unique(of_labelled, return_inverse=True)
                counts = np.bincount(place, counted)
                column = np.minimum(np.searchsorted(occupied, of_rows), len(occupied) - 1)
                share = np.where(occupied[column] == of_rows, 1 / counts[column], 0.0)
                pointers = np.arange(len(of_rows) + 1)
                means = sp.csr_array((share, column, pointers), shape=(len(of_rows), len(occupied)))
                total += (part @ means).toarray()[:, place] * counted
        result: NDArray[np.float64] = total / len(self.roots)
        return result

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, for a model folder."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], columns: int, outputs: int) -> Forest:
        """Return the forest of `arrays`, for tables of this number of columns, or raise an `InputError`."""
        roots, feature, left, right = (arrays[name].astype(np.int64) for name in ("roots", "feature", "left", "right"))
        threshold, value = (arrays[name].astype(np.float64) for name in ("threshold", "value"))
        forest = cls(roots, feature, threshold, left, right, value)
        nodes = len(forest.feature)
        own, inner = np.arange(nodes), forest.feature >= 0
        fits = (
            len(forest.roots) > 0
            and all(array.shape == (nodes,) for array in (forest.threshold, forest.left, forest.right))
            and forest.value.shape == (nodes, outputs)
            and bool(np.isfinite(forest.value).all() and np.isfinite(forest.threshold).all())
            and bool((forest.feature < columns).all() and ((forest.roots >= 0) & (forest.roots < nodes)).all())
            and all(bool(((child > own) & (child < nodes))[inner].all()) for child in (forest.left, forest.right))
        )
        if not fits:
            raise InputError("it has arrays that are not a forest")
        return forest
