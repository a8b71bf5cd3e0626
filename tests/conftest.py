"""Shared fixtures: the real data, a browser and a database server, when they are at hand, and the command line."""

import os
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from s2gnn.cli import main
from s2gnn.estimator import learners
from tests import bfloat16
from tests.browser import Browser, find_chromium
from tests.postgresql import PostgresServer, find_programs, find_user
from tests.seed import SEED

settings.register_profile("s2gnn", deadline=None, derandomize=SEED == 0, database=None)
settings.load_profile("s2gnn")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let hypothesis draw from the seed, unless it was given another."""
    if SEED and config.getoption("hypothesis_seed") is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_report_header() -> str:
    """The seed, with which a failure can be repeated."""
    return f"S2GNN_TEST_SEED={SEED}"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test marked `bfloat16` in a child process where the CPU cannot compute bfloat16 products."""
    if pyfuncitem.get_closest_marker("bfloat16") is None or not bfloat16.needs_child():
        return None
    bfloat16.run_in_child(pyfuncitem.nodeid, str(pyfuncitem.config.rootpath))
    return True


@pytest.fixture(autouse=True)
def _same_random_numbers() -> None:
    """Let every test draw the same numbers whatever ran before it."""
    torch.manual_seed(SEED)


@pytest.fixture(scope="session", autouse=True)
def _small_forests():
    """Forests of ten trees, because most tests of estimators fit several and do not look at their accuracy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learners, "N_TREES", 10)
        yield


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets; tests that use it are skipped, and say so, when it is absent."""
    folder = os.environ.get("S2GNN_DATA")
    if folder is None or not Path(folder).is_dir():
        pytest.skip("needs the real data sets: set S2GNN_DATA to their folder")
    return Path(folder)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A real browser; tests that use it are skipped, and say so, when none is installed."""
    executable = find_chromium()
    if executable is None:
        pytest.skip("needs a browser: install Debian's package chromium, or another Chromium or Chrome")
    browser = Browser(executable, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def postgresql():
    """A database server; tests that use it are skipped, and say so, when its programs are not installed."""
    programs, user = find_programs(), find_user()
    if programs is None:
        pytest.skip("needs the programs of a PostgreSQL server: install Debian's package postgresql")
    if user is None:
        pytest.skip("needs a user called postgres or nobody: a PostgreSQL server does not run as root")
    server = PostgresServer(programs, user)
    yield server
    server.remove()


@pytest.fixture
def s2gnn(monkeypatch, capsys):
    """Run the command line in this process; gives exit code, standard output and standard error."""

    def run(*arguments, columns=200):
        monkeypatch.setattr(sys, "argv", ["s2gnn", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as exit_info:
            main()
        output = capsys.readouterr()
        return exit_info.value.code or 0, output.out, output.err

    return run
