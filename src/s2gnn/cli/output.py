"""What the commands share: where they may write, and how they print."""

import errno
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from s2gnn.errors import InputError

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def check_writable(path: Path, suffix: str) -> None:
    """Refuse a path that cannot be written before the work is done, not after it."""
    if path.suffix.lower() != suffix:
        raise InputError(f"{path} does not end in {suffix}: give a file name that does")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        if path.exists():
            path.open("ab").close()
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): choose another place") from error


def check_folder_writable(folder: Path, mark: str) -> None:
    """Refuse a folder that cannot be made, or has files but not the one that marks a model, before the work is done."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder} is a file or a link, but a model is a folder: choose another name")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / mark).is_file():
        raise InputError(f"{folder} holds other files than a model: choose a new folder")
    parent = next(parent for parent in folder.absolute().parents if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}): choose another place") from error


def print_table(title: str, header: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table on standard output, the first column left-aligned and the others right."""
    table = Table(title=title)
    for position, name in enumerate(header):
        table.add_column(name, justify="right" if position else "left")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False).print(table)


def duration(seconds: float) -> str:
    """A time for people."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
