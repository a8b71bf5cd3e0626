import json
import sqlite3
import time
import warnings
from dataclasses import replace

import optuna
import pytest

from s2gnn import InputError
from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.experiments import make_experiment
from s2gnn.experiments.search import SearchConfig, search, search_result
from s2gnn.experiments.search_space import draw_values
from s2gnn.experiments.search_trials import MAX_RETRIES
from tests.experiments.searches import EXPERIMENT, RANDOM, SHORT, SPACE, opened, stored_trials


def names(storage):
    with opened(storage) as found:
        return [study.study_name for study in found.get_all_studies()]


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
