"""Read untrusted files: limit their size, check them, and only then use them.

Nothing here executes or unpickles what it reads. Memory is limited before it is allocated, by the size of the file and
the free memory; anything wrong with a file raises an `InputError`.
"""

import gzip
import json
import math
import re
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal, TypeVar

import msgspec
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from safetensors import SafetensorError

from s2gnn.errors import InputError
from s2gnn.resources import available_bytes

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")
EXPANSION = 100  # an archive may unpack to this multiple of its size,
SMALL = 2**28  # and any archive to this number of bytes,
SMALL_TEXT = 2**26  # any gzipped file to this one, because parsing takes longer than reading
PLAIN = "biufSU"  # kinds of NumPy types that are numbers or text
_BLOCK = 2**20
_HEADERS: dict[tuple[int, int], Callable[..., Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}

_MANY_DIGITS = re.compile(rb"\d{309}")  # of an integer that may exceed the range of floats

_BAD_HEADER = (ValueError, KeyError, TypeError, RecursionError, MemoryError, OverflowError, SyntaxError)


def why_not(path: Path, kind: Literal["file", "folder"]) -> str:
    """Return why a path cannot be read as a file or folder, after its name in an error."""
    return f"is not a {kind}" if path.exists() else "does not exist"


def read_bytes(path: Path, *, largest: int | None = None) -> bytes:
    """Read a plain file; a pipe or a device, which may never end, is refused.

    Args:
        path: path of the file.
        largest: maximum number of bytes; default: half of the free memory.

    Raises:
        FileNotFoundError: if there is no such file.
        InputError: if it is not a plain file, is too large or cannot be read.
    """
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise InputError(f"{path} cannot be read: it is not a plain file")
        limit = _memory() if largest is None else largest
        if size > limit:
            raise InputError(f"{path} has {size:,} bytes, but at most {limit:,} can be read")
        return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def parse_json(content: bytes | str, schema: type[T]) -> T:
    """Parse JSON into the type `schema`, such as a dataclass or `dict[str, float]`, and check every field.

    Numbers must be finite, integers within the range of floats; fields that a dataclass lacks are ignored.

    Raises:
        InputError: with the name of a field of the wrong type, or the position of invalid JSON.
    """
    try:
        text = content.encode() if isinstance(content, str) else content
        parsed = msgspec.json.decode(text, type=schema)
        if _MANY_DIGITS.search(text):
            json.loads(text, parse_int=lambda digits: float(int(digits)))
    except RecursionError as error:
        raise InputError("JSON is nested too deeply") from error
    except OverflowError as error:
        raise InputError("Number out of range") from error
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InputError(str(error)) from error
    return parsed


def as_type(value: Any, schema: type[T]) -> T:
    """Convert parsed JSON to the type `schema`, see `parse_json`."""
    try:
        return msgspec.convert(value, schema)
    except (msgspec.ValidationError, OverflowError) as error:
        raise InputError(str(error)) from error


def parse_record(content: bytes, required: type) -> dict[str, Any]:
    """Parse a JSON object with all its fields, and check the fields of the dataclass `required`.

    Raises:
        InputError: as in `parse_json`.
    """
    parse_json(content, required)
    return parse_json(content, dict[str, Any])


def parse_safetensors(content: bytes) -> tuple[dict[str, "Tensor"], dict[str, str]]:
    """Read the tensors of a safetensors file by name, and its metadata.

    Raises:
        InputError: if it is damaged.
    """
    from safetensors.torch import load  # imports torch, which graphs and tables do not need

    try:
        tensors = load(content)
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError, OverflowError) as error:
        raise InputError(f"its tensors cannot be read: {str(error).splitlines()[0]}") from error
    # The library checked the header, whose length is in the first eight bytes, but does not return the metadata.
    header = parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")], dict[str, Any])
    return tensors, as_type(header.get("__metadata__", {}), dict[str, str])


def read_arrays(
    source: Path | BinaryIO, wanted: Callable[[str], bool], *, expansion: float = EXPANSION
) -> dict[str, NDArray[Any]]:
    """Read the arrays of an NPZ archive whose names are `wanted`.

    Args:
        source: path of the archive, or the archive as a stream.
        wanted: whether to read the array of this name.
        expansion: maximum ratio of the size of the arrays to that of a large archive; 1 if it is not compressed.

    Raises:
        FileNotFoundError: if there is no such file.
        InputError: if the archive is damaged, encrypted or compressed in a way that NumPy does not write, if its arrays
            exceed the limit or hold anything but numbers and text.
    """
    with opened_archive(source, lambda file: wanted(file.removesuffix(".npy")), expansion=expansion) as archive:
        members = {one.filename.removesuffix(".npy"): one for one in archive.infolist()}
        return {name: _array(archive, member) for name, member in members.items() if wanted(name)}


@contextmanager
def opened_archive(
    source: Path | BinaryIO, wanted: Callable[[str], bool] = lambda _: True, *, expansion: float = EXPANSION
) -> Iterator[zipfile.ZipFile]:
    """Yield a ZIP archive whose `wanted` members can be read without exceeding the limits; see `read_arrays`."""
    if isinstance(source, Path) and source.exists() and not source.is_file():
        raise InputError("it is not a plain file")
    try:
        with zipfile.ZipFile(source) as archive:
            _check_sizes([member for member in archive.infolist() if wanted(member.filename)], expansion)
            yield archive
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(error.strerror or str(error)) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, UnicodeError, NotImplementedError) as error:
        raise InputError(f"it is not a ZIP archive, or a damaged one: {error}") from error


