"""The files of a model folder: arrays as NPZ without pickles, and plain files read safely."""

import io
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError

MODEL_FOLDER = "a folder written by s2gnn fit or save_estimator"


def packed(arrays: Mapping[str, Any]) -> bytes:
    """The arrays as an NPZ archive."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def unpacked(content: bytes, names: Collection[str]) -> dict[str, NDArray[Any]]:
    """The named arrays of an NPZ archive, where it has them.

    Compressed arrays are refused: a small file could expand to any size.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as members:
        if any(member.compress_type != zipfile.ZIP_STORED for member in members.infolist()):
            raise InputError("it contains a compressed array, which is not allowed")
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in names if name in archive.files}


def read_plain_file(folder: Path, name: str, largest: int | None = None) -> bytes:
    """The bytes of a plain file in `folder`; a symlink, which may point anywhere, is refused."""
    path = folder / name
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: give {MODEL_FOLDER}")
    if path.is_symlink() or not path.is_file():
        raise InputError(f"{path} is missing or not a plain file: give {MODEL_FOLDER}")
    try:
        size = path.stat().st_size
        if largest is not None and size > largest:
            raise InputError(f"{path} has {size:,} bytes, but one written by save_estimator has at most {largest:,}")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (MemoryError, OverflowError) as error:
        raise InputError(f"{path} has {size:,} bytes, for which there is no memory") from error
