"""Workers that share a search, as from several machines: one is killed, the others do its work."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.learning.protocol import FAIR
from s2gnn.learning.space import search_space
from s2gnn.search.heartbeat import Heartbeat
from s2gnn.search.storage import open_storage
from s2gnn.search.study import SearchConfig, search, search_result
from s2gnn.studies import make_cell

CELL = make_cell("digits", "mlp", replace(FAIR, name="quick", epochs=3), k=10)
CONFIG = SearchConfig("random", trials=6, seeds=VALIDATION_SEEDS[:3])

# One process that has imported everything forks the workers, so that they start in no time.
WORKERS = """
import json, multiprocessing, os, signal, sys
import s2gnn.search.workers as workers
from s2gnn.search.heartbeat import Heartbeat
from s2gnn.search.storage import storage_errors
from s2gnn.search.study import open_trials, search
from tests.search.test_workers import CELL, CONFIG

shared, claims, log = sys.argv[1:]
fit = workers.fit

def logged_fit(*arguments, seed, config, **named):
    result = fit(*arguments, seed=seed, config=config, **named)
    with open(log, "a") as stream:
        stream.write(f"{config.lr} {seed}\\n")
    return result

trained = []
def deadly_fit(*arguments, seed, **named):
    trained.append(seed)
    if len(trained) == 3:
        named["on_epoch"] = lambda epoch: os.kill(os.getpid(), signal.SIGKILL)
    return logged_fit(*arguments, seed=seed, **named)

def start(fit):
    process = os.fork()
    if process == 0:
        workers.fit = fit
        search(CELL, CONFIG, shared, heartbeat=Heartbeat(1, 4))
        os._exit(0)
    return process

together = multiprocessing.get_context("fork").Barrier(4)
def claim():
    reader, writer = os.pipe()
    if os.fork() == 0:
        with storage_errors():
            together.wait()
            trials = open_trials(CELL, CONFIG, claims, Heartbeat())
            trials.plan(8, {"data": "digits"})
            together.wait()
            claimed = []
            while (trial := trials.claim(8)) is not None:
                claimed.append(trial.index)
        os.write(writer, json.dumps(claimed).encode())
        os._exit(0)
    os.close(writer)
    return reader

processes = [start(deadly_fit), start(logged_fit)]
statuses = [os.waitpid(process, 0)[1] for process in processes]
readers = [claim() for _ in range(4)]
claimed = [json.loads(os.read(reader, 10_000)) for reader in readers]
print(json.dumps({"processes": processes, "statuses": statuses, "claimed": claimed}))
"""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Graphs of these tests are kept apart from the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("S2GNN_CACHE", str(tmp_path_factory.getbasetemp() / "studies-cache"))
        yield


@pytest.fixture(scope="module")
def alone(cache, tmp_path_factory):
    """The same search by one process: its result and trials."""
    storage = tmp_path_factory.mktemp("alone") / "search.db"
    return search(CELL, CONFIG, storage), stored_trials(storage)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def forked(request, cache, tmp_path_factory):
    """What became of workers on the same storage: where it is, what they trained, and what they said."""
    folder = tmp_path_factory.mktemp("workers")
    if request.param == "postgresql":
        server = request.getfixturevalue("postgresql")
        storages = [server.make_database(name) for name in ("shared", "claims")]
    else:
        storages = [str(folder / name) for name in ("shared.db", "claims.db")]
    command = [sys.executable, "-c", WORKERS, *storages, str(folder / "log")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    return storages[0], (folder / "log").read_text().splitlines(), json.loads(run.stdout)


def stored_trials(storage):
    opened = open_storage(storage, Heartbeat())
    try:
        return opened.get_all_trials(opened.get_all_studies()[0]._study_id)
    finally:
        opened.remove_session()
        opened.engine.dispose()


def test_with_one_of_two_workers_killed_every_draw_is_done_once(alone, forked):
    storage, trained, told = forked
    assert (os.WTERMSIG(told["statuses"][0]), told["statuses"][1]) == (9, 0)
    result, trials = search_result(CELL, CONFIG, storage), stored_trials(storage)
    assert (result.complete, result.finished, result.retried) == (6, 6, 1)
    assert len(trained) == len(set(trained)) == 18
    (died,) = (trial for trial in trials if trial.state.name == "FAIL")
    (retry,) = (trial for trial in trials if trial.system_attrs.get("retry_history"))
    assert retry.system_attrs["retry_history"] == [died.number]
    assert (len(died.intermediate_values), retry.params) == (2, died.params)
    workers = [trial.user_attrs["worker"].rpartition(" ")[2] for trial in (died, retry)]
    assert workers == [str(process) for process in told["processes"]]
    complete = [trial for trial in trials if trial.state.name == "COMPLETE"]
    in_order = sorted(complete, key=lambda trial: min([trial.number, *trial.system_attrs.get("retry_history", [])]))
    assert [trial.params for trial in in_order] == [search_space("mlp").draw(0, index) for index in range(6)]
    expected, expected_trials = alone
    assert [trial.intermediate_values for trial in in_order] == [t.intermediate_values for t in expected_trials]
    assert (result.score, result.best) == (expected.score, expected.best)


def test_workers_that_start_together_claim_each_draw_once(forked):
    _, _, told = forked
    assert sorted(index for indices in told["claimed"] for index in indices) == list(range(8))