def checked_csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, ...]) -> sp.csr_array:
    """Build a CSR matrix from untrusted arrays.

    Raises:
        InputError: if they do not form a matrix of this `shape`.
    """
    arrays = {"data": data, "indices": indices, "indptr": indptr}
    if any(array.ndim != 1 or array.dtype.kind not in "fiub" for array in arrays.values()) or "f" in (
        indices.dtype.kind + indptr.dtype.kind
    ):
        raise InputError("the arrays of a sparse matrix are not lists of numbers and of indices")
    if data.dtype == np.float16:
        raise InputError("SciPy does not compute with sparse matrices of float16")
    if len(shape) != 2 or len(indptr) != shape[0] + 1 or not 0 <= shape[1] < 2**31:
        raise InputError(f"a sparse matrix of shape {shape} has {len(indptr):,} row pointers")
    check_pointers(indptr, len(indices))
    if len(data) != len(indices) or not ((indices >= 0) & (indices < shape[1])).all():
        raise InputError(f"a sparse matrix has indices outside 0..{shape[1] - 1}, or other than {len(data):,} of them")
    return sp.csr_array((data, indices, indptr), shape=shape)


def check_pointers(indptr: NDArray[Any], n_entries: int) -> None:
    """Raise unless `indptr` divides `n_entries`; SciPy reads and writes beyond its memory if it does not ascend."""
    if not len(indptr) or indptr[0] != 0 or indptr[-1] > n_entries or (indptr[1:] < indptr[:-1]).any():
        raise InputError(f"its indptr does not ascend from 0 to at most {n_entries:,}")


def unpacked_limit(packed: int, expansion: float = EXPANSION, small: int | None = None) -> int:
    """Return the maximum number of bytes that a compressed file of `packed` bytes may unpack to."""
    return min(max(SMALL if small is None else small, int(expansion * packed)), _memory())


class Gunzipped(gzip.GzipFile):
    """Decompress a gzipped file in pieces, until it exceeds `unpacked_limit`.

    Args:
        file: the gzipped file.
        packed: its size in bytes.
        path: path shown in messages.
    """

    def __init__(self, file: IO[bytes], packed: int, path: object) -> None:
        super().__init__(fileobj=file)
        self._path, self._limit = path, unpacked_limit(packed, small=SMALL_TEXT)

    def check(self) -> None:
        """Decompress all of it once, so that damage and excess are found before anything is parsed."""
        while self.read(_BLOCK):
            pass
        self.rewind()

    def read(self, size: int | None = -1) -> bytes:
        """Return the next `size` bytes."""
        return self._within_limit(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        """Return at most `size` bytes from one read of the file."""
        return self._within_limit(super().read1(size))

    def _within_limit(self, content: bytes) -> bytes:
        if self.tell() > self._limit:
            raise InputError(f"{self._path} unpacks to more than {self._limit:,} bytes, the limit for its size")
        return content


def _memory() -> int:
    """Return the number of bytes that one file may take: half of the free memory."""
    return available_bytes() // 2 if sys.platform == "linux" else sys.maxsize


def _check_sizes(members: Iterable[zipfile.ZipInfo], expansion: float) -> None:
    """Refuse members that would take too much memory, or that only unlimited decompressors can unpack."""
    unpacked = packed = 0
    for member in members:
        if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(f"{member.filename} is encrypted or not compressed as NumPy does it")
        if expansion == 1 and member.compress_type != zipfile.ZIP_STORED:
            raise InputError(f"{member.filename} is a compressed array, which is not allowed")
        unpacked, packed = unpacked + member.file_size, packed + member.compress_size
    limit = unpacked_limit(packed, expansion)
    if unpacked > limit:
        raise InputError(f"its arrays take {unpacked:,} bytes, but at most {limit:,} are unpacked from this file")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Read the array in a member; its header is checked against the size of the member before allocation."""
    try:
        with archive.open(member) as stream:
            version = np.lib.format.read_magic(stream)
            shape, _, dtype = _HEADERS[version](stream)
            size = member.file_size - stream.tell()
        # A type without characters has no bytes: any number of such items would fit.
        item = max(dtype.itemsize, 1)
        if dtype.kind not in PLAIN or min(shape, default=0) < 0 or dtype.itemsize * math.prod(shape) != size:
            raise InputError(f"{member.filename} is not a complete array of numbers or text: {shape} of {dtype}")
        if item * math.prod(length or 1 for length in shape) > max(size, SMALL):
            raise InputError(f"{member.filename} has an invalid shape: {shape} of {dtype}")
        with archive.open(member) as stream:
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        if dtype.kind == "U":
            codes = np.frombuffer(array.tobytes(), array.dtype.str[0] + "u4")
            if codes.max(initial=0) > sys.maxunicode or ((codes >= 0xD800) & (codes <= 0xDFFF)).any():
                raise InputError(f"{member.filename} has characters that do not exist")
        return array
    except InputError:
        raise
    except (*_BAD_HEADER, tokenize.TokenError) as error:
        raise InputError(f"{member.filename} is not an array of numbers or text") from error
