import io
import shutil
import subprocess
import zipfile

import numpy as np
import pytest
import scipy.io

from s2gnn import InputError
from s2gnn.data import originals
from s2gnn.data.originals import convert, uncompress

"""Rows of the real data, written in the publishers' formats, are read back unchanged."""


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def text(array, **options):
    buffer = io.StringIO()
    np.savetxt(buffer, array, **options)
    return buffer.getvalue()


def stored(data_folder, file, rows=None, by_row=()):
    """The arrays of a file of the data folder, of those in `by_row` only some rows."""
    with np.load(data_folder / file, allow_pickle=False) as archive:
        return {name: archive[name][rows] if name in by_row else archive[name] for name in archive.files}


def assert_same(arrays, expected):
    assert set(arrays) == set(expected)
    for name, array in arrays.items():
        assert array.dtype == expected[name].dtype, name
        assert np.array_equal(array, expected[name]), name


def test_har(data_folder, tmp_path, monkeypatch):
    rows = np.r_[0:4000:100, 8000:10000:100]
    real = stored(data_folder, "har/har.npz", rows, ("X", "y", "subject", "is_test"))
    inner = {
        "activity_labels.txt": "".join(f"{i} {name}\n" for i, name in enumerate(real["label_names"], 1)),
        "features.txt": "".join(f"{i} {name}\n" for i, name in enumerate(real["feature_names"], 1)),
    }
    for part, chosen in (("train", ~real["is_test"]), ("test", real["is_test"])):
        inner[f"{part}/X_{part}.txt"] = text(real["X"][chosen], fmt="% .8e")
        inner[f"{part}/y_{part}.txt"] = text(real["y"][chosen] + 1, fmt="%d")
        inner[f"{part}/subject_{part}.txt"] = text(real["subject"][chosen], fmt="%d")
    packed = zipped(tmp_path / "inner.zip", {f"UCI HAR Dataset/{name}": content for name, content in inner.items()})
    path = zipped(tmp_path / "har.zip", {"UCI HAR Dataset.zip": packed.read_bytes()})
    with pytest.raises(InputError, match=r"HAR's features have shape \(60, 561\), expected \(10299, 561\)"):
        convert("har/har.npz", [path])
    monkeypatch.setattr(originals, "HAR_ROWS", {"train": 40, "test": 20})
    assert_same(convert("har/har.npz", [path]), real)


def test_isolet(data_folder, tmp_path, monkeypatch):
    real = stored(data_folder, "isolet/isolet.npz", np.arange(0, 7797, 200), ("X", "y", "group", "is_test"))
    tables = [
        "".join(
            ", ".join(f"{value:.4f}" for value in x) + f", {label + 1}.\n"
            for x, label in zip(real["X"][chosen], real["y"][chosen], strict=True)
        )
        for chosen in (~real["is_test"], real["is_test"])
    ]
    names = ("isolet1+2+3+4.data.Z", "isolet5.data.Z")
    path = zipped(tmp_path / "isolet.zip", {n: compress(t.encode()) for n, t in zip(names, tables, strict=True)})
    with pytest.raises(InputError, match=r"Isolet's rows and labels have shape \(39, 618\), expected \(7797, 618\)"):
        convert("isolet/isolet.npz", [path])
    monkeypatch.setattr(originals, "ISOLET_GROUPS", tuple(np.bincount(real["group"])[1:]))
    assert_same(convert("isolet/isolet.npz", [path]), real)


def test_kather(data_folder, tmp_path):
    real = stored(data_folder, "kather/kather_lbp38.npz")
    content = {
        "source_array": real["X"].T,
        "target_array": np.eye(8, dtype=np.uint8)[real["y"]].T,
        "TisCatsName": real["label_names"].astype(object)[None, :],
        "infostring": "features",
    }
    path = tmp_path / "f-lbp.mat"
    scipy.io.savemat(path, content, do_compression=True)
    assert_same(convert("kather/kather_lbp38.npz", [path]), real)
    scipy.io.savemat(path, content | {"source_array": real["X"]})
    with pytest.raises(InputError, match=r"Kather's features have shape \(38, 5000\), expected \(5000, 38\)"):
        convert("kather/kather_lbp38.npz", [path])


@pytest.mark.parametrize(
    ("file", "name"),
    [("har/har.npz", "har.zip"), ("isolet/isolet.npz", "isolet.zip"), ("kather/kather_lbp38.npz", "f-lbp.mat")],
)
def test_damaged_originals(tmp_path, file, name):
    path = tmp_path / name
    matlab = io.BytesIO()
    scipy.io.savemat(matlab, {"source_array": np.ones((38, 50))})
    for content in (b"", b"<html>sorry</html>" * 20, matlab.getvalue()[:-100]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"{name} cannot be read as {file}") as raised:
            convert(file, [path])
        assert "\n" not in str(raised.value)


RNG = np.random.default_rng(0)
NUMBERS = "\n".join(f"{value:.4f}" for value in RNG.normal(size=60_000)).encode()
CONTENTS = {
    "empty": b"",
    "one byte": b"a",
    "repeated": b"a" * 10_000,
    "numbers": NUMBERS,
    "bytes": RNG.bytes(120_000),  # more codes than 16 bits can name
}


def compress(content, max_bits=16, clear_after=None):
    """What the Unix command writes; a new table starts after `clear_after` codes."""
    bits, out, group = 9, bytearray([0x1F, 0x9D, 0x80 | max_bits]), []

    def flush(padded):
        if group:
            number = sum(code << (bits * i) for i, code in enumerate(group))
            out.extend(number.to_bytes(bits if padded else -(-bits * len(group) // 8), "little"))
            group.clear()

    def emit(code):
        group.append(code)
        if len(group) == 8:
            flush(padded=True)

    table, size, since_clear, known = {bytes([i]): i for i in range(256)}, 257, 0, b""
    for byte in content:
        longer = known + bytes([byte])
        if longer in table:
            known = longer
            continue
        emit(table[known])
        since_clear += 1
        if size >= 1 << bits and bits < max_bits:
            flush(padded=True)
            bits += 1
        if size < 1 << max_bits:
            table[longer] = size
            size += 1
        known = bytes([byte])
        if since_clear == clear_after:
            emit(256)
            flush(padded=True)
            bits, size, since_clear = 9, 257, 0
            table = {bytes([i]): i for i in range(256)}
    if known:
        emit(table[known])
    flush(padded=False)
    return bytes(out)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("options", [{}, {"max_bits": 12}, {"max_bits": 13, "clear_after": 5_003}])
def test_reads_what_compress_writes(content, options):
    compressed = compress(content, **options)
    assert uncompress(compressed) == content
    if shutil.which("gzip"):  # gzip reads .Z: the test's own writer is right
        assert subprocess.run(["gzip", "-dc"], input=compressed, capture_output=True, check=True).stdout == content


def test_what_is_not_compressed():
    for content in (b"", b"\x1f\x8b\x08", b"\x1f\x9d"):
        with pytest.raises(InputError, match="is not in compress format"):
            uncompress(content)
    for bits in (9, 17):
        with pytest.raises(InputError, match=f"codes of up to {bits} bits"):
            uncompress(bytes([0x1F, 0x9D, 0x80 | bits, 97, 98, 99]))
    with pytest.raises(InputError, match="is damaged: code 511 at bit 24 is not in the table"):
        uncompress(b"\x1f\x9d\x90\xff\xff\xff")
