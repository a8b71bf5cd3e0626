"""How to label a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from s2gnn.labelling.strategies import Strategy


@dataclass(frozen=True)
class Settings:
    """How to label a table.

    Attributes:
        identifier: the column that names the rows.
        image: the column with the path of an image for each row.
        text: the column with a text for each row.
        features: the columns to learn from; by default all that distinguish rows.
        categorical: columns of categories even if they spell numbers.
        classes: further classes to choose from.
        strategy: which rows to show first.
        batch: number of answers after which the model is trained again.
        seed: random seed of the model.
        parameters: further parameters of `S2GNNClassifier`.
    """

    identifier: str | None = None
    image: str | None = None
    text: str | None = None
    features: Sequence[str] | None = None
    categorical: Sequence[str] = ()
    classes: Sequence[str] = ()
    strategy: Strategy = "auto"
    batch: int = 5
    seed: int = 0
    parameters: tuple[tuple[str, Any], ...] = ()
