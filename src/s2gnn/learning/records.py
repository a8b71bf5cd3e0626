"""Results on disk: one line of JSON for each configuration and seed, safe against crashes and other writers."""

import dataclasses
import errno
import hashlib
import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from s2gnn.errors import DamagedRecordsWarning, InputError
from s2gnn.file_lock import locked

_BLOCK = 1 << 16
_BINARY = getattr(os, "O_BINARY", 0)  # without it, Windows would end a line with two bytes


@dataclass(frozen=True)
class Record:
    """The result of one configuration with one seed.

    Attributes:
        config_hash: of `config`; what is finished is known by this and the seed.
        seed: of the split, the initial parameters and dropout.
        config: everything that was chosen, but for the seed.
        metrics: scores by name.
        seconds: that training took.
        budget: what the result was allowed to cost, such as the epochs and threads.
        finished: when, UTC, in ISO 8601.
        commit: of the code; `None` outside a checkout.
        versions: of Python and the packages that numbers depend on.
    """

    config_hash: str
    seed: int
    config: dict[str, Any]
    metrics: dict[str, float]
    seconds: float
    budget: dict[str, Any]
    finished: str
    commit: str | None
    versions: dict[str, str]

    @property
    def metric(self) -> str:
        """The score that counts: ROC-AUC of several labels or of links, accuracy of one class."""
        return "test_roc_auc" if "test_roc_auc" in self.metrics else "test_accuracy"


_FIELDS = tuple(field.name for field in dataclasses.fields(Record))


def canonical_json(config: Any) -> str:
    """A frozen dataclass, or a dictionary, as JSON that is the same in every process: sorted, without spaces."""
    content = asdict(config) if dataclasses.is_dataclass(config) and not isinstance(config, type) else config
    try:
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{config!r} cannot be written as JSON ({error}): use finite numbers, strings and lists"
        ) from error


def config_hash(config: Any) -> str:
    """Sixteen hexadecimal digits that stand for a configuration."""
    return hashlib.sha256(canonical_json(config).encode()).hexdigest()[:16]


class Records:
    """A file of records, one line each, that several processes may read and append to at once.

    Appending takes a lock and is one write, which is on disk when `append` returns. When a crash or a full disk left a
    part of a line at the end, the next `append` moves it to a file beside this one, named `.torn`, with a
    `DamagedRecordsWarning`; complete lines are never touched.

    Args:
        path: of the file; it and its folders are made at the first `append`.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def append(self, record: Record) -> None:
        """Add one record."""
        line = f"{canonical_json(record)}\n".encode()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o666)
        try:
            with locked(descriptor):
                self._repair_end(descriptor)
                size = os.fstat(descriptor).st_size
                if os.write(descriptor, line) != len(line):
                    os.ftruncate(descriptor, size)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read(self) -> list[Record]:
        """All records in the order of the file.

        Of records with the same configuration and seed the first counts; a line that is no record is left out with a
        warning.
        """
        records: dict[tuple[str, int], Record] = {}
        for record in self._lines():
            records.setdefault((record.config_hash, record.seed), record)
        return list(records.values())

    def _lines(self) -> Iterator[Record]:
        try:
            with self.path.open("rb") as stream, locked(stream.fileno(), shared=True):
                lines = stream.read().split(b"\n")
        except FileNotFoundError:
            return
        for number, line in enumerate(lines, start=1):
            record = _parsed(line)
            if record is not None:
                yield record
            elif line:
                warnings.warn(
                    f"line {number} of {self.path} is no record and is left out: {line[:40]!r}…",
                    DamagedRecordsWarning,
                    stacklevel=2,
                )

    def finished(self, config_hash: str) -> dict[int, Record]:
        """The records of one configuration by seed."""
        return {record.seed: record for record in self.read() if record.config_hash == config_hash}

    def _repair_end(self, descriptor: int) -> None:
        """Bring a file whose last line is not complete into order; the lock must be held."""
        tail = _after_last_newline(descriptor)
        if not tail:
            return
        if _parsed(tail) is not None:
            os.write(descriptor, b"\n")
            return
        aside = self.path.with_name(f"{self.path.name}.torn")
        with aside.open("ab") as stream:
            stream.write(tail + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        os.ftruncate(descriptor, os.fstat(descriptor).st_size - len(tail))
        warnings.warn(
            f"the last line of {self.path} was torn; its {len(tail)} bytes are now in {aside}",
            DamagedRecordsWarning,
            stacklevel=3,
        )


class RecordsFolder(Records):
    """All files of records of a folder, those that end in `.jsonl`; new ones go into the one called `name`."""

    def __init__(self, folder: str | Path, name: str) -> None:
        super().__init__(Path(folder) / f"{name}.jsonl")

    def _lines(self) -> Iterator[Record]:
        for path in sorted(self.path.parent.glob("*.jsonl")):
            yield from Records(path)._lines()


def _after_last_newline(descriptor: int) -> bytes:
    end, tail = os.fstat(descriptor).st_size, b""
    while end > 0:
        start = max(0, end - _BLOCK)
        os.lseek(descriptor, start, os.SEEK_SET)
        _, newline, after = os.read(descriptor, end - start).rpartition(b"\n")
        tail = after + tail
        if newline:
            break
        end = start
    return tail


def _parsed(line: bytes) -> Record | None:
    """The record in a line; `None` if there is none."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or not set(_FIELDS) <= content.keys():
        return None
    kinds = {"seed": int, "seconds": int | float, "config": dict, "metrics": dict, "budget": dict, "versions": dict}
    if not all(isinstance(content[name], kind) for name, kind in kinds.items()):
        return None
    metrics = content["metrics"].values()
    if not metrics or not all(isinstance(value, int | float) for value in metrics):
        return None
    return Record(**{name: content[name] for name in _FIELDS})
