"""The part of a table or of a sweep that is to be shown."""

from collections.abc import Sequence
from dataclasses import dataclass

from s2gnn.studies.budget import Budget


@dataclass(frozen=True)
class Part:
    """Data sets, models and budgets by name; `None` for all, of the budgets for all but smoke."""

    data: Sequence[str] | None = None
    models: Sequence[str] | None = None
    budgets: Sequence[Budget] | None = None


WHOLE = Part()
