import io
import os
import struct
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save

from s2gnn import reading
from s2gnn.errors import InputError
from s2gnn.reading import parse_json, parse_safetensors, read_arrays, read_bytes


def npy(header: str, data: bytes = b"", version: int = 1) -> bytes:
    """A member of an archive with this header, whether or not it describes the data."""
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data


def header(shape: str, descr: str = "'<f8'") -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


def archive(content: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as written:
        written.writestr("a.npy", content)
    return buffer.getvalue()


def read_all(content: bytes, **options: float) -> dict[str, np.ndarray]:
    return read_arrays(io.BytesIO(content), lambda name: True, **options)


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_what_numpy_writes_is_read_as_numpy_reads_it(write):
    arrays = {
        "numbers": np.arange(12.0).reshape(3, 4),
        "columns": np.asfortranarray(np.eye(3, dtype=np.int8)),
        "text": np.array(["a", "bc", ""]),
        "none": np.empty((0, 7)),
        "one": np.array(True),
        "empty": np.array(""),
    }
    buffer = io.BytesIO()
    write(buffer, **arrays)
    read = read_all(buffer.getvalue())
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)
        assert read[name].dtype == array.dtype
        assert read[name].flags.writeable
    assert list(read_arrays(buffer, lambda name: name == "one")) == ["one"]


def test_damage_at_any_byte_is_an_input_error_or_the_same_arrays():
    whole = archive(npy(header("(8,)"), np.arange(8.0).tobytes()), zipfile.ZIP_DEFLATED)
    refused = 0
    for position in range(len(whole)):
        for mask in (0x01, 0x80, 0xFF):
            damaged = whole[:position] + bytes([whole[position] ^ mask]) + whole[position + 1 :]
            try:
                for array in read_all(damaged).values():
                    np.testing.assert_array_equal(array, np.arange(8.0))
            except InputError:
                refused += 1
        with pytest.raises(InputError):
            read_all(whole[:position])
    assert refused > len(whole)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_compressions_are_refused(method):
    with pytest.raises(InputError, match="a.npy is encrypted or not compressed as NumPy does it"):
        read_all(archive(npy(header("()"), bytes(8)), method))


def test_an_encrypted_member_is_refused():
    content = bytearray(archive(npy(header("()"), bytes(8))))
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InputError, match="a.npy is encrypted"):
        read_all(bytes(content))


@pytest.mark.parametrize(
    "content",
    [
        npy(header("(10**15,)")),
        npy(header("(1000000000000000,)")),
        npy(header(f"({2**70},)")),
        npy(header(f"(0, {2**62})")),
        npy(header("(-1, -1)"), bytes(8)),
        npy(header("(True,)")),
        npy(header("(1,)", "'<U1000000000'")),
        npy(header("(0,)", "'<U500000000'")),
        npy(header("(99999999999,)", "'<U0'")),
        npy(header("(1,)", "'|O'"), bytes(8)),
        npy(header("(1,)", "'|V8'"), bytes(8)),
        npy(header("(1,)", "'<M8[s]'"), bytes(8)),
        npy(header("(1,)", "[('a', '<f8')]"), bytes(8)),
        npy(header("(1,)", "'nonsense'")),
        npy("(" * 4000),
        npy("{" * 9000, version=2),
        npy("[]"),
        npy("{'descr': 1}"),
        npy("x" * 20_000),
        npy(header("(2,)"), bytes(8)),
        npy(header("(1,)"), bytes(9)),
        npy(header("(1,)"), version=3),
        b"\x93NUMPY",
        b"",
        b"no array",
    ],
)
def test_absurd_headers_are_refused_before_anything_is_allocated(content):
    with pytest.raises(InputError, match="a.npy (is not a|has an invalid shape)"):
        read_all(archive(content))


