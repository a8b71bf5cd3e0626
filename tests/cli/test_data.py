import json
from dataclasses import replace

import pytest

from s2gnn.data import CATALOGUE
from tests.data.web import web_server


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("S2GNN_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "cache"


@pytest.fixture
def offline(monkeypatch):
    """Every original is at an address where nothing listens."""
    for name, found in CATALOGUE.items():
        originals = tuple(replace(o, url=f"http://127.0.0.1:9/{o.name}") for o in found.originals)
        monkeypatch.setitem(CATALOGUE, name, replace(found, originals=originals))


def test_list(s2gnn, cache):
    code, output, _ = s2gnn("data", "list", "--json")
    assert code == 0
    listed = {row["name"]: row for row in json.loads(output)}
    assert list(listed) == list(CATALOGUE)
    assert listed["digits"]["where"] == "bundled"
    assert listed["har"]["where"] == "not here"
    assert listed["har"]["sha256_known"]
    assert (listed["isolet"]["licence"], listed["20news"]["citation"]) == ("CC BY 4.0", "Lang 1995")
    assert not listed["isolet"]["sha256_known"]
    code, output, _ = s2gnn("data", "list")
    assert code == 0
    for word in ("enzymes-attributes", "knn, k = 40", "19,717", "not here"):
        assert word in output


def test_get(s2gnn, cache, monkeypatch):
    news = CATALOGUE["20news"]
    with web_server({"20news-bydate.tar.gz": b"content"}) as (address, _):
        original = replace(news.originals[0], url=f"{address}/20news-bydate.tar.gz", sha256=None)
        monkeypatch.setitem(CATALOGUE, "20news", replace(news, originals=(original,)))
        code, output, _ = s2gnn("data", "get", "20news", "--json")
        assert code == 0
        assert json.loads(output) == [
            {"name": "20news", "where": "cache", "result": "fetched, unverified: no sha256 is known"}
        ]
        code, output, _ = s2gnn("data", "get", "20news")
    assert code == 0
    assert "was here" in output


def test_get_all_continues_after_a_failure(s2gnn, cache, offline):
    code, output, errors = s2gnn("data", "get", "all", "--json")
    assert code == 2
    results = {row["name"]: row["result"] for row in json.loads(output)}
    assert list(results) == list(CATALOGUE)
    assert results["digits"] == "was here"
    assert results["ppi-human"].startswith("skipped")
    assert results["cora"] == "failed"
    assert errors.startswith("s2gnn: 13 of 15 data sets could not be fetched: cancer-b (http://127.0.0.1:9/")
    assert errors.count("\n") == 1


def test_info_compared_with_the_paper(s2gnn, cache, data_folder, monkeypatch):
    monkeypatch.setenv("S2GNN_DATA", str(data_folder))
    code, output, _ = s2gnn("data", "info", "cancer-b", "--json")
    assert code == 0
    summary = json.loads(output)
    assert (summary["graph"], summary["k"], summary["source"]) == ("knn", 30, "S2GNN_DATA: kather/kather_lbp38.npz")
    assert {"name": "edges", "measured": 25_734, "published": 25_734} in summary["statistics"]
    code, output, _ = s2gnn("data", "info", "ppi-human")
    assert code == 0
    assert "545,673" in output
    assert "stand-in for ogbn-proteins" in output
    code, output, _ = s2gnn("data", "info", "digits", "--k", 10)
    assert code == 0
    assert "knn, k = 10" in output
    code, output, _ = s2gnn("data", "info", "mutag", "--json")
    assert code == 0
    assert {"name": "graphs", "measured": 188, "published": None} in json.loads(output)["statistics"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["get", "mnist"], "there is no data set 'mnist': choose from cancer-b"),
        (["info", "mnist"], "there is no data set 'mnist'"),
        (["get", "ppi-human"], "ppi-human is not here and cannot be downloaded, because it is not published"),
        (["get", "har"], "smartphones.zip cannot be reached"),
        (["info", "pubmed"], "ind.pubmed.x cannot be reached"),
        (["info", "digits", "--graph", "given"], "digits has no given graph"),
        (["info", "digits", "--k", "1797"], "k is 1797, but 1797 rows"),
        (["info", "mutag", "--k", "3"], "k is 3, but a diffusion graph has no k"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(s2gnn, cache, offline, arguments, message):
    code, output, errors = s2gnn("data", *arguments, "--json")
    assert code == 2
    assert output == ""
    assert message in errors
    assert errors.startswith("s2gnn: ")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("command", ["list", "get", "info"])
def test_help_has_an_example(s2gnn, command):
    code, output, _ = s2gnn("data", command, "--help")
    assert code == 0
    assert f"Example: s2gnn data {command}" in output
