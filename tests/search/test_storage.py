import json
import multiprocessing
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from s2gnn import InputError
from s2gnn.learning.protocol import FAIR
from s2gnn.learning.space import search_space
from s2gnn.operators import kernel
from s2gnn.search import workers
from s2gnn.search.heartbeat import Heartbeat
from s2gnn.search.storage import open_storage
from s2gnn.search.study import SearchConfig, open_trials, search, search_result
from s2gnn.studies import make_cell
from tests.postgresql import PASSWORD

CELL = make_cell("digits", "mlp", replace(FAIR, name="quick", epochs=3), k=10)
CONFIG = SearchConfig("random", trials=3, seeds=(1, 2))
FAILED = r"the storage of the search failed \(.*\): start again when it answers, what is stored is not lost"


def test_a_server_is_asked_in_its_own_words_and_never_in_ours(postgresql):
    with pytest.raises(InputError) as caught:
        open_storage(postgresql.address("postgres", "wrong{0}"), Heartbeat())
    assert 'password authentication failed for user "me"' in str(caught.value)
    assert "wrong" not in str(caught.value)
    with pytest.raises(InputError, match='database "none" does not exist') as caught:
        open_storage(postgresql.address("none"), Heartbeat())
    assert PASSWORD not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_driver_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r"needs a driver .*psycopg.*: pip install 's2gnn\[postgresql\]'"):
        open_storage("postgresql://me:secret@host/x", Heartbeat())
    with pytest.raises(InputError, match="install the driver that the address names"):
        open_storage("mysql://me@host/x", Heartbeat())


def test_braces_of_a_file_name_are_no_format(tmp_path):
    open_storage(tmp_path / "search{1}.db", Heartbeat()).engine.dispose()
    assert (tmp_path / "search{1}.db").is_file()


def test_signs_of_life_do_not_depend_on_time_zones(postgresql, monkeypatch):
    address = postgresql.make_database("zones")
    with closing(open_trials(CELL, CONFIG, address, Heartbeat())) as trials:
        trials.plan(2, {"data": "digits"})
        assert trials.claim(2).index == 0
        (written,) = postgresql.ask("zones", "SELECT heartbeat FROM trial_heartbeats")[0]
        assert abs(datetime.fromisoformat(written).replace(tzinfo=UTC) - datetime.now(UTC)).total_seconds() < 60
        monkeypatch.setenv("PGTZ", "Asia/Tokyo")
        with closing(open_trials(CELL, CONFIG, address, Heartbeat())) as others:
            assert others.claim(2).index == 1


@pytest.fixture
def scored(monkeypatch, tmp_path):
    """Let a trial's score be its dropout in place of training, and something happen before the n-th is given."""
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path))
    given = []

    def use(happens, at):
        def scorer(cell, *_):
            def score(seed):
                given.append(seed)
                if len(given) in at:
                    happens()
                return cell.hyperparameters.model["dropout"]

            return score

        monkeypatch.setattr("s2gnn.search.workers._scorer", scorer)
        return given

    return use


BEST = max(search_space("mlp").draw(0, index)["dropout"] for index in range(3))


def test_a_server_that_was_started_again_is_not_noticed(postgresql, scored):
    def start_again():
        postgresql.stop()
        postgresql.start()

    scored(start_again, at=(2, 3))
    result = search(CELL, CONFIG, postgresql.make_database("restarted"))
    assert (result.complete, result.retried, result.score) == (3, 0, BEST)


def test_a_server_that_is_gone_is_one_sentence_and_the_search_goes_on_later(postgresql, scored):
    given = scored(postgresql.stop, at=(4,))
    address = postgresql.make_database("gone")
    with pytest.raises(ConnectionError, match=FAILED) as caught:
        search(CELL, CONFIG, address, heartbeat=Heartbeat(1, 2))
    assert PASSWORD not in str(caught.value)
    assert "\n" not in str(caught.value)
    postgresql.start()
    halfway = search_result(CELL, CONFIG, address)
    assert (halfway.complete, halfway.running) == (1, 1)
    result = search(CELL, CONFIG, address, heartbeat=Heartbeat(1, 2))
    assert (result.complete, result.finished, result.retried, result.score) == (3, 3, 1, BEST)
    assert len(given) == 7  # the fourth was lost on its way


def test_a_process_of_several_says_the_same(postgresql, scored, monkeypatch):
    scored(postgresql.stop, at=(1,))
    monkeypatch.setattr(workers, "end_with_parent", lambda: None)
    monkeypatch.setattr(workers.signal, "signal", lambda *_: None)
    worker = workers.Worker(CELL, CONFIG, postgresql.make_database("several"), Heartbeat())
    with closing(open_trials(CELL, CONFIG, worker.storage, worker.heartbeat)) as trials:
        trials.plan(3, {"data": "digits"})
    here, there = multiprocessing.Pipe(duplex=False)
    with here, there:
        workers._work_for_parent(there, worker, 1, None, kernel.chosen())
        postgresql.start()
        with pytest.raises(ConnectionError, match=FAILED):
            workers._raise_sent(here)


def test_the_command_says_it_in_a_line(s2gnn, postgresql, scored):
    scored(postgresql.stop, at=(1,))
    address = postgresql.make_database("commands")
    arguments = ("study", "search", "--data", "digits", "--model", "mlp", "--trials", 2, "--seeds", 1)
    code, out, err = s2gnn(*arguments, "--storage", address)
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
