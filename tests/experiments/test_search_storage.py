import json
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from s2gnn import InputError
from s2gnn.experiments import make_experiment
from s2gnn.experiments.protocols import FAIR
from s2gnn.experiments.search import SearchConfig, search, search_result
from s2gnn.experiments.search_space import draw_values, search_space
from s2gnn.experiments.search_storage import open_storage, storage_address, without_password
from s2gnn.experiments.tasks import Classification
from tests.postgresql import PASSWORD

EXPERIMENT = make_experiment("digits", "mlp", replace(FAIR, epochs=3), k=10)
CONFIG = SearchConfig("random", trials=3, seeds=(1, 2), heartbeat=1, grace=3)
BEST = max(draw_values(search_space("mlp"), 0, index)["dropout"] for index in range(3))
FAILED = r"the storage of the search failed \(.*\): rerun the command when it answers; what is stored is not lost"


@pytest.mark.parametrize(
    ("storage", "address"),
    [
        ("search.db", "sqlite:///search.db"),
        ("/folder/search.db", "sqlite:////folder/search.db"),
        ("postgresql://me@host/x", "postgresql+psycopg://me@host/x"),
        ("postgres://me@host/x", "postgresql+psycopg://me@host/x"),
        ("postgresql+psycopg2://me@host/x", "postgresql+psycopg2://me@host/x"),
        ("mysql://me@host/x", "mysql://me@host/x"),
    ],
)
def test_an_address_names_its_driver(storage, address):
    assert storage_address(storage) == address


@pytest.mark.parametrize("installed", [{"psycopg2"}, {"psycopg", "psycopg2"}, set()])
def test_the_driver_is_one_that_is_installed(installed, monkeypatch):
    find = {name: name for name in installed}.get
    monkeypatch.setattr("s2gnn.experiments.search_storage.find_spec", find)
    driver = "psycopg2" if installed == {"psycopg2"} else "psycopg"
    assert storage_address("postgresql://host/x") == f"postgresql+{driver}://host/x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:secret@host/x", "postgresql://me:***@host/x"),
        ("--storage 'postgresql://me:se@cr:et@host/x' --data a", "--storage 'postgresql://me:***@host/x' --data a"),
        ("postgresql://host/x?password=secret&sslmode=require", "postgresql://host/x?password=***&sslmode=require"),
        ("postgresql://me@host:5432/x", "postgresql://me@host:5432/x"),
        ("search.db", "search.db"),
    ],
)
def test_a_password_is_never_shown(text, shown):
    assert without_password(text) == shown


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        ("ftp://host/x", r"the storage ftp://host/x cannot be opened \(Can't load plugin"),
        ("postgresql://me:secret@host:port/x", r"the storage postgresql://me:\*\*\*@host:port/x cannot be opened"),
        ("missing/folder/x.db", r"unable to open database file\): give a file such as search.db"),
        ("mysql://me@host/x", "install the driver that the address names"),
    ],
)
def test_an_unusable_storage_is_refused(storage, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        search_result(EXPERIMENT, CONFIG, storage)
    assert "secret" not in str(caught.value)


def test_a_driver_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r"needs a driver .*psycopg.*: pip install 's2gnn\[postgresql\]'"):
        open_storage("postgresql://me:secret@host/x", 10, 60)


def test_braces_of_a_file_name_are_no_format(tmp_path):
    open_storage(tmp_path / "search{1}.db", 10, 60).engine.dispose()
    assert (tmp_path / "search{1}.db").is_file()


def test_a_server_is_quoted_without_the_password(postgresql):
    with pytest.raises(InputError) as caught:
        open_storage(postgresql.address("postgres", "wrong{0}"), 10, 60)
    assert 'password authentication failed for user "me"' in str(caught.value)
    assert "wrong" not in str(caught.value)
    with pytest.raises(InputError, match='database "none" does not exist') as caught:
        open_storage(postgresql.address("none"), 10, 60)
    assert PASSWORD not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def scored(monkeypatch):
    """Score a trial by its dropout instead of training, and call `happens` before the n-th score."""
    given = []

    def use(happens, at):
        def fit(self, seed):
            given.append(seed)
            if len(given) in at:
                happens()
            return FakeFit(self.experiment.hyperparameters.model["dropout"])

        monkeypatch.setattr(Classification, "fit", fit)
        return given

    return use


class FakeFit:
    def __init__(self, validation):
        self.validation = validation


def test_heartbeats_do_not_depend_on_time_zones(postgresql, scored, monkeypatch):
    address = postgresql.make_database("zones")
    found = []

    def look():
        (written,) = postgresql.ask("zones", "SELECT heartbeat FROM trial_heartbeats")[0]
        found.append(datetime.fromisoformat(written).replace(tzinfo=UTC))
        monkeypatch.setenv("PGTZ", "Asia/Tokyo")
        found.append(search(EXPERIMENT, CONFIG, address, minutes=1 / 60))

    scored(look, at=(1,))
    result = search(EXPERIMENT, CONFIG, address)
    assert abs(found[0] - datetime.now(UTC)).total_seconds() < 60
    assert (result.complete, result.retried) == (3, 0)


def test_a_restart_of_the_server_is_not_noticed(postgresql, scored):
    def restart():
        postgresql.stop()
        time.sleep(1.5)  # a heartbeat does not get through
        postgresql.start()

    scored(restart, at=(2, 3))
    config = replace(CONFIG, heartbeat=1, grace=60)
    result = search(EXPERIMENT, config, postgresql.make_database("restarted"))
    assert (result.complete, result.retried, result.score) == (3, 0, BEST)


def test_a_server_that_is_gone_is_one_sentence_and_the_search_resumes_later(postgresql, scored):
    given = scored(postgresql.stop, at=(4,))
    address = postgresql.make_database("gone")
    with pytest.raises(ConnectionError, match=FAILED) as caught:
        search(EXPERIMENT, CONFIG, address)
    assert PASSWORD not in str(caught.value)
    assert "\n" not in str(caught.value)
    postgresql.start()
    halfway = search_result(EXPERIMENT, CONFIG, address)
    assert (halfway.complete, halfway.running) == (1, 1)
    result = search(EXPERIMENT, CONFIG, address)
    assert (result.complete, result.finished, result.retried, result.score) == (3, 3, 1, BEST)
    assert len(given) == 7  # the fourth score was lost


def test_several_processes_report_it_once(postgresql):
    address, stopped = postgresql.make_database("several"), []

    def stop(result):
        if result.running and not stopped:
            stopped.append(result)
            postgresql.stop()

    longer = replace(EXPERIMENT, protocol=replace(FAIR, epochs=300))
    with pytest.raises(ConnectionError, match=FAILED):
        search(longer, CONFIG, address, jobs=2, on_progress=stop)
    postgresql.start()
    result = search(longer, CONFIG, address)
    assert (result.complete, result.finished) == (3, 3)


def test_the_command_prints_it_in_a_line(s2gnn, postgresql, scored):
    scored(postgresql.stop, at=(1,))
    arguments = ("study", "search", "--data", "digits", "--model", "mlp", "--trials", 2, "--seeds", 1)
    code, out, err = s2gnn(*arguments, "--storage", postgresql.make_database("commands"))
    postgresql.start()
    assert (code, out) == (1, "")
    assert "\ns2gnn: the storage of the search failed (" in err
    assert PASSWORD not in err
    assert "Traceback" not in err
    code, out, err = s2gnn(*arguments, "--storage", postgresql.make_database("command"), "--json")
    assert code == 0
    assert json.loads(out)["complete"] == 2
    assert ":***@127.0.0.1" in out
    assert PASSWORD not in out + err
