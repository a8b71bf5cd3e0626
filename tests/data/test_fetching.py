import hashlib
import io
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data import CATALOGUE, cache_folder, data_file, fetch, fetching, load_collection, load_dataset, whereabouts
from s2gnn.data.fetching import cached_file, download, obtain, read_arrays, writable_cache
from tests.data.web import web_server


@pytest.fixture
def cora_files(data_folder):
    with zipfile.ZipFile(data_folder / "citation" / "planetoid_raw.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.startswith("ind.cora.")}


def moved(name, address, **changes):
    """The data set with its originals at `address`."""
    found = CATALOGUE[name]
    return replace(found, originals=tuple(replace(o, url=f"{address}/{o.name}", **changes) for o in found.originals))


def test_cora_from_its_publisher_is_cora_of_the_data_folder(data_folder, cache, cora_files, monkeypatch):
    with web_server(cora_files) as (address, asked):
        cora = moved("cora", address)
        monkeypatch.setitem(CATALOGUE, "cora", cora)
        assert whereabouts(cora) == "not here"
        fetched = load_dataset("cora")
        assert whereabouts(cora) == "cache"
        load_dataset("cora")
    assert len(asked) == 8
    assert fetched.source == f"cache: citation/cora.npz (from {address[7:]})"
    assert {path.name for path in cache.rglob("*") if path.is_file()} == {"cora.npz", "cora.lock"}
    monkeypatch.setenv("S2GNN_DATA", str(data_folder))
    local = load_dataset("cora")
    assert local.source == "S2GNN_DATA: citation/cora.npz"
    assert (fetched.x != local.x).nnz == 0
    assert np.array_equal(fetched.y, local.y)
    assert fetched.graph == local.graph


def test_two_at_once_download_once(cache, cora_files):
    with web_server(cora_files) as (address, asked), ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(fetch, [moved("cora", address)] * 2))
    assert paths[0] == paths[1]
    assert len(asked) == 8


def test_originals_may_be_added_manually(cache, cora_files):
    folder = cache / "downloads" / "cora"
    folder.mkdir(parents=True)
    for name, content in cora_files.items():
        (folder / name).write_bytes(content)
    with web_server({}) as (address, asked):
        (folder / "ind.cora.x").write_bytes(b"other")
        with pytest.raises(InputError, match=r"ind\.cora\.x is not http.* \(its sha256 differs\): remove it"):
            fetch(moved("cora", address))
        (folder / "ind.cora.x").write_bytes(cora_files["ind.cora.x"])
        assert fetch(moved("cora", address)) == cache / "data" / "citation" / "cora.npz"
    assert asked == []


def test_an_archive_is_kept_as_it_is_and_an_unknown_sha256_is_reported(cache):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz"):
        pass
    with web_server({"20news-bydate.tar.gz": buffer.getvalue()}) as (address, _):
        news = moved("20news", address)
        with pytest.raises(InputError, match="does not have the recorded sha256"):
            fetch(news)
        unverified = replace(news, originals=(replace(news.originals[0], sha256=None),))
        path, source = obtain(unverified)
    assert path.read_bytes() == buffer.getvalue()
    assert source.endswith(", unverified)")


@pytest.mark.parametrize("name", [name for name, found in CATALOGUE.items() if found.originals])
def test_the_error_offline_names_what_to_fetch_and_where_to_put_it(cache, name, monkeypatch):
    address = "http://127.0.0.1:9"  # the discard port, where nothing listens
    monkeypatch.setitem(CATALOGUE, name, moved(name, address))
    names = ", ".join(original.name for original in CATALOGUE[name].originals)
    load = load_collection if CATALOGUE[name].task == "graphs" else load_dataset
    with pytest.raises(InputError, match="cannot be reached") as raised:
        load(name)
    place = cache / "downloads" / Path(CATALOGUE[name].file).name.split(".")[0]
    end = f"; otherwise fetch {names} from {address} on another machine and copy to {place}"
    assert str(raised.value).endswith(end)
    assert "\n" not in str(raised.value)


def test_unpublished_data_sets(cache):
    with pytest.raises(InputError, match="ppi-human is not here and cannot be downloaded, because it is not") as raised:
        load_dataset("ppi-human")
    assert str(raised.value).endswith(f"put it at {cache / 'data' / 'ppi_human' / 'ppi_human.npz'}")
    with pytest.raises(InputError, match="digits comes with scikit-learn and has nothing to fetch"):
        fetch(CATALOGUE["digits"])


def test_the_catalogue_is_complete():
    for name, found in CATALOGUE.items():
        assert name == found.name
        assert found.licence and found.citation  # noqa: PT018
        assert (found.file is None) == (name == "digits")
        assert bool(found.originals) == (name not in ("digits", "ppi-human"))
        assert all(o.url.startswith("https://") or o.sha256 for o in found.originals)
    assert {name for name, found in CATALOGUE.items() if found.originals and not found.sha256_known} == {
        "cancer-b",
        "cancer-m",
        "isolet",
        "ogbn-proteins",
    }


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
    monkeypatch.chdir(tmp_path / "local")
    monkeypatch.setenv("S2GNN_DATA", "")
    assert data_file("har/har.npz") == cache / "data" / "har" / "har.npz"


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


CONTENT = np.random.default_rng(0).bytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
FILES = {"file": CONTENT}


@pytest.mark.parametrize("sha256", [SHA256, None])
def test_download(tmp_path, sha256, capsys):
    path = tmp_path / "deep" / "file"
    with web_server(FILES) as (address, asked):
        download(f"{address}/file", path, sha256, progress=True)
    assert path.read_bytes() == CONTENT
    assert asked == ["file"]
    shown = capsys.readouterr().err
    assert "100%" in shown
    assert "Downloading" not in shown


@pytest.mark.parametrize(
    ("name", "sha256", "broken", "message"),
    [
        ("file", SHA256, True, "the connection to {}/file broke: run this again"),
        ("file", None, True, "the connection to {}/file broke: run this again"),
        (
            "file",
            "0" * 64,
            False,
            "{}/file does not have the recorded sha256 " + "0" * 64 + ": it was removed, run this again",
        ),
        ("other", SHA256, False, "{}/other answers 404 Not Found"),
    ],
)
def test_a_failed_download_leaves_nothing(tmp_path, name, sha256, broken, message):
    with web_server(FILES, broken=broken) as (address, _), pytest.raises(InputError) as raised:
        download(f"{address}/{name}", tmp_path / name, sha256)
    assert str(raised.value) == message.format(address)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_download_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(share):
        raise KeyboardInterrupt

    monkeypatch.setattr(fetching, "progress_bar", lambda *_, **__: nullcontext(interrupt))
    with web_server(FILES) as (address, _), pytest.raises(KeyboardInterrupt):
        download(f"{address}/file", tmp_path / "file", SHA256)
    assert list(tmp_path.iterdir()) == []
