"""Changes to files that know their format, so that what lies behind checksums and syntax is changed, too."""

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

Mutate = Callable[[bytes], bytes]

VALUES = (
    None, True, False, 0, 1, -1, 3, 2**31, 2**63, 2**70, -(2**63), 0.5, -0.0, 1e-320, 1e308, 10**400, "", "x", "0",
    "nan", "\ud800", "\0", [], {}, [[]], [None], [1, 2], {"x": 1}, {"pairs": [[1, 2]]},
)  # fmt: skip
NUMBERS = (0.0, -1.0, 1.0, np.nan, np.inf, 1e300, 5e-324, 2.0**31, 2.0**63)
TYPES = ("f8", "f4", "f2", "i8", "i4", "u8", "u1", "?", "U1", "S1", "c16", "M8[s]", "V3", "O")


def mutated(content: bytes, rng: random.Random, raw: Mutate) -> bytes:
    """`content` with one change: to its bytes, by `raw`, or to a value inside."""
    if rng.random() < 0.25:
        return raw(content)
    for change in (_archive, _array, _tensors, _lines):
        try:
            found = change(content, rng, raw)
        except Exception:  # noqa: BLE001  not of this format
            continue
        if found is not None:
            return found
    return raw(content)


def _archive(content: bytes, rng: random.Random, raw: Mutate) -> bytes | None:
    if not content.startswith(b"PK"):
        return None
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(list(members))
    fate = rng.random()
    if fate < 0.05:
        del members[name]
    elif fate < 0.1:
        members[rng.choice(list(members))] = members[name]
    else:
        members[name] = mutated(members[name], rng, raw)
    method = zipfile.ZIP_DEFLATED if len(content) % 2 else zipfile.ZIP_STORED
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method if fate < 0.15 else zipfile.ZIP_STORED) as written:
        for name, member in members.items():
            written.writestr(name, member)
    return buffer.getvalue()


def _array(content: bytes, rng: random.Random, raw: Mutate) -> bytes | None:
    if not content.startswith(b"\x93NUMPY"):
        return None
    fate = rng.random()
    if fate < 0.15:
        return raw(content[:128]) + content[128:]
    array = np.load(io.BytesIO(content), allow_pickle=False)
    if fate < 0.35:
        array = array.astype(rng.choice(TYPES))
    elif fate < 0.5:
        array = rng.choice((array[..., None], array[None], array.ravel(), array.ravel()[:0], array.T, array.ravel()[0]))
    elif array.dtype.kind == "U" and array.ndim == 0:
        array = np.array(mutated(str(array).encode(), rng, raw).decode(errors="replace"))
    elif array.dtype.kind in "fiub" and array.size:
        array = array.copy()
        with np.errstate(all="ignore"):
            array.flat[rng.randrange(array.size)] = np.array(rng.choice(NUMBERS)).astype(array.dtype)
    else:
        array = array.ravel()[: rng.randrange(array.size + 1)]
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def _tensors(content: bytes, rng: random.Random, raw: Mutate) -> bytes | None:
    """A safetensors file: the length of a header, the header as JSON, and numbers."""
    if content[8:9] != b"{":
        return None
    (length,) = struct.unpack("<Q", content[:8])
    header, numbers = content[8 : 8 + length], content[8 + length :]
    if rng.random() < 0.3:
        return content[: 8 + length] + raw(numbers)
    header = mutated(header, rng, raw)
    return struct.pack("<Q", len(header)) + header + numbers


def _lines(content: bytes, rng: random.Random, raw: Mutate) -> bytes | None:
    """Lines of JSON, or one JSON document of many lines."""
    if not content.lstrip().startswith((b"{", b"[")):
        return None
    try:
        return _document(content, rng, raw)
    except ValueError:
        lines = content.split(b"\n")
        place = rng.randrange(len(lines))
        lines[place] = _document(lines[place], rng, raw)
        return b"\n".join(lines)


def _document(content: bytes, rng: random.Random, raw: Mutate) -> bytes:
    document = [json.loads(content)]
    holders: list[Any] = []
    inner: list[Any] = [document]
    while inner:
        one = inner.pop()
        if isinstance(one, dict | list) and one:
            holders.append(one)
            inner += one.values() if isinstance(one, dict) else one
    holder = rng.choice(holders)
    key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    fate = rng.random()
    if fate < 0.1 and holder is not document:
        del holder[key]
    elif fate < 0.2 and isinstance(holder, dict):
        holder[rng.choice(["", "x", "__class__", *holder])] = holder[key]
    elif fate < 0.3 and isinstance(holder, list) and holder is not document:
        holder.extend(holder[key:] * rng.choice((1, 100)))
    elif isinstance(holder[key], str) and holder[key].startswith("{"):
        holder[key] = mutated(holder[key].encode(), rng, raw).decode(errors="replace")
    else:
        holder[key] = rng.choice(VALUES)
    return json.dumps(document[0]).encode()
