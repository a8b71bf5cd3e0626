"""Studies that measure something other than scores: numbers stored as JSON and CSV, figures as PNG and SVG."""

import csv
import io
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from s2gnn.errors import InputError
from s2gnn.experiments.protocols import BUDGETS, Budget
from s2gnn.experiments.study import ALL, Selection, Study, check_names
from s2gnn.files import write_atomically
from s2gnn.pictures import save_figure
from s2gnn.provenance import commit, origin
from s2gnn.reading import parse_record, read_bytes
from s2gnn.render import Block, Cell, Table

Content = Mapping[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Measurement:
    """What to measure: a data set, or one model on it.

    Attributes:
        data: name of the data set.
        settings: of the study, see `MeasuredStudy.settings`.
        report: shows a line on the progress.
        folder: of the records.
        model: one of `MeasuredStudy.models`; empty in a study without any.
    """

    data: str
    settings: Content
    report: Callable[[str], None]
    folder: Path
    model: str = ""


@dataclass
class _Content:
    rows: list[Row]


@dataclass
class _Stored:
    """The fields that every record has; the rest is checked when its table is built."""

    content: _Content


@dataclass(frozen=True)
class MeasuredStudy(Study):
    """A table or figure that needs little or no training.

    Its content is a mapping that can be written as JSON: the settings, and "rows" with a list of rows. A study of
    several models is stored whenever one of them is measured on a data set, and resumes there.

    Attributes:
        name: as on the command line.
        title: what it shows.
        paper: where in the paper.
        data: the data sets that it can be measured on.
        measure: yields the rows of one data set, or of one model on it.
        tabulate: the content as a table.
        draw: the content as a figure; `None` if there is only a table.
        settings: what the rows have in common, given the budget.
        budgeted: whether the settings depend on the budget.
        usual: the data sets that are measured by default; `None` for all.
        models: measured one by one; without any, data sets are measured in one go and stored together.
        depends_on: fields of a row that the measurement of a model on a data set depends on, such as its
            hyperparameters, given the folder of the records; if they change, it is measured again.
    """

    name: str
    title: str
    paper: str
    data: tuple[str, ...]
    measure: Callable[[Measurement], Iterable[Row]]
    tabulate: Callable[[Content], Table]
    draw: Callable[[Content], Figure] | None = None
    settings: Callable[[Budget], Row] = lambda _: {}
    budgeted: bool = False
    usual: tuple[str, ...] | None = None
    models: tuple[str, ...] = ()
    depends_on: Callable[[Path, str, str], Row] = lambda *_: {}

    @property
    def size(self) -> str:
        """Describe the output in a few words."""
        return "a table" if self.draw is None else "a table, a picture"

    def run(
        self,
        folder: Path,
        command: str,
        data: Sequence[str] | None = None,
        budget: Budget | None = None,
        report: Callable[[str], None] = lambda _: None,
        models: Sequence[str] | None = None,
        minutes: float | None = None,
    ) -> None:
        """Measure data sets, by default the usual ones, and store NAME.json and .csv, and .png and .svg of a figure.

        Args:
            folder: of the records.
            command: what the record names as its origin; that of a study of several models is the whole study.
            data: names of the data sets.
            budget: quick by default.
            report: shows a line on the progress.
            models: in a study of several, by default all.
            minutes: in a study of several models, start none after this time.
        """
        if budget is not None and not self.budgeted:
            raise InputError(f"--budget has no effect on {self.name}: omit it")
        check_names(self.name, "data set", data, self.data)
        check_names(self.name, "model", models, self.models)
        chosen = data or self.usual or self.data
        settings, rows = self.settings(budget or BUDGETS["quick"]), []
        if self.models:
            end = None if minutes is None else time.monotonic() + 60 * minutes
            wanted = product(chosen, models or self.models)
            self._run_models(folder, _plain(settings), wanted, report, end)
            return
        self._check_keeps_all(folder, chosen)
        for name in chosen:
            report(name)
            rows += [{"data": name, **row} for row in self.measure(Measurement(name, settings, report, folder))]
        write_record(folder, self.name, made_record(command, {**settings, "rows": rows}), self.tabulate, self.draw)

    def _run_models(
        self,
        folder: Path,
        settings: Row,
        wanted: Iterable[tuple[str, str]],
        report: Callable[[str], None],
        end: float | None,
    ) -> None:
        """Measure models on data sets that have no row yet, and store the record after each; then redraw it."""
        code = commit()
        for data, model in wanted:
            given = _plain({"data": data, "model": model, **self.depends_on(folder, data, model)})
            if any(given.items() <= row.items() for row in self._rows(folder, settings)):
                continue
            if end is not None and time.monotonic() >= end:
                break
            report(f"{data} {model}")
            measured = self.measure(Measurement(data, settings, report, folder, model))
            new = [{**given, "commit": code, **row} for row in measured]
            # Read again: another process may have added rows.
            others = [row for row in self._rows(folder, settings) if (row["data"], row["model"]) != (data, model)]
            places = {both: place for place, both in enumerate(product(self.data, self.models))}
            rows = sorted([*others, *new], key=lambda row: places[row["data"], row["model"]])
            made = made_record(f"s2gnn study run {self.name}", {**settings, "rows": rows})  # all parts of it
            write_record(folder, self.name, made, self.tabulate, self.draw)
        record = self.read(folder)
        if record is not None:
            write_record(folder, self.name, record, self.tabulate, self.draw)

    def _rows(self, folder: Path, settings: Row) -> list[Row]:
        """Return the stored rows that were measured with these settings."""
        try:
            record = self.read(folder)
        except InputError:  # damaged, or of another version: measure again
            return []
        if record is None or not settings.items() <= record["content"].items():
            return []
        return list(record["content"]["rows"])

    def _check_keeps_all(self, folder: Path, data: Sequence[str]) -> None:
        """Raise if the stored record has data sets that a new one would lack."""
        record = None if set(self.data) <= set(data) else self.read(folder)
        stored = {row["data"] for row in record["content"]["rows"] if "data" in row} if record else set()
        if stored - set(data):
            raise InputError(
                f"{folder / self.name}.json has more data sets ({', '.join(sorted(stored))}): choose another folder "
                f"with --results, or name them all with --data {','.join(sorted(stored | set(data)))}"
            )

    def read(self, folder: Path) -> dict[str, Any] | None:
        """Return the stored record; `None` if there is none."""
        path = folder / f"{self.name}.json"
        if not path.is_file():
            return None
        try:
            record = parse_record(read_bytes(path), _Stored)
            self.tabulate(record["content"])
        except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise InputError(
                f"{path} is damaged ({error!r}): regenerate it with s2gnn study run {self.name}"
            ) from error
        return record

    def redraw(self, folder: Path) -> tuple[str, ...]:
        """Draw the picture of the stored record again."""
        draw = self.draw
        record = None if draw is None else self.read(folder)
        if draw is None or record is None:
            return ()
        save_figure(lambda: draw(record["content"]), folder / self.name)
        return (self.name,)

    def table(self, folder: Path, selection: Selection = ALL) -> Table:
        """Return the stored numbers, all of them, as a table that names the command and the commit behind them."""
        del selection
        record, title = self.read(folder), f"{self.title} ({self.paper})"
        if record is None:
            return Table(title, ("",), (), (f"No record yet: s2gnn study run {self.name}",))
        table = self.tabulate(record["content"])
        made = f"{record.get('command')}; commit {commits_of(record['content']['rows']) or record.get('commit')}."
        return replace(table, title=title, notes=(*table.notes, made))

    def json(self, folder: Path, selection: Selection = ALL) -> dict[str, Any]:
        """Return the stored record, for programs; raises if there is none."""
        del selection
        record = self.read(folder)
        if record is None:
            raise InputError(f"{folder} has no record of {self.name}: make it with s2gnn study run {self.name}")
        return record

    def frame(self, folder: Path) -> pd.DataFrame:
        """Return the rows of the stored record; raises if there is none."""
        return rows_frame(self.json(folder)["content"])


def rows_frame(content: Content) -> pd.DataFrame:
    """Return the rows of a record, fields of fields under dotted names."""
    return pd.json_normalize(content["rows"])


def commits_of(rows: Iterable[Row]) -> str:
    """Return the commits that rows name, in their order."""
    return ", ".join(dict.fromkeys(str(row["commit"]) for row in rows if "commit" in row))


def grouped(rows: Iterable[Row], name: str) -> dict[Any, list[Row]]:
    """Return the rows by one of their fields, in their order."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[name], []).append(row)
    return groups


def block(heading: str, rows: Iterable[Iterable[str | Cell]], *, folded: bool = False) -> Block:
    """Return rows of texts and cells under a heading."""
    cells = tuple(tuple(Cell(one) if isinstance(one, str) else one for one in row) for row in rows)
    return Block(heading, cells, folded)


def made_record(command: str, content: Content) -> dict[str, Any]:
    """Return a measurement with its origin, as it is read from a file."""
    return _plain({**origin(command), "content": content})


def _plain(content: Content) -> dict[str, Any]:
    """Return `content` as it is read from a file."""
    plain: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False))
    return plain


def write_record(
    folder: Path,
    name: str,
    record: Mapping[str, Any],
    tabulate: Callable[[Content], Table],
    draw: Callable[[Content], Figure] | None = None,
) -> None:
    """Write a record as NAME.json, its table as NAME.csv and its figure, if any, as NAME.png and NAME.svg."""
    write_atomically(folder / f"{name}.json", f"{json.dumps(record, indent=1)}\n".encode())
    write_atomically(folder / f"{name}.csv", _csv(tabulate(record["content"])))
    if draw is not None:
        save_figure(lambda: draw(record["content"]), folder / name)


def _csv(table: Table) -> bytes:
    """Return the rows of a table, each after the heading of its block."""
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(("", *table.header))
    for part in table.blocks:
        writer.writerows((part.heading, *(cell.text for cell in row)) for row in part.rows)
    return stream.getvalue().encode()
