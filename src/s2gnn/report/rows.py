"""What a report says of single rows: their answer, their label, and the values of the columns that tell most."""

import numpy as np
from numpy.typing import NDArray

from s2gnn.report.content import Content
from s2gnn.report.subject import Subject
from s2gnn.report.words import percent

COLUMNS = 6
LONGEST = 40
CERTAIN = 0.9  # from this probability on, only one class is named


def row_columns(content: Content, rows: NDArray[np.int64]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The names of up to six columns, the most telling ones, and their values in `rows` (n,), as text."""
    subject = content.subject
    best = np.argsort(-subject.telling, kind="stable")[:COLUMNS]
    chosen = [subject.columns[place] for place in best]
    features = subject.features[rows]
    values = [[_short(text) for text in column.texts(features)] for column in chosen]
    return tuple(_short(column.name) for column in chosen), list(zip(*values, strict=True))


def row_texts(content: Content, rows: NDArray[np.int64]) -> list[str]:
    """What the points of the graph say of `rows` (n,): row number, answer, label, then a line for each value."""
    subject = content.subject
    names, values = row_columns(content, rows)
    labels = _labels(content)
    texts = []
    for row, line in zip(rows.tolist(), values, strict=True):
        parts = [f"Row {row + 1:,}", f"predicted {_answer(subject, row)}", *labels.get(row, ())]
        texts.append("\n".join([*parts, *(f"{name}: {value}" for name, value in zip(names, line, strict=True))]))
    return texts


def _answer(subject: Subject, row: int) -> str:
    """What the model says of a row, and what comes next if it has doubts."""
    if subject.classes is None:
        return f"{subject.answers[row, 0]:.4g}"
    answers = subject.answers[row].tolist()
    likeliest = sorted(range(len(answers)), key=lambda place: -answers[place])[: 1 if max(answers) >= CERTAIN else 2]
    return " or else ".join(
        f"{_short(subject.classes[place])} ({percent(float(answers[place]))})" for place in likeliest
    )


def _labels(content: Content) -> dict[int, list[str]]:
    """The label of each row that has one, and what was predicted while it was hidden."""
    subject, evidence = content.subject, content.subject.evidence
    if evidence is None:
        return {}

    def name(target: float) -> str:
        return f"{target:.4g}" if subject.classes is None else _short(subject.classes[int(target)])

    said = {
        row: [f"label {name(target)}"] for row, target in zip(evidence.labelled.tolist(), evidence.targets, strict=True)
    }
    if evidence.hidden is not None:
        answers = evidence.hidden.answers
        hidden = answers[:, 0] if subject.classes is None else answers.argmax(axis=1)
        for row, answer in zip(evidence.hidden.rows.tolist(), hidden, strict=True):
            said[row].append(f"while hidden, predicted {name(answer)}")
    return said


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
