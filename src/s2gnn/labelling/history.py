"""The history of a session, stored next to the labels: skipped rows, and the order of answers and classes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from s2gnn.errors import InputError
from s2gnn.files import write_atomically
from s2gnn.labelling.labels import LabelledCopy
from s2gnn.reading import parse_json, read_bytes

Kind = Literal["label", "skip"]


@dataclass(frozen=True)
class _Stored:
    """The content of the file."""

    classes: list[str]
    answers: list[tuple[int, Kind]]  # in their order; rows are counted from 0


@dataclass
class History:
    """The answers for a table so far, stored in a file next to its copy, `NAME.labelled.session.json`.

    The labels are those of the copy. An entry is written before its label and removed after it, so that after a crash
    at any time the entries that do not agree with the copy are those to drop.

    Attributes:
        path: of the file.
        classes: to choose from, in the order of their keys.
        answers: what was done with each row, oldest first.
    """

    path: Path
    classes: list[str] = field(default_factory=list)
    answers: dict[int, Kind] = field(default_factory=dict)

    @classmethod
    def read(cls, copy: LabelledCopy) -> History:
        """Return the history of a copy; empty if there is no copy or no history of it.

        Raises:
            InputError: if the file is damaged.
        """
        path = copy.path.with_name(f"{copy.path.stem}.session.json")
        if not (copy.path.exists() and path.exists()):
            return cls(path)
        try:
            stored = parse_json(read_bytes(path), _Stored)
        except InputError as error:
            raise InputError(
                f"{path} is damaged ({error}): remove it to resume without skipped rows and undo"
            ) from error
        rows = range(copy.table.n_rows)
        agree = {
            row: kind for row, kind in stored.answers if row in rows and (kind == "label") == (copy.labels[row] != "")
        }
        return cls(path, list(dict.fromkeys(filter(None, stored.classes))), agree)

    @property
    def skipped(self) -> list[int]:
        """The skipped rows."""
        return [row for row, kind in self.answers.items() if kind == "skip"]

    def add(self, row: int, kind: Kind) -> None:
        """Append an answer."""
        with self._written():
            self.answers.pop(row, None)  # a skipped row that another window labels
            self.answers[row] = kind

    def remove(self, *rows: int) -> None:
        """Forget the answers of some rows."""
        with self._written():
            for row in rows:
                del self.answers[row]

    def add_class(self, name: str) -> None:
        """Append a class."""
        with self._written():
            self.classes.append(name)

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Write the file after a change; if that fails, take the change back."""
        before = list(self.classes), dict(self.answers)
        yield
        content = {"classes": self.classes, "answers": list(self.answers.items())}
        try:
            write_atomically(self.path, json.dumps(content, ensure_ascii=False).encode())
        except OSError:
            self.classes, self.answers = before
            raise
