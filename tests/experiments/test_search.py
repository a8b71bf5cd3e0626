import json
import multiprocessing
import sqlite3
import sys
import time
import warnings
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import optuna
import pytest

from s2gnn import InputError
from s2gnn.data import dataset_graph, load_dataset
from s2gnn.data.splits import VALIDATION_SEEDS, dataset_split
from s2gnn.errors import NonFiniteLossError, SeedError
from s2gnn.experiments import make_experiment
from s2gnn.experiments.protocols import FAIR, TEN_FOLD
from s2gnn.experiments.queue import search_module
from s2gnn.experiments.search import MAX_RETRIES, SearchConfig, search, search_result
from s2gnn.experiments.search_space import draw_values, search_space
from s2gnn.experiments.search_storage import open_storage
from s2gnn.experiments.tasks import Classification
from s2gnn.learning import fit
from s2gnn.nn import make_model

SHORT = replace(FAIR, epochs=3)
EXPERIMENT = make_experiment("digits", "mlp", SHORT, k=10)
RANDOM = SearchConfig("random", trials=4, seeds=VALIDATION_SEEDS[:2])
SPACE = search_space("mlp")


@pytest.fixture
def db(tmp_path):
    return tmp_path / "search.db"


@pytest.fixture
def scored(monkeypatch):
    """Score by a function of the values of a trial and the seed instead of training; the list of what was scored."""
    asked = []

    def use(score):
        def fake_fit(self, seed):
            values = self.experiment.hyperparameters.values
            asked.append((values["lr"], seed))
            return SimpleNamespace(validation=score(values, seed))

        monkeypatch.setattr(Classification, "fit", fake_fit)
        return asked

    return use


@contextmanager
def opened(storage):
    found = open_storage(storage, 10, 60)
    try:
        yield found
    finally:
        found.remove_session()
        found.engine.dispose()


def stored_trials(storage, study=0):
    """All trials of a study as Optuna stores them, in the order of their numbers."""
    with opened(storage) as found:
        return found.get_all_trials(found.get_all_studies()[study]._study_id)


def names(storage):
    with opened(storage) as found:
        return [study.study_name for study in found.get_all_studies()]


def test_a_score_is_the_mean_validation_accuracy_over_the_seeds(db):
    result = search(EXPERIMENT, RANDOM, db)
    assert (result.complete, result.pruned, result.failed, result.retried) == (4, 0, 0, 0)
    dataset, graph = dataset_graph(load_dataset("digits"), "knn", 10)
    expected = []
    for index in range(4):
        values = draw_values(SPACE, 0, index)
        config = SHORT.fit_config(values.pop("lr"), values.pop("weight_decay"))
        model = make_model("mlp", 64, 10, **values)
        x, op = model.prepare(dataset.x, graph)
        scores = []
        for seed in RANDOM.seeds:
            split = dataset_split(dataset, seed)
            fitted = fit(model, x, op, dataset.y, split.train, split.val, config=config, seed=seed)
            scores.append(max(fitted.history.val_accuracy))
        expected.append(np.mean(scores))
    assert [trial.value for trial in stored_trials(db)] == pytest.approx(expected, abs=1e-12)
    assert result.score == max(expected)
    assert result.best.values == draw_values(SPACE, 0, int(np.argmax(expected)))
    assert result.experiment == replace(EXPERIMENT, hyperparameters=result.best)
    assert search_result(EXPERIMENT, RANDOM, db) == result


@pytest.mark.usefixtures("data_folder")
def test_graphs_and_links_are_searched_too(db):
    config = SearchConfig("tpe", trials=1, seeds=VALIDATION_SEEDS[:1])
    graphs = make_experiment("mutag", "gcn", replace(SHORT, name="fair-graphs"))
    links = make_experiment("cora", "mlp", SHORT, graph="given", decoder="dot")
    assert [search(each, config, db).complete for each in (graphs, links)] == [1, 1]
    folds = make_experiment("mutag", "gcn", TEN_FOLD)
    with pytest.raises(InputError, match="would choose hyperparameters on graphs that other folds test"):
        search(folds, config, db)


def test_the_total_counts_not_the_calls(db, scored):
    asked = scored(lambda values, seed: values["dropout"])
    search(EXPERIMENT, RANDOM, db)
    assert len(asked) == 8
    search(EXPERIMENT, RANDOM, db, on_progress=lambda _: pytest.fail("nothing is left to do"))
    assert len(asked) == 8
    longer = search(EXPERIMENT, replace(RANDOM, trials=6), db)
    assert (longer.complete, len(asked)) == (6, 12)
    assert [trial.params for trial in stored_trials(db)] == [draw_values(SPACE, 0, index) for index in range(6)]
    shorter = search_result(EXPERIMENT, RANDOM, db)
    assert (shorter.complete, shorter.finished) == (4, 4)
    assert shorter.score == max(draw_values(SPACE, 0, index)["dropout"] for index in range(4))


