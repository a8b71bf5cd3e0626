"""Convert the publishers' files into the arrays of the data folder's files."""

import io
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from numpy.typing import NDArray
from scipy.io.matlab import MatReadError

from s2gnn.data.ogbn_proteins import read_raw
from s2gnn.data.planetoid import read_planetoid
from s2gnn.errors import InputError
from s2gnn.reading import opened_archive, read_bytes, unpacked_limit
from s2gnn.resources import DeadProcessError, LimitError, Limits, in_own_process

Arrays = dict[str, NDArray[Any]]

HAR_ROWS = {"train": 7_352, "test": 2_947}
OGBN_PROTEINS_LABELS = (132_534, 112)
ISOLET_GROUPS = (1_560, 1_560, 1_560, 1_558, 1_559)
CLEAR, FIRST_BITS = 256, 9  # of the format .Z

_DAMAGED = (
    ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, EOFError, MatReadError, zlib.error,
    DeadProcessError, LimitError,
)  # fmt: skip
MAT_LIMITS = Limits(seconds=300, resident=2**32)


def convert(file: str, originals: Sequence[Path]) -> Arrays:
    """Convert the publisher's files into the arrays of the data folder's `file`.

    Raises:
        InputError: if the originals are damaged or not what the publisher described.
    """
    try:
        return _CONVERSIONS[file](*originals)
    except _ChangedError:
        raise
    except _DAMAGED as error:
        names = ", ".join(map(str, originals))
        raise InputError(
            f"{names} cannot be read as {file} ({error}): delete the damaged file and fetch it again"
        ) from error


class _ChangedError(InputError):
    """The file can be read, but differs from the publisher's description."""


def _convert_planetoid(*originals: Path) -> Arrays:
    """Convert eight files named ind.<network>.<part>."""
    return read_planetoid({path.name.split(".", 2)[2]: read_bytes(path) for path in originals})


def _convert_kather(original: Path) -> Arrays:
    """Return the publishers' MATLAB file: `source_array` (38, N), `target_array` (8, N) of 0 and 1, `TisCatsName`."""
    # SciPy's reader reads out of bounds in some damaged files, which kills the process, so it runs in a separate one.
    stored = in_own_process(_read_mat, original, limits=MAT_LIMITS)
    X = np.ascontiguousarray(stored["source_array"].T, dtype=np.float64)
    names = [str(np.ravel(name)[0]).strip() for name in stored["TisCatsName"].ravel()]
    _require("Kather's features", X.shape, (5_000, 38))
    return {"X": X, "y": stored["target_array"].argmax(axis=0).astype(np.int8), "label_names": np.array(names)}


def _read_mat(path: Path) -> dict[str, Any]:
    content = io.BytesIO(read_bytes(path))
    try:
        read: dict[str, Any] = scipy.io.loadmat(content, variable_names=("source_array", "target_array", "TisCatsName"))
    except OSError as error:  # the end of the content
        raise MatReadError(str(error)) from error
    return read


def _convert_har(original: Path) -> Arrays:
    """Convert UCI's zip, in which "UCI HAR Dataset.zip" holds text tables split into train and test by person."""
    with opened_archive(original) as outer:
        inner = io.BytesIO(outer.read("UCI HAR Dataset.zip"))
    with opened_archive(inner) as archive:

        def table(name: str, dtype: Any) -> NDArray[Any]:
            parts = [archive.read(f"UCI HAR Dataset/{part}/{name}_{part}.txt") for part in HAR_ROWS]
            return np.concatenate([np.loadtxt(io.BytesIO(part), dtype=dtype) for part in parts])

        def second_words(name: str) -> NDArray[Any]:
            lines = archive.read(f"UCI HAR Dataset/{name}.txt").decode().splitlines()
            return np.array([line.split()[1] for line in lines])

        X = table("X", np.float32)
        _require("HAR's features", X.shape, (sum(HAR_ROWS.values()), 561))
        return {
            "X": X,
            "y": table("y", np.int8) - np.int8(1),
            "subject": table("subject", np.int8),
            "is_test": np.arange(len(X)) >= HAR_ROWS["train"],
            "label_names": second_words("activity_labels"),
            "feature_names": second_words("features"),
        }


