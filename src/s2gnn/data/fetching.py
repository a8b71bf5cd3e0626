"""Get a data set's file: from the data folder, from the cache, or from its publisher into the cache."""

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from s2gnn.data.catalogue import Entry
from s2gnn.data.download import download, file_sha256
from s2gnn.data.originals import convert
from s2gnn.data.places import cached_file, local_file, writable_cache
from s2gnn.errors import InputError
from s2gnn.file_lock import locked
from s2gnn.files import write_atomically


def whereabouts(entry: Entry) -> str:
    """Where a data set is now: "bundled", "local", "cache" or "not here"."""
    if entry.file is None:
        return "bundled"
    if local_file(entry.file):
        return "local"
    return "cache" if cached_file(entry.file).is_file() else "not here"


def obtain(entry: Entry, *, progress: bool = False) -> tuple[Path, str]:
    """The file of a data set that is not bundled, and where it came from in words."""
    if entry.file is None:
        raise InputError(f"{entry.name} comes with scikit-learn and has no file")
    local = local_file(entry.file)
    if local:
        return local, f"S2GNN_DATA: {entry.file}"
    path = fetch(entry, progress=progress)
    host = f"from {entry.originals[0].url.split('/')[2]}" if entry.originals else "put there by hand"
    return path, f"cache: {entry.file} ({host}{'' if entry.sha256_known else ', unverified'})"


def fetch(entry: Entry, *, progress: bool = False) -> Path:
    """The cached file of a data set, downloaded and converted if it is not there yet.

    Originals that were put into the folder of downloads by hand are used like downloaded ones.
    """
    if entry.file is None:
        raise InputError(f"{entry.name} comes with scikit-learn and has nothing to fetch")
    target = cached_file(entry.file)
    if target.is_file():
        return target
    if not entry.originals:
        raise InputError(
            f"{entry.name} is not here and cannot be downloaded, because {entry.otherwise}, and put it at {target}"
        )
    folder = writable_cache("downloads") / Path(entry.file).name.split(".")[0]
    folder.mkdir(exist_ok=True)
    with _one_process(folder.with_suffix(".lock")):
        if target.is_file():
            return target
        originals = {}
        for original in entry.originals:
            originals[original.name] = place = folder / original.name
            if not place.is_file():
                try:
                    download(original.url, place, original.sha256, progress=progress)
                except InputError as error:
                    raise InputError(f"{error}; otherwise {_by_hand(entry, folder)}") from error
            elif original.sha256 not in (None, file_sha256(place)):
                raise InputError(f"{place} is not {original.url} (its sha256 differs): remove it and run this again")
        if target.suffix == ".npz":
            buffer = io.BytesIO()
            np.savez_compressed(buffer, allow_pickle=False, **convert(entry.file, originals))
            write_atomically(target, buffer.getvalue())
        else:
            (place,) = originals.values()
            target.parent.mkdir(parents=True, exist_ok=True)
            place.replace(target)
        shutil.rmtree(folder)
    return target


def _by_hand(entry: Entry, folder: Path) -> str:
    """What to fetch on another machine and where to put it."""
    first, *others = entry.originals
    if not others:
        return f"fetch {first.url} on a machine that can and put it at {folder / first.name}"
    names = ", ".join(original.name for original in entry.originals)
    return f"fetch {names} from {first.url.rsplit('/', 1)[0]} on a machine that can and put them into {folder}"


@contextmanager
def _one_process(lock: Path) -> Iterator[None]:
    """Wait until no other process is inside with the same `lock` file."""
    with lock.open("w") as handle, locked(handle.fileno()):
        yield
