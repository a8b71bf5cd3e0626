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
