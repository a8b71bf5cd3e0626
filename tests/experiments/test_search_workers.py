"""Workers that share a search, as from several machines: one is killed, the others do its work."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.experiments import make_experiment
from s2gnn.experiments.protocols import FAIR
from s2gnn.experiments.search import SearchConfig, search, search_result
from s2gnn.experiments.search_space import draw_values, search_space
from tests.experiments.searches import stored_trials

EXPERIMENT = make_experiment("digits", "mlp", replace(FAIR, epochs=3), k=10)
CONFIG = SearchConfig("random", trials=6, seeds=VALIDATION_SEEDS[:3], heartbeat=1, grace=4)
TOGETHER = SearchConfig("random", trials=8, seeds=VALIDATION_SEEDS[:1])
SPACE = search_space("mlp")

# One process that has imported everything forks the workers, so that they start at once.
WORKERS = """
import json, multiprocessing, os, signal, sys
from types import SimpleNamespace
import s2gnn.experiments.tasks as tasks
from s2gnn.experiments.search import search
from tests.experiments.test_search_workers import CONFIG, EXPERIMENT, TOGETHER

killed, together, log = sys.argv[1:]
fit = tasks.fit

def write(name, text):
    with open(f"{log}-{name}", "a") as stream:
        stream.write(f"{text}\\n")

def logged_fit(*arguments, seed, config, **named):
    result = fit(*arguments, seed=seed, config=config, **named)
    write("killed", f"{config.lr} {seed}")
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
        tasks.fit = fit
        search(EXPERIMENT, CONFIG, killed)
        os._exit(0)
    return process

barrier = multiprocessing.get_context("fork").Barrier(4)
def start_together():
    process = os.fork()
    if process == 0:
        def fit(task, seed):
            write("together", f"{task.experiment.hyperparameters.lr} {seed}")
            return SimpleNamespace(validation=0.5)
        tasks.Classification.fit = fit
        barrier.wait()
        search(EXPERIMENT, TOGETHER, together)
        os._exit(0)
    return process

processes = [start(deadly_fit), start(logged_fit)]
statuses = [os.waitpid(process, 0)[1] for process in processes]
statuses += [os.waitpid(process, 0)[1] for process in [start_together() for _ in range(4)]]
print(json.dumps({"processes": processes, "statuses": statuses}))
"""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(params=["sqlite", "postgresql"])
def storages(request, tmp_path):
    names = ("killed", "together")
    if request.param == "sqlite":
        return [str(tmp_path / f"{name}.db") for name in names]
    return [request.getfixturevalue("postgresql").make_database(name) for name in names]


def test_every_draw_is_trained_once_by_workers_that_start_together_or_are_killed(storages, tmp_path):
    killed, together = storages
    command = [sys.executable, "-c", WORKERS, *storages, str(tmp_path / "log")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (run.returncode, run.stderr) == (0, "")
    reported = json.loads(run.stdout)
    assert os.WTERMSIG(reported["statuses"][0]) == 9
    assert reported["statuses"][1:] == [0] * 5

    trained = (tmp_path / "log-killed").read_text().splitlines()
    assert len(trained) == len(set(trained)) == 18
    result = search_result(EXPERIMENT, CONFIG, killed)
    assert (result.complete, result.finished, result.retried) == (6, 6, 1)
    trials = stored_trials(killed)
    (retried,) = (trial for trial in trials if trial.user_attrs.get("deaths"))
    assert retried.user_attrs["worker"].endswith(f"process {reported['processes'][1]}")
    complete = {trial.number: trial for trial in trials if trial.state.name == "COMPLETE"}
    assert {number: trial.params for number, trial in complete.items()} == {
        i: draw_values(SPACE, 0, i) for i in range(6)
    }
    alone = search(EXPERIMENT, CONFIG, tmp_path / "alone.db")
    assert replace(alone, retried=1) == result
    scores = [trial.intermediate_values for trial in stored_trials(tmp_path / "alone.db")]
    assert [complete[number].intermediate_values for number in range(6)] == scores

    shared = search_result(EXPERIMENT, TOGETHER, together)
    assert (shared.complete, shared.finished, shared.retried) == (8, 8, 0)
    trained = (tmp_path / "log-together").read_text().splitlines()
    assert sorted(trained) == sorted(
        f"{draw_values(SPACE, 0, i)['lr']} {seed}" for i in range(8) for seed in TOGETHER.seeds
    )