def _convert_isolet(original: Path) -> Arrays:
    """Convert UCI's zip of two .Z tables: four groups of speakers, identified here by position, and the fifth."""
    with opened_archive(original) as archive:
        texts = [uncompress(archive.read(name)) for name in ("isolet1+2+3+4.data.Z", "isolet5.data.Z")]
    tables = np.concatenate([np.loadtxt(io.BytesIO(text), delimiter=",", dtype=np.float32) for text in texts])
    _require("Isolet's rows and labels", tables.shape, (sum(ISOLET_GROUPS), 618))
    group = np.repeat(np.arange(1, 6, dtype=np.int8), ISOLET_GROUPS)
    return {
        "X": np.ascontiguousarray(tables[:, :-1]),
        "y": (tables[:, -1] - 1).astype(np.int8),
        "group": group,
        "is_test": group == 5,
        "label_names": np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ")),
    }


def _convert_ogbn_proteins(original: Path) -> Arrays:
    """Convert OGB's zip, which holds tables as gzipped text."""
    with opened_archive(original) as archive:
        arrays = read_raw(zipfile.Path(archive, "proteins/raw/"))
    _require("the labels of ogbn-proteins", arrays["y"].shape, OGBN_PROTEINS_LABELS)
    return arrays


def _require(what: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if found != expected:
        raise _ChangedError(f"{what} have shape {found}, expected {expected}: the publisher's file has changed")


def uncompress(content: bytes) -> bytes:
    """Decompress a file in the Unix format .Z, which Python has no module for: LZW codes of 9 to 16 bits.

    Codes come in groups of eight of the same width; when the width changes, the rest of a group is padding.
    """
    if content[:2] != b"\x1f\x9d" or len(content) < 3:
        raise InputError("the file is not in compress format (.Z): it does not begin with the bytes 1f 9d")
    max_bits, block_mode = content[2] & 0x1F, bool(content[2] & 0x80)
    # compress -b 9 also writes codes of 10 bits; such files are not distributed.
    if not FIRST_BITS < max_bits <= 16:
        raise InputError(f"the .Z file has codes of up to {max_bits} bits, but 10 to 16 can be read")
    literals = [bytes([value]) for value in range(256)] + ([b""] if block_mode else [])
    table, previous = list(literals), b""
    pieces: list[bytes] = []
    left = unpacked_limit(len(content))
    bits, position, group_start = FIRST_BITS, 24, 24
    while position + bits <= 8 * len(content):
        byte = position >> 3
        window = int.from_bytes(content[byte : byte + 4], "little")
        code = (window >> (position & 7)) & ((1 << bits) - 1)
        position += bits
        if code == CLEAR and block_mode:
            table, previous = list(literals), b""
            position = group_start = _next_group(position, group_start, bits)
            bits = FIRST_BITS
            continue
        if code < len(table):
            entry = table[code]
        elif code == len(table) and previous:
            entry = previous + previous[:1]
        else:
            raise InputError(f"the .Z file is damaged: code {code} at bit {position - bits} is not in the table")
        pieces.append(entry)
        left -= len(entry)
        if left < 0:
            raise InputError("the .Z file unpacks to more than its size allows")
        if previous and len(table) < 1 << max_bits:
            table.append(previous + entry[:1])
        previous = entry
        if len(table) >= 1 << bits and bits < max_bits:
            position = group_start = _next_group(position, group_start, bits)
            bits += 1
    return b"".join(pieces)


def _next_group(position: int, group_start: int, bits: int) -> int:
    """Return the first bit after the group of eight codes that ends at or after `position`."""
    group = 8 * bits
    return group_start + -(-(position - group_start) // group) * group


_CONVERSIONS: dict[str, Callable[..., Arrays]] = {
    "kather/kather_lbp38.npz": _convert_kather,
    "har/har.npz": _convert_har,
    "isolet/isolet.npz": _convert_isolet,
    "citation/cora.npz": _convert_planetoid,
    "citation/citeseer.npz": _convert_planetoid,
    "citation/pubmed.npz": _convert_planetoid,
    "ogbn_proteins/ogbn_proteins.npz": _convert_ogbn_proteins,
}
