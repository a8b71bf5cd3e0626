"""The publishers' formats, written anew from rows of the real data, give those rows back."""

import io
import zipfile

import numpy as np
import pytest
import scipy.io

from s2gnn import InputError
from s2gnn.data import originals
from s2gnn.data.originals import convert
from tests.data.test_compress import compress


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
    for content in (b"", b"<html>sorry</html>" * 20):
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"{name} cannot be read as {file}") as raised:
            convert(file, [path])
        assert "\n" not in str(raised.value)
