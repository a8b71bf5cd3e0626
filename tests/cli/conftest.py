"""What several tests of commands share."""

import pytest


@pytest.fixture
def separate_cache(tmp_path_factory, monkeypatch):
    """Keep the graphs of these tests apart from the user's."""
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path_factory.getbasetemp() / "experiments-cache"))
