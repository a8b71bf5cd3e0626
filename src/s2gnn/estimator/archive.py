"""Arrays as bytes and back, NPZ without pickles, for the files of a model folder."""

import io
import zipfile
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError


def packed(arrays: Mapping[str, Any]) -> bytes:
    """The arrays as an NPZ archive."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def unpacked(content: bytes, names: Collection[str]) -> dict[str, NDArray[Any]]:
    """Those arrays of an NPZ archive that are called for, where it has them.

    They must not be compressed: a small file could unfold to any size.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as members:
        if any(member.compress_type != zipfile.ZIP_STORED for member in members.infolist()):
            raise InputError("its parts do not fit together: there is a packed array")
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in names if name in archive.files}
