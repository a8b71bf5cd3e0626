from pathlib import Path

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data import cache_folder, data_file
from s2gnn.data.places import cached_file, read_arrays, writable_cache


def test_the_cache_is_chosen_by_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.setenv("S2GNN_CACHE", "~/own")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("S2GNN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "s2gnn"
    for ignored in ("relative", ""):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert cache_folder() == tmp_path / ".cache" / "s2gnn"


def test_the_data_folder_comes_before_the_cache(cache, monkeypatch, tmp_path):
    assert data_file("har/har.npz") is None
    cached_file("har/har.npz").parent.mkdir(parents=True)
    cached_file("har/har.npz").touch()
    assert data_file("har/har.npz") == cache / "data" / "har" / "har.npz"
    monkeypatch.setenv("S2GNN_DATA", str(tmp_path / "local"))
    with pytest.raises(InputError, match="S2GNN_DATA is .*local, which is not a folder: set it"):
        data_file("har/har.npz")
    (tmp_path / "local" / "har").mkdir(parents=True)
    assert data_file("har/har.npz") == cache / "data" / "har" / "har.npz"
    (tmp_path / "local" / "har" / "har.npz").touch()
    assert data_file("har/har.npz") == tmp_path / "local" / "har" / "har.npz"


def test_an_empty_name_of_the_data_folder_is_none(cache, monkeypatch, tmp_path):
    (tmp_path / "here").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("S2GNN_DATA", "")
    assert Path("here").is_file()
    assert data_file("here") is None


def test_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"the cache .*graphs cannot be written \(Not a directory\): set S2GNN_CACHE"):
        writable_cache("graphs")


def test_arrays_that_cannot_be_read(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.ones(2), objects=np.array([object()]))
    assert read_arrays(path, ("X",))[0].tolist() == [1, 1]
    for names in (("X", "y"), ("objects",)):
        with pytest.raises(
            InputError, match=r"a\.npz is damaged or lacks one of the arrays .*: remove it, and fetch or make it"
        ):
            read_arrays(path, names)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match="is damaged"):
        read_arrays(path, ("X",))
