"""Check output paths, write predictions and print, for all commands."""

import csv
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, overload

import pandas as pd
import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable

from s2gnn.errors import InputError
from s2gnn.estimator.table_model import PROBABILITY
from s2gnn.files import write_atomically
from s2gnn.tables import Identifiers, Table, Task, table_text
from s2gnn.tables.files import DELIMITERS
from s2gnn.tables.identifiers import ROW

Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Add the probability of every class, a column for each.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

_NAME_WIDTH = 22
_NUMBER = re.compile(r"[−–-]?[\d.,]*( ± [\d.,]+)?( [^\W\d]+)?")  # with an optional unit
_DIGITS = 6  # significant ones of a number that is not a probability


def check_writable(path: Path, suffix: str) -> None:
    """Refuse a path that cannot be written, before the work starts."""
    if path.suffix.lower() != suffix:
        raise InputError(f"{path} does not end in {suffix}: give a file name that does")
    if path.is_dir():
        raise InputError(f"{path} cannot be written (Is a directory): choose another place")
    _try_to_write(path)


def check_folder_writable(folder: Path, mark: str, model_files: Collection[str]) -> None:
    """Refuse a folder that cannot be created or holds anything but a model, before the work starts.

    Args:
        folder: new, empty, or a model that will be replaced.
        mark: the file that every model has.
        model_files: all files that a model has.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder} is a file or a symlink, but a model is a folder: choose another name")
    held = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    others = held if mark not in held else [name for name in held if name not in model_files]
    if others:
        raise InputError(f"{folder} holds files other than a model, such as {others[0]}: choose a new folder")
    if folder.is_dir() and (folder.is_mount() or Path.cwd().is_relative_to(folder.resolve())):
        raise InputError(f"{folder} is a mount point or the current folder, which cannot be replaced: choose another")
    _try_to_write(folder)


def check_predictions_file(path: Path, table: Path, model: Path) -> None:
    """Refuse a file that is not a .csv or .tsv, cannot be written, is the input table, or lies in the model folder."""
    if path.suffix.lower() not in DELIMITERS:
        raise InputError(f"{path} does not end in .csv or .tsv: give a file name that does")
    if path.resolve().is_relative_to(model.resolve()):
        raise InputError(
            f"{path} lies in the model folder {model}, which s2gnn fit replaces completely: choose another place"
        )
    check_writable(path, path.suffix.lower())
    if path.exists() and table.exists() and path.samefile(table):
        raise InputError(f"{path} is the table itself, which predictions would replace: choose another name")


def check_names_free(table: Table, added: Iterable[str]) -> None:
    """Refuse a table that already has a column with the name of one of the columns that predictions add."""
    for name in added:
        if name in table.columns:
            raise InputError(f"{table.source} already has a column {name!r}, which predictions add: rename it")


def check_has_classes(label: str, task: Task) -> None:
    """Refuse --probabilities for a quantity."""
    if task == "regress":
        raise InputError(f"--probabilities adds those of the classes, but {label!r} is a quantity: omit the option")


def with_predictions(table: Table, prediction: pd.DataFrame, identifiers: Identifiers | None = None) -> pd.DataFrame:
    """Join the columns of a table, identifier first, and of a prediction; probabilities have six decimals.

    If several rows share an identifier, row numbers, from 1, are added after it.
    """
    prediction = prediction.round(6) if PROBABILITY in prediction else prediction.map(rounded)
    columns = table.to_frame()
    if identifiers is not None:
        columns.insert(0, identifiers.column, columns.pop(identifiers.column))
        if identifiers.repeated and ROW not in columns:
            columns.insert(1, ROW, range(1, len(columns) + 1))
    return columns.join(prediction)


def rounded(number: float) -> float:
    """Round a number to the significant digits that files have."""
    return float(f"{number:.{_DIGITS}g}")


def write_frame(frame: pd.DataFrame, path: Path | None) -> None:
    """Write a data frame to a .csv or .tsv file, atomically, or to standard output."""
    if path is None:
        sys.stdout.write(table_text(frame))
    else:
        write_atomically(path, table_text(frame, path.suffix).encode())


def check_results_folder(folder: Path) -> None:
    """Refuse a folder for results that is a file or cannot be created, before the work starts."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, but results are written into a folder: choose another name")
    _try_to_write(folder / "results")


def _try_to_write(path: Path) -> None:
    """Open `path` if it is a file, and write a temporary file into the nearest existing folder above it."""
    try:
        if path.is_file():
            path.open("ab").close()
        with tempfile.TemporaryFile(dir=next(parent for parent in path.absolute().parents if parent.exists())):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): choose another place") from error


def command_line() -> str:
    """Return the command line of this process."""
    return shlex.join(["s2gnn", *sys.argv[1:]])


@overload
def names(text: str) -> list[str]: ...
@overload
def names(text: str | None) -> list[str] | None: ...
def names(text: str | None) -> list[str] | None:
    """Split names at commas, except in double quotes; `None` if the option was omitted."""
    if text is None:
        return None
    try:
        found = list(csv.reader([text], skipinitialspace=True))
    except csv.Error as error:
        raise InputError(f"{text!r} cannot be split at commas: put names with line breaks in double quotes") from error
    return [name.strip() for name in found[0]] if found and found[0] else [""]


def counting_bar(*further: ProgressColumn, description: str = "{task.description}") -> Progress:
    """Create a progress bar on standard error: description, count, time, and `further` columns."""
    columns = (TextColumn(description), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), *further)
    return Progress(*columns, console=Console(stderr=True))


def print_table(title: str, header: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table on standard output; text is left-aligned, numbers are right-aligned, names are never cut."""
    lines = list(map(tuple, rows))
    table = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for position, name in enumerate(header):
        numeric = all(_NUMBER.fullmatch(line[position]) for line in lines)
        table.add_column(name, justify="right" if numeric else "left", no_wrap=numeric or not position, overflow="fold")
    for line in lines:
        table.add_row(*line)
    Console(highlight=False).print(table)


def print_facts(facts: Mapping[str, str | None]) -> None:
    """Print a line for each name and its text, which is wrapped at the width of the terminal, unless it is empty."""
    width, indent = shutil.get_terminal_size().columns, " " * _NAME_WIDTH
    for name, text in facts.items():
        if text:
            start = f"{name:{_NAME_WIDTH - 1}s} "
            print(textwrap.fill(text, width, initial_indent=start, subsequent_indent=indent, break_long_words=False))
