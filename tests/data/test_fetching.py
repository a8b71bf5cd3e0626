import io
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data import CATALOGUE, fetch, load_collection, load_dataset, whereabouts
from s2gnn.data.fetching import obtain
from tests.data.web import web_server


@pytest.fixture
def cora_files(data_folder):
    with zipfile.ZipFile(data_folder / "citation" / "planetoid_raw.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.startswith("ind.cora.")}


def moved(name, address, **changes):
    """The catalogue's entry with its originals at `address`, and changed otherwise."""
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


def test_originals_may_be_put_there_by_hand(cache, cora_files):
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


def test_an_archive_is_kept_as_it_is_and_an_unknown_sha256_is_said(cache):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz"):
        pass
    with web_server({"20news-bydate.tar.gz": buffer.getvalue()}) as (address, _):
        news = moved("20news", address)
        with pytest.raises(InputError, match="has sha256"):
            fetch(news)
        unverified = replace(news, originals=(replace(news.originals[0], sha256=None),))
        path, source = obtain(unverified)
    assert path.read_bytes() == buffer.getvalue()
    assert source.endswith(", unverified)")


@pytest.mark.parametrize("name", [name for name, found in CATALOGUE.items() if found.originals])
def test_offline_is_one_sentence_with_what_to_fetch_and_where_to_put_it(cache, name, monkeypatch):
    address = "http://127.0.0.1:9"  # the discard port, where nothing listens
    monkeypatch.setitem(CATALOGUE, name, moved(name, address))
    names = [original.name for original in CATALOGUE[name].originals]
    load = load_collection if CATALOGUE[name].task == "graphs" else load_dataset
    with pytest.raises(InputError, match="cannot be reached") as raised:
        load(name)
    sentence = str(raised.value)
    if len(names) == 1:
        assert f"otherwise fetch {address}/{names[0]} on a machine that can and put it at {cache}" in sentence
        assert sentence.endswith(f"/{names[0]}")
    else:
        assert f"otherwise fetch {', '.join(names)} from {address} on a machine that can and put them into" in sentence
        assert sentence.endswith(f"{cache / 'downloads' / name}")
    assert "\n" not in sentence


def test_what_nobody_publishes(cache):
    with pytest.raises(InputError, match="ppi-human is not here and cannot be downloaded, because nobody") as raised:
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
        if found.published:
            assert (found.features, found.classes) == (found.published.features, found.published.classes)
    assert {name for name, found in CATALOGUE.items() if found.originals and not found.sha256_known} == {
        "cancer-b",
        "cancer-m",
        "isolet",
        "ogbn-proteins",
    }
