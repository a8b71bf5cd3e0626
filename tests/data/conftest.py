"""A cache of the test's own, and no data folder unless the test asks for it."""

import pytest


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    """The tests' own servers are reached directly, whatever the environment says."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, with S2GNN_DATA unset."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("S2GNN_CACHE", str(folder))
    monkeypatch.delenv("S2GNN_DATA", raising=False)
    return folder
