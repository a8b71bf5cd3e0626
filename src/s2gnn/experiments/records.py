"""Results on disk: one line of JSON for each experiment and seed, safe against crashes and concurrent writers."""

import errno
import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.errors import DamagedRecordsWarning, InputError
from s2gnn.experiments.experiment import canonical_json
from s2gnn.experiments.protocols import BUDGETS
from s2gnn.file_lock import locked
from s2gnn.reading import parse_json

_BLOCK = 1 << 16
_BINARY = getattr(os, "O_BINARY", 0)  # without it, Windows would end a line with two bytes


@dataclass(frozen=True)
class Record:
    """The result of one experiment with one seed.

    Attributes:
        key: of the experiment; a run is identified by its key and its seed.
        seed: of the split, the initial parameters and dropout.
        experiment: `Experiment.describe()`.
        metrics: scores by name.
        seconds: training time.
        budget: limits of the run, such as epochs and threads.
        finished: time of completion, UTC, in ISO 8601.
        commit: of the code; `None` outside a checkout.
        versions: of Python and the packages that numbers depend on.
        error: why a trial of a search failed; stored only in that case.
    """

    key: str
    seed: int
    experiment: dict[str, Any]
    metrics: dict[str, float]
    seconds: float
    budget: dict[str, Any]
    finished: str
    commit: str | None
    versions: dict[str, str]
    error: str | None = None

    @property
    def search(self) -> str | None:
        """The budget whose search found the hyperparameters; `None` for the runs of other budgets and of searches."""
        name: str = self.budget.get("name", "")
        return name if name in BUDGETS and BUDGETS[name].rungs and self.seed not in VALIDATION_SEEDS else None

    @property
    def metric(self) -> str:
        """The main score: ROC-AUC of several labels or of links, otherwise accuracy."""
        return "test_roc_auc" if "test_roc_auc" in self.metrics else "test_accuracy"


@dataclass
class _Protocol:
    name: str
    keep: str
    epochs: int
    patience: int | None = None


@dataclass
class _Experiment:
    task: str
    data: str
    graph: str
    model: str
    lr: float
    weight_decay: float
    arguments: dict[str, bool | str | float | None]
    protocol: _Protocol
    k: int | None = None
    share: float | None = None
    decoder: str | None = None


@dataclass
class _Budget:
    epochs: int
    threads: int
    name: str = ""


@dataclass
class _Line:
    """The fields of a record that tables and summaries require."""

    experiment: _Experiment
    budget: _Budget
    metrics: dict[str, float]
    error: str | None = None

    def __post_init__(self) -> None:
        if not self.metrics or (self.error is None and "epoch" not in self.metrics):
            raise ValueError("a record has at least one score, and the epoch that it was selected at")


def as_frame(records: Iterable[Record]) -> pd.DataFrame:
    """Return one row for each record: experiment, hyperparameters, protocol, metrics, budget and commit."""
    rows = []
    for record in records:
        experiment = {name: value for name, value in record.experiment.items() if name not in ("arguments", "version")}
        row = {"key": record.key, "seed": record.seed, **experiment, **record.experiment["arguments"]}
        row |= {"protocol": record.experiment["protocol"]["name"], "budget": record.budget.get("name")}
        row |= {**record.metrics, "seconds": record.seconds, "finished": record.finished, "commit": record.commit}
        rows.append(row if record.error is None else {**row, "error": record.error})
    return pd.DataFrame(rows)


class Records:
    """A file of records, one line each, that several processes may read and append to at once.

    Appending takes a lock and is one write, which is on disk when `append` returns. If a crash or a full disk left an
    incomplete line at the end, the next `append` moves it to a file with the suffix `.torn`, with a
    `DamagedRecordsWarning`; complete lines are never changed.

    Args:
        path: of the file; it and its folders are created by the first `append`.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def append(self, record: Record) -> None:
        """Add one record."""
        content = asdict(record)
        if record.error is None:
            del content["error"]
        line = f"{canonical_json(content)}\n".encode()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o666)
        try:
            with locked(descriptor):
                self._repair_end(descriptor)
                size = os.fstat(descriptor).st_size
                try:
                    if os.write(descriptor, line) != len(line):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    os.fsync(descriptor)
                except OSError as error:
                    os.ftruncate(descriptor, size)
                    raise OSError(error.errno, error.strerror, str(self.path)) from error
        finally:
            os.close(descriptor)

    def read(self) -> list[Record]:
        """Return all records in the order of the file.

        The first record of an experiment and seed counts, and the first after each kind of search; an invalid line is
        skipped with a warning.
        """
        records: dict[tuple[str, int, str | None], Record] = {}
        for record in self._lines():
            records.setdefault((record.key, record.seed, record.search), record)
        return list(records.values())

    def _lines(self) -> Iterator[Record]:
        if self.path.exists() and not self.path.is_file():
            raise InputError(f"{self.path} cannot be read: it is not a plain file")
        try:
            with self.path.open("rb") as stream, locked(stream.fileno(), shared=True):
                lines = stream.read().split(b"\n")
        except FileNotFoundError:
            return
        skipped = []
        for number, line in enumerate(lines, start=1):
            record = _parsed(line)
            if record is not None:
                yield record
            elif line:
                skipped.append(number)
        if skipped:
            more = f" and {len(skipped) - 1} more line{'s' if len(skipped) > 2 else ''}" if len(skipped) > 1 else ""
            warnings.warn(
                f"line {skipped[0]}{more} of {self.path} cannot be read as a record of this version: skipped, starting "
                f"with {lines[skipped[0] - 1][:40]!r}…",
                DamagedRecordsWarning,
                stacklevel=2,
            )

    def _repair_end(self, descriptor: int) -> None:
        """Complete or move away an incomplete last line; the lock must be held."""
        tail = _after_last_newline(descriptor)
        if not tail:
            return
        if _parsed(tail) is not None:
            os.write(descriptor, b"\n")
            return
        torn = self.path.with_name(f"{self.path.name}.torn")
        with torn.open("ab") as stream:
            stream.write(tail + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        os.ftruncate(descriptor, os.fstat(descriptor).st_size - len(tail))
        warnings.warn(
            f"the last line of {self.path} was incomplete; its {len(tail)} bytes are now in {torn}",
            DamagedRecordsWarning,
            stacklevel=3,
        )


class RecordsFolder(Records):
    """All files of records of a folder, those that end in `.jsonl`; new records go into the one called `name`."""

    def __init__(self, folder: str | Path, name: str) -> None:
        super().__init__(Path(folder) / f"{name}.jsonl")

    def _lines(self) -> Iterator[Record]:
        for path in sorted(self.path.parent.glob("*.jsonl")):
            yield from Records(path)._lines()


def search_records(records: Records) -> RecordsFolder:
    """Return the records of the searches before those of a study."""
    return RecordsFolder(records.path.parent / "searches", records.path.stem)


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
    """Return the record in a line; `None` if there is none."""
    try:
        parse_json(line, _Line)
        return parse_json(line, Record)
    except InputError:
        return None
