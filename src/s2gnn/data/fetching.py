"""Files of data sets: in the folder S2GNN_DATA, in the cache, or downloaded from the publisher."""

import io
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pooch
import requests
from filelock import FileLock
from numpy.typing import NDArray

from s2gnn import reading
from s2gnn.data.catalogue import DatasetInfo
from s2gnn.data.originals import convert
from s2gnn.errors import InputError
from s2gnn.files import write_atomically
from s2gnn.progress import progress_bar

TIMEOUT = 30.0  # seconds
BLOCK = 2**16

pooch.get_logger().setLevel("WARNING")  # a progress bar shows what it would log


def cache_folder() -> Path:
    """Return the cache folder: S2GNN_CACHE, or s2gnn in XDG_CACHE_HOME, or ~/.cache/s2gnn. It may not exist yet."""
    chosen = os.environ.get("S2GNN_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore relative paths.
    return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "s2gnn"


def writable_cache(part: str) -> Path:
    """Return the folder `part` in the cache, created if missing."""
    folder = cache_folder() / part
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InputError(
            f"the cache {folder} cannot be written ({error.strerror}): set S2GNN_CACHE to a writable folder"
        ) from error
    return folder


def local_file(name: str) -> Path | None:
    """Return the file `name` in the folder S2GNN_DATA, if it exists."""
    folder = os.environ.get("S2GNN_DATA")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise InputError(f"S2GNN_DATA is {folder}, which is not a folder: set it to that of the data, or unset it")
    path = Path(folder) / name
    return path if path.is_file() else None


def cached_file(name: str) -> Path:
    """Return the path of the file `name` in the cache; it may not exist."""
    return cache_folder() / "data" / name


def data_file(name: str) -> Path | None:
    """Return the local or cached path of a data file such as "har/har.npz"; `None` if it does not exist."""
    local, cached = local_file(name), cached_file(name)
    return local or (cached if cached.is_file() else None)


def whereabouts(info: DatasetInfo) -> str:
    """Return the location of a data set: "bundled", "local", "cache" or "not here"."""
    if info.file is None:
        return "bundled"
    if local_file(info.file):
        return "local"
    return "cache" if cached_file(info.file).is_file() else "not here"


def obtain(info: DatasetInfo, *, progress: bool = False) -> tuple[Path, str]:
    """Return the file of a data set that is not bundled, and a description of its source."""
    local = local_file(info.file) if info.file else None
    if local:
        return local, f"S2GNN_DATA: {info.file}"
    path = fetch(info, progress=progress)
    host = f"from {info.originals[0].url.split('/')[2]}" if info.originals else "added manually"
    return path, f"cache: {info.file} ({host}{'' if info.sha256_known else ', unverified'})"


def fetch(info: DatasetInfo, *, progress: bool = False) -> Path:
    """Return the cached file of a data set, after downloading and converting it if necessary.

    Originals that you copy into the folder of downloads are used like downloaded ones.
    """
    if info.file is None:
        raise InputError(f"{info.name} comes with scikit-learn and has nothing to fetch")
    target = cached_file(info.file)
    if target.is_file():
        return target
    if not info.originals:
        raise InputError(
            f"{info.name} is not here and cannot be downloaded, because {info.otherwise}, and put it at {target}"
        )
    folder = writable_cache("downloads") / Path(info.file).name.split(".")[0]
    folder.mkdir(exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if target.is_file():
            return target
        originals = [folder / original.name for original in info.originals]
        for original, path in zip(info.originals, originals, strict=True):
            if not path.is_file():
                try:
                    download(original.url, path, original.sha256, progress=progress)
                except InputError as error:
                    names, place = ", ".join(path.name for path in originals), original.url.rsplit("/", 1)[0]
                    raise InputError(
                        f"{error}; otherwise fetch {names} from {place} on another machine and copy to {folder}"
                    ) from error
            elif original.sha256 not in (None, pooch.file_hash(str(path))):
                raise InputError(f"{path} is not {original.url} (its sha256 differs): remove it and run this again")
        if target.suffix == ".npz":
            buffer = io.BytesIO()
            np.savez_compressed(buffer, allow_pickle=False, **convert(info.file, originals))
            write_atomically(target, buffer.getvalue())
        else:
            write_atomically(target, originals[0].read_bytes())
        shutil.rmtree(folder)
    return target


def download(url: str, path: Path, sha256: str | None, *, progress: bool = False) -> None:
    """Download `url` to `path` and verify its `sha256` (unless `None`); no partial file is left behind.

    Raises:
        InputError: if the server cannot be reached or does not have the file, the connection breaks, or the sha256
            differs.
    """

    def transfer(url: str, file: str, _: object) -> None:
        with (
            requests.get(url, stream=True, timeout=TIMEOUT) as response,
            Path(file).open("wb") as stream,
            progress_bar(path.name, shown=progress) as show,
        ):
            response.raise_for_status()
            total = int(response.headers.get("Content-Length", 0))
            for block in response.iter_content(BLOCK):
                stream.write(block)
                show(min(stream.tell() / total, 1.0) if total else 0.0)

    try:
        pooch.retrieve(url, sha256, path.name, path.parent, downloader=transfer)
    except requests.HTTPError as error:
        answer = error.response
        assert answer is not None  # in an error of `raise_for_status`
        raise InputError(f"{url} answers {answer.status_code} {answer.reason}") from error
    except requests.exceptions.ChunkedEncodingError as error:
        raise InputError(f"the connection to {url} broke: run this again") from error
    except requests.RequestException as error:
        raise InputError(f"{url} cannot be reached ({type(error).__name__})") from error
    except ValueError as error:
        raise InputError(f"{url} does not have the recorded sha256 {sha256}: it was removed, run this again") from error


def read_arrays(path: Path, names: Sequence[str]) -> list[NDArray[Any]]:
    """Read the arrays `names` of an .npz file, without pickles."""
    try:
        arrays = reading.read_arrays(path, names.__contains__)
        return [arrays[name] for name in names]
    except (FileNotFoundError, KeyError, InputError) as error:
        raise InputError(
            f"{path} is damaged or lacks one of the arrays {', '.join(names)}: remove it, and fetch or make it again"
        ) from error