def test_searches_share_a_storage_by_what_they_depend_on(db, scored):
    scored(lambda values, seed: 0.5)
    config, tpe = replace(RANDOM, trials=1), SearchConfig("tpe", trials=1)
    changed = replace(EXPERIMENT, hyperparameters=EXPERIMENT.hyperparameters.with_values({"lr": 0.02}), seeds=(1,))
    s2gnn, learned = (make_experiment("digits", "s2gnn", SHORT, k=10, changes=c) for c in ({}, {"epsilon": "learn"}))
    others = [
        (EXPERIMENT, config),
        (replace(EXPERIMENT, protocol=replace(SHORT, epochs=4)), config),
        (replace(EXPERIMENT, k=11), config),
        (make_experiment("digits", "gcn", SHORT, k=10), config),
        (EXPERIMENT, tpe),
        (changed, tpe),  # starts elsewhere
        (EXPERIMENT, replace(config, seed=1)),
        (EXPERIMENT, replace(config, seeds=VALIDATION_SEEDS[:3])),
        (s2gnn, config),
        (learned, config),
    ]
    studies = [search(*other, db).study for other in others]
    assert names(db) == studies
    assert len(set(studies)) == len(others)
    assert search(changed, replace(config, trials=2, max_heads=2), db).study == studies[0]
    searched = [set(stored_trials(db, place)[0].params) for place in (-2, -1)]
    assert searched[0] - searched[1] == {"epsilon"}  # a network that learns it has nothing to search
    rows = sqlite3.connect(db).execute("SELECT key, value_json FROM study_user_attributes WHERE study_id = 1")
    kept = {key: json.loads(value) for key, value in rows}
    assert (kept["data"], kept["graph"], kept["model"]) == ("digits", "knn", "mlp")
    assert kept["protocol"]["name"] == "fair"
    assert kept["versions"]["torch"]


def test_tpe_is_replayable_rounds_and_prunes_what_is_worse_on_every_seed(db, tmp_path, scored):
    def score(values, seed):
        return (0.5 if values["dropout"] > 0.5 else 0.9) - values["lr"] + seed % 7 / 100

    config = SearchConfig("tpe", trials=12)
    asked = scored(score)
    result = search(EXPERIMENT, config, db)
    trials = stored_trials(db)
    assert result.finished == len(trials) == 12
    assert {name: round(value, 4) for name, value in trials[0].params.items()} == EXPERIMENT.hyperparameters.values
    assert result.best.model["dropout"] < 0.5
    pruned = [trial for trial in trials if trial.state.name == "PRUNED"]
    assert result.pruned == len(pruned) > 4
    assert all(3 <= len(trial.intermediate_values) < 5 for trial in pruned)
    assert len(asked) == sum(len(trial.intermediate_values) for trial in trials) < 12 * 5
    assert all(trial.params["dropout"] == pytest.approx(round(trial.params["dropout"], 4)) for trial in trials)
    assert result.best.lr == float(f"{result.best.lr:.4f}")
    search(EXPERIMENT, config, tmp_path / "again.db")
    assert [trial.params for trial in stored_trials(tmp_path / "again.db")] == [trial.params for trial in trials]


def test_what_cannot_be_trained_is_named_and_not_tried_again(db, scored):
    bad = draw_values(SPACE, 0, 1)["lr"]

    def score(values, seed):
        if values["lr"] == bad:
            raise NonFiniteLossError("the training loss is nan in epoch 2")
        return 0.5

    asked = scored(score)
    result = search(EXPERIMENT, RANDOM, db)
    assert (result.complete, result.failed, result.finished, result.retried) == (3, 1, 4, 0)
    assert f"trial 1: seed {VALIDATION_SEEDS[0]}: the training loss is nan in epoch 2" in result.failures[0]
    assert search(EXPERIMENT, RANDOM, db) == result
    assert len(asked) == 7


def interrupt():
    raise KeyboardInterrupt


def test_an_interrupt_keeps_the_finished_seeds(db, scored):
    asked = scored(lambda values, seed: 0.5)
    config = replace(RANDOM, seeds=VALIDATION_SEEDS[:3])
    with pytest.raises(KeyboardInterrupt):
        search(EXPERIMENT, config, db, on_progress=lambda _: interrupt() if len(asked) == 5 else None)
    halfway = search_result(EXPERIMENT, config, db)
    assert (halfway.complete, halfway.finished, halfway.running) == (1, 1, 0)
    assert [trial.state.name for trial in stored_trials(db)] == ["COMPLETE", "WAITING"]
    result = search(EXPERIMENT, config, db)
    assert (result.complete, result.retried) == (4, 0)
    assert len(asked) == len(set(asked)) == 12


def test_the_time_limit_stops_between_seeds(db, scored, monkeypatch):
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda _: pytest.fail("there is nothing to wait for"))
    monkeypatch.setattr("s2gnn.experiments.search.time", clock)

    def score(values, seed):
        now[0] += 10
        return 0.5

    asked = scored(score)
    assert search(EXPERIMENT, RANDOM, db, minutes=0).finished == 0
    result = search(EXPERIMENT, RANDOM, db, minutes=35 / 60)
    assert (result.complete, result.running, len(asked)) == (1, 0, 3)
    assert (search(EXPERIMENT, RANDOM, db).complete, len(asked)) == (4, 8)


