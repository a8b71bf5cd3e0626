"""Convert X, an array, a data frame or a sparse matrix, to a table of finite numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.graphs.features import checked_features
from s2gnn.graphs.validation import as_array
from s2gnn.tables import Table, TableEncoder, choose_columns
from s2gnn.tables.scaling import filled, medians
from s2gnn.tables.table import as_pandas, check_storable, holds_numbers


class ColumnEncoding:
    """First step of `fit` and `predict`: keep numbers, replace missing ones by medians, encode other columns.

    Attributes:
        encoder_: encoder of data frames with text, categories or booleans; `None` if all columns are numbers.
        medians_: values that replace missing numbers, (M,); `None` with an encoder and for sparse matrices.
        missing_: places of the numbers that were missing in `fit` among the features (N, M), counted row by row.
    """

    scale: bool
    features_: Any
    encoder_: TableEncoder | None
    medians_: NDArray[np.float64] | None
    missing_: NDArray[np.int64]

    def _numbers(self, X: Any, *, reset: bool) -> Any:
        """Convert `X` to a float64 array or CSR matrix (N, M), checked by scikit-learn; `fit` resets the columns."""
        X = as_array(X) if isinstance(X, Tensor) else as_pandas(X)
        if reset:
            if isinstance(X, pd.DataFrame):
                check_storable([str(name) for name in X.columns], "X")
            self.encoder_, self.medians_ = self._encoder_for(X), None
            self.missing_ = np.array([], dtype=np.int64)
        if self.encoder_ is not None:
            return self._encoded(X, self.encoder_, reset=reset)
        options = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}
        X = validate_data(self, X, reset=reset, ensure_min_samples=2 if reset else 1, **options)
        if sp.issparse(X):  # scikit-learn's trees take 32-bit indices only
            indices, indptr = (part.astype(np.int32, copy=False) for part in (X.indices, X.indptr))
            X = sp.csr_array((X.data, indices, indptr), shape=X.shape)
        elif reset:
            self.medians_, self.missing_ = medians(X), np.flatnonzero(np.isnan(X))
        return checked_features(X if self.medians_ is None or sp.issparse(X) else filled(X, self.medians_))

    def _encoder_for(self, X: Any) -> TableEncoder | None:
        """Fit the encoder of a data frame whose columns are not all numbers."""
        if not isinstance(X, pd.DataFrame) or all(map(holds_numbers, X.dtypes)):
            return None
        table = Table.from_frame(X, "X")
        return TableEncoder.fit(table, choose_columns(table), standardise=bool(self.scale))

    def _encoded(self, X: Any, encoder: TableEncoder, *, reset: bool) -> NDArray[np.float64]:
        """Encode a table with columns in any order, or a data frame with the columns of `fit`, as features (N, M)."""
        if isinstance(X, Table):
            return encoder.transform(X)
        if not isinstance(X, pd.DataFrame):
            raise InputError(
                f"X is a {type(X).__name__}, but this estimator was fitted on the columns of a table: pass a data "
                f"frame with the columns {', '.join(map(repr, encoder.columns[:5]))}, …; frame.loc[[name]] is one row"
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        table = Table.from_frame(X, "X")
        if reset:
            self.missing_ = np.flatnonzero(encoder.missing_numbers(table))
        return encoder.transform(table)

    def missing_numbers(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which features of training `rows` (n,) are numbers that were missing, (n, M)."""
        width = self.features_.shape[1]
        places = rows[:, None] * width + np.arange(width)
        return np.asarray(np.searchsorted(self.missing_, places, "right") > np.searchsorted(self.missing_, places))

    def _missing_in(self, X: Any) -> NDArray[np.bool_]:
        """Return which features of new rows `X` (Q, M), as `predict` takes them, are missing numbers, (Q, M)."""
        X = as_array(X) if isinstance(X, Tensor) else as_pandas(X)
        if self.encoder_ is not None:
            return self.encoder_.missing_numbers(X if isinstance(X, Table) else Table.from_frame(X, "X"))
        return np.zeros(X.shape, dtype=np.bool_) if sp.issparse(X) else np.isnan(np.asarray(X, dtype=np.float64))

    @property
    def _features_of(self) -> Mapping[str, Sequence[int]]:
        """Return the indices of the features of each column, by name."""
        if self.encoder_ is not None:
            return self.encoder_.features_of
        names = getattr(self, "feature_names_in_", [f"column {m}" for m in range(self.n_features_in_)])
        return {str(name): [m] for m, name in enumerate(names)}

    def _use_encoder(self, encoder: TableEncoder) -> None:
        """Encode with the fitted `encoder`, whose columns become the columns of `fit`."""
        self.encoder_, self.medians_ = encoder, None
        self.missing_ = np.array([], dtype=np.int64)
        self.feature_names_in_ = np.array(encoder.columns, dtype=object)
        self.n_features_in_ = len(encoder.columns)
