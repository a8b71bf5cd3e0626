"""The part of a study that is asked for, by names."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from s2gnn.errors import InputError
from s2gnn.studies.budget import Budget


@dataclass(frozen=True)
class Part:
    """Data sets, models and budgets by name; `None` for all, of the budgets for all but smoke."""

    data: Sequence[str] | None = None
    models: Sequence[str] | None = None
    budgets: Sequence[Budget] | None = None


WHOLE = Part()


def check_names(study: str, kind: str, wanted: Iterable[str] | None, known: Collection[str]) -> None:
    """Raise unless every wanted name of a `kind`, such as "data set", is known to the study; `None` wants all."""
    for name in wanted or ():
        if name not in known:
            raise InputError(f"{study} has no {kind} {name!r}: choose from {', '.join(known) or 'none'}")
