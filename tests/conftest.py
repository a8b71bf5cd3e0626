"""Shared fixtures: the real data, when it is at hand."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("s2gnn", deadline=None, derandomize=True)
settings.load_profile("s2gnn")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets; tests that use it are skipped, and say so, when it is absent."""
    folder = os.environ.get("S2GNN_DATA")
    if folder is None or not Path(folder).is_dir():
        pytest.skip("needs the real data sets: set S2GNN_DATA to their folder")
    return Path(folder)