def test_an_archive_is_not_unpacked_beyond_its_limits(monkeypatch):
    bomb = archive(npy(header("(16777216,)", "'|u1'"), bytes(2**24)), zipfile.ZIP_DEFLATED)
    assert len(bomb) < 2**15
    assert read_all(bomb)["a"].shape == (2**24,)
    with pytest.raises(InputError, match="a.npy is a compressed array, which is not allowed"):
        read_all(bomb, expansion=1)
    monkeypatch.setattr(reading, "SMALL", 2**20)
    with pytest.raises(InputError, match="its arrays take 16,777,291 bytes, but at most 1,"):
        read_all(bomb)
    monkeypatch.setattr(reading, "SMALL", 2**40)
    monkeypatch.setattr(reading, "available_bytes", lambda: 2**21)
    with pytest.raises(InputError, match="its arrays take .* at most 1,048,576 are unpacked from this file"):
        read_all(bomb)


def test_a_plain_file_is_read_and_nothing_else(tmp_path, monkeypatch):
    path, pipe = tmp_path / "a", tmp_path / "pipe"
    path.write_bytes(b"abc")
    os.mkfifo(pipe)
    assert read_bytes(path) == b"abc"
    with pytest.raises(InputError, match="a has 3 bytes, but at most 2 can be read"):
        read_bytes(path, largest=2)
    monkeypatch.setattr(reading, "available_bytes", lambda: 4)
    with pytest.raises(InputError, match="a has 3 bytes, but at most 2 can be read"):
        read_bytes(path)
    for other in (pipe, tmp_path, Path("/dev/zero")):
        with pytest.raises(InputError, match="not a plain file"):
            read_bytes(other)
        with pytest.raises(InputError, match="not a plain file"):
            read_arrays(other, lambda name: True)
    with pytest.raises(FileNotFoundError):
        read_bytes(tmp_path / "absent")


@dataclass
class Point:
    x: float
    names: dict[str, list[int]]


def test_json_becomes_what_was_declared():
    assert parse_json(b'{"x": 1, "names": {"a": [2]}, "more": 3}', Point) == Point(1.0, {"a": [2]})
    assert parse_json(f'{{"x": 1, "names": {{"{9:0400}": []}}}}', Point) == Point(1.0, {f"{9:0400}": []})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"x": "1", "names": {}}', "Expected `float`, got `str` - at `$.x`"),
        ('{"x": 1}', "missing required field `names`"),
        ('{"x": 1e999, "names": {}}', "out of range"),
        ('{"x": NaN, "names": {}}', "malformed"),
        ("[]", "Expected `object`"),
        ('{"x": 1' + "0" * 400 + ', "names": {}}', "out of range"),
        ('{"x": 1, "names": {"a": [true]}}', "Expected `int`"),
        ('{"x": 1, "names": {"a": [1' + "0" * 400 + "]}}", "out of range"),
        ('{"x": 1, "names": {}, "more": -1' + "0" * 309 + "}", "out of range"),
        ("", "truncated"),
        (b"\xff", "malformed"),
        (b'{"x": "\xff"}', "Expected|invalid"),
        ('{"y": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_other_json_is_refused_by_the_name_of_the_field(content, message):
    with pytest.raises(InputError, match=message.replace("$", r"\$")):
        parse_json(content, Point)


def test_safetensors_come_with_their_metadata():
    whole = save({"a": torch.arange(3.0), "b": torch.ones(2, 2)}, {"key": "value"})
    tensors, metadata = parse_safetensors(whole)
    assert metadata == {"key": "value"}
    torch.testing.assert_close(tensors["a"], torch.arange(3.0))
    assert parse_safetensors(save({"a": torch.ones(1)}))[1] == {}
    for end in range(len(whole)):
        with pytest.raises(InputError):
            parse_safetensors(whole[:end])


@pytest.mark.parametrize("code", [sys.maxunicode + 1, 0xD800, 0xDFFF])
def test_text_with_characters_that_do_not_exist_is_refused(tmp_path, code):
    codes = np.array([[65, 66], [code, 0]], dtype="<u4")
    np.savez(tmp_path / "text.npz", y=codes.view("<U2")[:, 0])
    with pytest.raises(InputError, match=r"y.npy has characters that do not exist"):
        read_arrays(tmp_path / "text.npz", lambda _: True)
