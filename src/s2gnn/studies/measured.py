"""Studies that are measured at once and stored whole: numbers as JSON and CSV, pictures as PNG and SVG."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from s2gnn import provenance
from s2gnn.errors import InputError
from s2gnn.files import write_atomically
from s2gnn.pictures import picture
from s2gnn.render import Table
from s2gnn.studies.budget import Budget
from s2gnn.studies.part import check_names

Report = Callable[[str], None]
Content = Mapping[str, Any]
Measure = Callable[[Sequence[str] | None, Report], dict[str, Any]]


@dataclass(frozen=True)
class MeasuredStudy:
    """A table or figure of the paper that needs no training, or little.

    Attributes:
        name: as on the command line.
        title: what it shows.
        paper: where in the paper.
        data: the data sets that it can be measured on.
        measure: makes the numbers, which can be written as JSON; it is given the names of data sets, or `None` for all,
            and a function to say what it is at.
        layout: the numbers as a table.
        draw: the numbers as a picture; `None` where a table is all.
        measure_within: gives a `measure` that costs as much as a budget allows; `None` where there is no choice.
        usual: the data sets that it is measured on if none are named; `None` for all.
    """

    name: str
    title: str
    paper: str
    data: tuple[str, ...]
    measure: Measure
    layout: Callable[[Mapping[str, Any]], Table]
    draw: Callable[[Mapping[str, Any]], Figure] | None = None
    measure_within: Callable[[Budget], Measure] | None = None
    usual: tuple[str, ...] | None = None

    def within(self, budget: Budget) -> "MeasuredStudy":
        """The study as it is measured with `budget`."""
        if self.measure_within is None:
            raise InputError(f"--budget means nothing to {self.name}: leave it out")
        return replace(self, measure=self.measure_within(budget))

    def run(self, folder: Path, command: str, data: Sequence[str] | None, report: Report) -> None:
        """Measure and store: NAME.json and NAME.csv, and NAME.png and NAME.svg where there is a picture."""
        check_names(self.name, "data set", data, self.data)
        chosen = data or self.usual
        self._check_nothing_is_lost(folder, chosen)
        write_record(folder, self.name, made_record(command, self.measure(chosen, report)), self.layout, self.draw)

    def _check_nothing_is_lost(self, folder: Path, data: Sequence[str] | None) -> None:
        record = self.read(folder) if data else None
        stored = {row["data"] for row in record["content"]["rows"]} if record else set()
        if stored - set(data or ()):
            raise InputError(
                f"{folder / self.name}.json has more data sets ({', '.join(sorted(stored))}): take another folder with "
                f"--results, or name them all with --data {','.join(sorted(stored | set(data or ())))}"
            )

    def read(self, folder: Path) -> dict[str, Any] | None:
        """The stored record; `None` if there is none."""
        path = folder / f"{self.name}.json"
        if not path.is_file():
            return None
        try:
            record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            self.layout(record["content"])
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{path} is damaged ({error}): make it anew with s2gnn study run {self.name}") from error
        return record

    def stored(self, folder: Path) -> Table:
        """The stored numbers as a table that says what made them."""
        record = self.read(folder)
        title = f"{self.title} ({self.paper})"
        if record is None:
            return Table(title, ("",), (), (f"No record yet: s2gnn study run {self.name}",))
        layout = self.layout(record["content"])
        made = f"{record['command']}; commit {record['commit']}."
        return Table(title, layout.header, layout.blocks, (*layout.notes, made))


def made_record(command: str, content: Content) -> dict[str, Any]:
    """What was measured together with what made it, as it is read from a file."""
    record = {"command": command, "commit": provenance.commit(), "versions": provenance.versions(), "content": content}
    plain: dict[str, Any] = json.loads(json.dumps(record, allow_nan=False))
    return plain


def write_record(
    folder: Path,
    name: str,
    record: Mapping[str, Any],
    layout: Callable[[Content], Table],
    draw: Callable[[Content], Figure] | None = None,
) -> None:
    """Write a record as NAME.json, its content as a table NAME.csv and, where it is drawn, as NAME.png and NAME.svg."""
    files = {"csv": _csv(layout(record["content"]))}
    if draw is not None:
        files |= {form: picture(draw(record["content"]), form) for form in ("png", "svg")}
    for suffix, written in files.items():
        write_atomically(folder / f"{name}.{suffix}", written)
    write_atomically(folder / f"{name}.json", f"{json.dumps(record, indent=1)}\n".encode())


def _csv(layout: Table) -> bytes:
    """The rows of a table, the heading of their block first."""
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(("", *layout.header))
    for block in layout.blocks:
        writer.writerows((block.heading, *(entry.text for entry in row)) for row in block.rows)
    return stream.getvalue().encode()
