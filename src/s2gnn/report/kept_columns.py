"""The values of a table's columns, from what a model folder keeps of its rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.preprocessing import TableEncoder


@dataclass(frozen=True)
class KeptColumn:
    """A column of the table, by the features that it became.

    Attributes:
        name: of the column.
        first: its first feature.
        categories: the texts that its features stand for, one feature each; `None` for numbers.
        centre: of a column of numbers: what was subtracted.
        width: of a column of numbers: what was divided out.
    """

    name: str
    first: int
    categories: tuple[str, ...] | None = None
    centre: float = 0.0
    width: float = 1.0

    @property
    def features(self) -> range:
        """The places of its features."""
        return range(self.first, self.first + (1 if self.categories is None else len(self.categories)))

    def numbers(self, features: Any) -> NDArray[np.float64]:
        """The numbers (n,) in rows of features (n, M); a missing one is the median that stands for it."""
        return _dense(features, self.features)[:, 0] * self.width + self.centre

    def codes(self, features: Any) -> NDArray[np.int64]:
        """The places of the categories (n,) in rows of features (n, M), −1 for one that is not known."""
        block = _dense(features, self.features)
        return np.where(block.max(axis=1) > 0, block.argmax(axis=1), -1)

    def texts(self, features: Any) -> list[str]:
        """The values in rows of features (n, M), for people."""
        if self.categories is None:
            return [number_text(value) for value in self.numbers(features)]
        names = (*(name or "(missing)" for name in self.categories), "(other)")
        return [names[code] for code in self.codes(features)]


def kept_columns(estimator: Any, encoder: TableEncoder | None) -> tuple[KeptColumn, ...]:
    """The columns of the table that an encoder made features of; without one, every feature of the estimator."""
    scaling = estimator._trained_.scaling
    if encoder is None:
        names = getattr(estimator, "feature_names_in_", [f"x{place}" for place in range(estimator.n_features_in_)])
        parts = zip(names, scaling.centre.tolist(), scaling.width.tolist(), strict=True)
        return tuple(KeptColumn(str(name), place, None, *numbers) for place, (name, *numbers) in enumerate(parts))
    state = encoder.state()
    columns = [
        KeptColumn(said["column"], place, None, said["mean"], said["scale"])
        for place, said in enumerate(state["numeric"])
    ]
    first = len(columns)
    for said in state["categorical"]:
        columns.append(KeptColumn(said["column"], first, tuple(said["categories"])))
        first += len(said["categories"])
    return tuple(columns)


def number_text(value: float, digits: int = 4) -> str:
    """A number for people: all of a whole one, else so few digits that they hide what scaling to and fro has done."""
    whole = round(value)
    return f"{whole:d}" if abs(value - whole) < 1e-9 * max(1.0, abs(value)) < 1e6 else f"{value:.{digits}g}"


def _dense(features: Any, places: range) -> NDArray[np.float64]:
    block = features[:, places.start : places.stop]
    return np.asarray(block.toarray() if sp.issparse(block) else block, dtype=np.float64)
