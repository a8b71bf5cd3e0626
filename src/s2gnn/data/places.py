"""Where data lies on this machine: the folder that S2GNN_DATA names, and the user's cache."""

import errno
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError


def cache_folder() -> Path:
    """The user's cache: S2GNN_CACHE, else s2gnn below XDG_CACHE_HOME, else ~/.cache/s2gnn. It may not exist yet."""
    chosen = os.environ.get("S2GNN_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification has relative paths ignored.
    return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "s2gnn"


def writable_cache(part: str) -> Path:
    """The folder called `part` in the cache, created if missing."""
    folder = cache_folder() / part
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, "Permission denied")
    except OSError as error:
        raise InputError(
            f"the cache {folder} cannot be written ({error.strerror}): set S2GNN_CACHE to a folder that can"
        ) from error
    return folder


def local_file(name: str) -> Path | None:
    """The file called `name` below the folder that S2GNN_DATA names, if it is there."""
    folder = os.environ.get("S2GNN_DATA")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise InputError(f"S2GNN_DATA is {folder}, which is not a folder: set it to that of the data, or unset it")
    path = Path(folder) / name
    return path if path.is_file() else None


def cached_file(name: str) -> Path:
    """Where the file called `name` lies in the cache once it was fetched."""
    return cache_folder() / "data" / name


def data_file(name: str) -> Path | None:
    """The file of real data called `name`, such as "har/har.npz": local, else cached, else `None`."""
    local, cached = local_file(name), cached_file(name)
    return local or (cached if cached.is_file() else None)


def read_arrays(path: Path, names: Sequence[str]) -> list[NDArray[Any]]:
    """The arrays called `names` in an .npz file, without pickles."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            return [archive[name] for name in names]
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path} is damaged or lacks one of the arrays {', '.join(names)}: remove it, and fetch or make it again"
        ) from error
