"""The rows that a model is least sure of, which are worth a label next."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from s2gnn.report.subject import Subject

ROWS_LISTED = 12


@dataclass(frozen=True)
class UnsureRow:
    """One row.

    Attributes:
        row: its place, 0 for the first.
        answer: the predicted class or quantity, for people.
        sureness: the probability of that class; of a quantity, how far its estimates differ, see `doubt`.
        second: the class that comes next, and its probability; `None` for quantities.
    """

    row: int
    answer: str
    sureness: float
    second: tuple[str, float] | None


def doubt(subject: Subject) -> NDArray[np.float64] | None:
    """How unsure the model is of each row, (N,): one less the probability of its class.

    For quantities it is the standard deviation between the networks, or between the outputs of a single one; `None` if
    there is but one output.
    """
    if subject.classes is not None:
        return np.asarray(1 - subject.answers.max(axis=1))
    logits = subject.estimator._trained_.networks.logits  # (networks, N, outputs), each output an estimate
    estimates = logits.mean(axis=2) if len(logits) > 1 else logits[0].T
    if len(estimates) < 2:
        return None
    return np.asarray(subject.estimator._width_ * estimates.std(axis=0))


def rows_without_label(subject: Subject) -> NDArray[np.int64]:
    """The rows that have no label, ascending; all where that is not known."""
    rows = np.arange(subject.n_rows)
    return rows if subject.labelled is None else np.setdiff1d(rows, subject.labelled)


def least_sure(subject: Subject, limit: int = ROWS_LISTED) -> tuple[UnsureRow, ...]:
    """The rows without a label that the model is least sure of, the most doubtful first; none if it has no doubts."""
    doubts = doubt(subject)
    if doubts is None:
        return ()
    rows = rows_without_label(subject)
    chosen = rows[np.argsort(-doubts[rows], kind="stable")][:limit]
    return tuple(_described(subject, int(row), float(doubts[row])) for row in chosen)


def _described(subject: Subject, row: int, doubt_of_row: float) -> UnsureRow:
    if subject.classes is None:
        return UnsureRow(row, f"{subject.answers[row, 0]:.4g}", doubt_of_row, None)
    first, second = np.argsort(-subject.answers[row], kind="stable")[:2].tolist()
    runner_up = (subject.classes[second], float(subject.answers[row, second]))
    return UnsureRow(row, subject.classes[first], 1 - doubt_of_row, runner_up)
