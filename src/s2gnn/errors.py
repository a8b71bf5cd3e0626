"""Public errors and warnings."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Invalid input; the message contains the invalid value and how to fix it."""


class AsymmetricGraphError(InputError):
    """An edge lacks its reverse, or the two have different weights, where an undirected graph is required."""


def unknown_name(what: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error for a name that does not exist, with the one that was probably meant.

    Args:
        what: is missing, such as "there is no study".
        name: as given.
        known: the names to choose from.
    """
    names = list(known)

    def similarity(other: str) -> tuple[float, bool]:  # ties go to one with the same first letter
        return difflib.SequenceMatcher(None, name.lower(), other).ratio(), name[:1].lower() == other[:1]

    close = max(difflib.get_close_matches(name.lower(), names, n=len(names) or 1), key=similarity, default=None)
    choose = "choose from" if close is None else f"did you mean {close!r}? Choose from"
    return InputError(f"{what} {name!r}: {choose} {', '.join(names) or 'none'}")


class NonFiniteLossError(ArithmeticError):
    """Training produced a loss that is not a number or is infinite."""


class SeedError(RuntimeError):
    """One run of several failed or its process died; the text names its seed."""


class LostProcessError(RuntimeError):
    """Another process of a distributed training has ended or does not respond."""


class IdenticalBranchesWarning(UserWarning):
    """All Hadamard powers of this graph give the same operator, so the branches of a layer coincide."""


class SlowPathWarning(UserWarning):
    """The native kernel is not available, so products are computed in plain PyTorch."""


class IdleProcessesWarning(UserWarning):
    """Some processes of a distributed training have no batch to compute."""


class LabelsWarning(UserWarning):
    """Labels may be interpreted differently from what was intended."""


class ColumnsWarning(UserWarning):
    """A column may be interpreted differently from what was intended."""


class IdentifiersWarning(UserWarning):
    """Several rows of a table have the same identifier."""


class TornFileWarning(UserWarning):
    """A file can be read, but part of it seems to be missing."""


class DamagedRecordsWarning(UserWarning):
    """A file of records has an invalid line, e.g. truncated by a crash."""