def test_another_error_names_the_trial_and_leaves_it_for_later(db, scored):
    def score(values, seed):
        raise RuntimeError("out of memory")

    scored(score)
    with pytest.raises(SeedError, match=r"trial 0 of the search failed with .*lr.*: RuntimeError: out of memory"):
        search(EXPERIMENT, RANDOM, db)
    scored(lambda values, seed: 0.5)
    result = search(EXPERIMENT, RANDOM, db)
    assert (result.complete, result.failed, result.retried) == (4, 0, 0)


def stop_heartbeats(db):
    """Let the processes of all running trials look as if they had died a while ago."""
    with sqlite3.connect(db) as connection:
        connection.execute("UPDATE trial_heartbeats SET heartbeat = datetime('now', '-61 seconds')")


def dying_worker(db, name, scores=()):
    """Claim the first waiting trial as a worker does, report scores, and die."""
    with opened(db) as storage, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Heartbeat of storage is supposed to be used with Study.optimize")
        trial = optuna.load_study(study_name=name, storage=storage).ask()
        for position, score in enumerate(scores):
            trial.report(score, position)
        storage.record_heartbeat(trial._trial_id)
    stop_heartbeats(db)


def test_a_dead_workers_trial_is_resumed_with_its_scores(db, scored):
    asked = scored(lambda values, seed: 0.5)
    planned = search(EXPERIMENT, RANDOM, db, minutes=0)
    dying_worker(db, planned.study, [0.75])
    assert search_result(EXPERIMENT, RANDOM, db).running == 1
    result = search(EXPERIMENT, RANDOM, db)
    assert (result.complete, result.retried, result.running, result.score) == (4, 1, 0, 0.625)
    assert result.best.values == draw_values(SPACE, 0, 0)
    assert [seed for lr, seed in asked if lr == draw_values(SPACE, 0, 0)["lr"]] == [RANDOM.seeds[1]]


def test_a_trial_that_kills_its_processes_is_given_up(db, scored):
    scored(lambda values, seed: 0.5)
    config = replace(RANDOM, trials=1)
    planned = search(EXPERIMENT, config, db, minutes=0)
    for _ in range(MAX_RETRIES + 1):
        dying_worker(db, planned.study)
        with opened(db) as storage:
            storage.put_back_stale(planned.study, MAX_RETRIES + 1)
    result = search(EXPERIMENT, config, db)
    assert (result.complete, result.failed, result.retried, result.best) == (0, 1, MAX_RETRIES, None)
    assert "trial 0: 4 processes died during it" in result.failures[0]


def test_a_worker_that_was_taken_for_dead_leaves_its_trial_to_the_other(db, scored, monkeypatch):
    taken_over = []

    def score(values, seed):
        if not taken_over and seed == RANDOM.seeds[1]:
            time.sleep(0.2)
            monkeypatch.setattr(optuna.storages.RDBStorage, "record_heartbeat", lambda *_: None)
            stop_heartbeats(db)
            taken_over.append("now")
            taken_over.append(search(EXPERIMENT, RANDOM, db, minutes=1))
        return 0.5

    asked = scored(score)
    result = search(EXPERIMENT, RANDOM, db)
    assert result == taken_over[1]
    assert (result.complete, result.retried, result.running) == (4, 1, 0)
    assert len(asked) == 9  # what the first worker had in training was trained again


def kill_all():
    for process in multiprocessing.active_children():
        process.kill()


@pytest.mark.parametrize(
    ("happens", "error", "message"),
    [
        (interrupt, KeyboardInterrupt, None),
        (kill_all, SeedError, "all 2 processes of the search died; the last was killed by SIGKILL, as .*: lower jobs"),
    ],
)
def test_processes_draw_the_same_and_leave_their_trials_for_later(db, happens, error, message):
    longer = replace(EXPERIMENT, protocol=replace(SHORT, epochs=200))
    with pytest.raises(error, match=message):
        search(longer, RANDOM, db, jobs=2, on_progress=lambda result: happens() if result.running else None)
    assert search_result(longer, RANDOM, db).running == 0
    result = search(longer, RANDOM, db)
    assert (result.complete, result.retried, result.running) == (4, 0, 0)
    complete = {trial.number: trial for trial in stored_trials(db) if trial.state.name == "COMPLETE"}
    assert {number: trial.params for number, trial in complete.items()} == {
        i: draw_values(SPACE, 0, i) for i in range(4)
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sampler": "grid"}, "sampler is 'grid', but it must be one of tpe, random"),
        ({"trials": 0}, "trials is 0, but it must be an integer >= 1"),
        ({"seeds": ()}, "at least one seed and each once"),
        ({"seeds": (1, 1)}, "at least one seed and each once"),
        ({"seed": -1}, "seed is -1, but it must be at least 0"),
        ({"max_heads": 0}, "max_heads is 0"),
        ({"grace": 0}, "grace is 0"),
    ],
)
def test_an_unusable_configuration_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        SearchConfig(**arguments)


def test_without_optuna_the_error_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("s2gnn.experiments.search")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("s2gnn.experiments.search")
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"a search needs Optuna, .*: pip install 's2gnn\[search\]'"):
        search_module("search")
