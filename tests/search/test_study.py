import json
import sqlite3
import sys
from dataclasses import replace

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data import dataset_graph, load_dataset
from s2gnn.data.splits import VALIDATION_SEEDS, dataset_split
from s2gnn.errors import NonFiniteLossError, SeedError
from s2gnn.learning import fit
from s2gnn.learning.protocol import FAIR
from s2gnn.learning.space import search_space
from s2gnn.nn import make_model
from s2gnn.search.claims import LostTrialError
from s2gnn.search.heartbeat import Heartbeat
from s2gnn.search.storage import MAX_RETRIES
from s2gnn.search.study import SearchConfig, cell_space, open_trials, search, search_result, study_name
from s2gnn.studies import make_cell

QUICK = replace(FAIR, name="quick", epochs=3)
RANDOM = SearchConfig("random", trials=4, seeds=VALIDATION_SEEDS[:2])
SPACE = search_space("mlp")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """Graphs of these tests are kept apart from the user's."""
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path_factory.getbasetemp() / "studies-cache"))


@pytest.fixture
def cell():
    return make_cell("digits", "mlp", QUICK, k=10)


@pytest.fixture
def db(tmp_path):
    return tmp_path / "search.db"


@pytest.fixture
def scored(monkeypatch):
    """Give scores by a function of the draw's values and the seed in place of training; the list of what was asked."""
    asked = []

    def use(score):
        def scorer(cell, dataset, graph, stop):
            values = {"lr": cell.hyperparameters.lr, **cell.hyperparameters.model}

            def give(seed):
                asked.append((values["lr"], seed))
                return score(values, seed)

            return give

        monkeypatch.setattr("s2gnn.search.workers._scorer", scorer)
        return asked

    return use


def in_storage(cell, config, db):
    trials = open_trials(cell, config, db, Heartbeat())
    try:
        return trials.draws()
    finally:
        trials.close()


def trials_values(trial):
    return {name: round(value, 4) for name, value in trial.params.items()}


def test_a_score_is_the_mean_validation_accuracy_over_the_seeds(cell, db):
    result = search(cell, RANDOM, db)
    assert (result.complete, result.pruned, result.failed, result.retried) == (4, 0, 0, 0)
    dataset, graph = dataset_graph(load_dataset("digits"), "knn", 10)
    expected = []
    for index in range(4):
        values = SPACE.draw(0, index)
        config = QUICK.fit_config(values.pop("lr"), values.pop("weight_decay"))
        model = make_model("mlp", 64, 10, **values)
        x, op = model.prepare(dataset.x, graph)
        scores = []
        for seed in RANDOM.seeds:
            split = dataset_split(dataset, seed)
            fitted = fit(model, x, op, dataset.y, split.train, split.val, config=config, seed=seed)
            scores.append(max(fitted.history.val_accuracy))
        expected.append(np.mean(scores))
    assert [trial.value for trial in in_storage(cell, RANDOM, db)] == pytest.approx(expected, abs=1e-12)
    best = int(np.argmax(expected))
    assert result.score == max(expected)
    assert {"lr": result.best.lr, "weight_decay": result.best.weight_decay, **result.best.model} == SPACE.draw(0, best)
    assert search_result(cell, RANDOM, db) == result


def test_the_test_nodes_are_not_looked_at(cell, db, tmp_path, monkeypatch):
    result = search(cell, RANDOM, db)
    digits = load_dataset("digits")
    y = digits.y.copy()
    test = dataset_split(digits, VALIDATION_SEEDS[0]).test
    y[test] = np.random.default_rng(0).permutation(y[test])
    monkeypatch.setattr("s2gnn.studies.run.load_dataset", lambda name: replace(digits, y=y))
    assert search(cell, RANDOM, tmp_path / "other.db") == result


def test_the_total_counts_not_the_calls(cell, db, scored):
    asked = scored(lambda values, seed: values["dropout"])
    search(cell, RANDOM, db)
    assert len(asked) == 8
    search(cell, RANDOM, db, on_progress=lambda _: pytest.fail("nothing is left to do"))
    assert len(asked) == 8
    longer = search(cell, replace(RANDOM, trials=6), db)
    assert (longer.complete, len(asked)) == (6, 12)
    assert [trial.params for trial in in_storage(cell, RANDOM, db)] == [SPACE.draw(0, index) for index in range(6)]
    shorter = search_result(cell, RANDOM, db)
    assert (shorter.complete, shorter.finished) == (4, 4)
    assert shorter.score == max(SPACE.draw(0, index)["dropout"] for index in range(4))


def test_searches_share_a_storage_by_what_they_depend_on(cell, db, scored):
    scored(lambda values, seed: 0.5)
    others = [
        (replace(cell, protocol=replace(QUICK, epochs=4)), RANDOM),
        (replace(cell, k=11), RANDOM),
        (make_cell("digits", "gcn", QUICK, k=10), RANDOM),
        (cell, replace(RANDOM, sampler="tpe")),
        (cell, replace(RANDOM, seed=1)),
        (cell, replace(RANDOM, seeds=VALIDATION_SEEDS[:3])),
    ]
    names = {study_name(*other) for other in others}
    assert len({*names, study_name(cell, RANDOM)}) == 7
    same = replace(cell, hyperparameters=cell.hyperparameters.with_values({"lr": 0.1, "dropout": 0.1}), seeds=(1,))
    assert study_name(same, replace(RANDOM, trials=9, max_heads=2)) == study_name(cell, RANDOM)
    assert study_name(same, SearchConfig("tpe")) != study_name(cell, SearchConfig("tpe"))  # another first trial
    search(cell, RANDOM, db)
    assert search_result(cell, replace(RANDOM, seed=1), db).finished == 0
    assert search(cell, replace(RANDOM, seed=1), db).complete == 4
    attributes = sqlite3.connect(db).execute("SELECT key, value_json FROM study_user_attributes").fetchall()
    kept = {key: json.loads(value) for key, value in attributes}
    assert (kept["data"], kept["graph"], kept["model"]) == ("digits", "knn", "mlp")
    assert kept["protocol"]["name"] == "quick"
    assert kept["versions"]["torch"]


def test_tpe_is_replayable_rounds_and_prunes_what_is_worse_on_every_seed(cell, db, tmp_path, scored):
    def score(values, seed):
        return (0.5 if values["dropout"] > 0.5 else 0.9) - values["lr"] + seed % 7 / 100

    config = SearchConfig("tpe", trials=12)
    asked = scored(score)
    result = search(cell, config, db)
    draws = in_storage(cell, config, db)
    assert result.finished == 12
    assert trials_values(draws[0]) == {"lr": 0.01, "weight_decay": 5e-4, **cell.hyperparameters.model}
    assert result.best.model["dropout"] < 0.5
    pruned = [trial for trial in draws if trial.state.name == "PRUNED"]
    assert result.pruned == len(pruned) > 4
    assert all(3 <= len(trial.intermediate_values) < 5 for trial in pruned)
    assert len(asked) == sum(len(trial.intermediate_values) for trial in draws) < 12 * 5
    assert all(trial.params["dropout"] == pytest.approx(round(trial.params["dropout"], 4)) for trial in draws)
    assert result.best.lr == float(f"{result.best.lr:.4f}")
    search(cell, config, tmp_path / "again.db")
    assert [trial.params for trial in in_storage(cell, config, tmp_path / "again.db")] == [t.params for t in draws]


def test_what_a_network_learns_is_not_searched():
    searched, learned = (make_cell("digits", "s2gnn", QUICK, k=10, changes=of) for of in ({}, {"epsilon": "learn"}))
    names = [set(cell_space(cell, RANDOM).ranges) for cell in (searched, learned)]
    assert names[0] - names[1] == {"epsilon"}
    assert study_name(searched, RANDOM) != study_name(learned, RANDOM)


def test_what_cannot_be_trained_is_named_and_not_tried_again(cell, db, scored):
    bad = SPACE.draw(0, 1)["lr"]

    def score(values, seed):
        if values["lr"] == bad:
            raise NonFiniteLossError("the training loss is nan in epoch 2")
        return 0.5

    asked = scored(score)
    result = search(cell, RANDOM, db)
    assert (result.complete, result.failed, result.finished, result.retried) == (3, 1, 4, 0)
    assert len(asked) == 7
    assert f"trial 1: seed {VALIDATION_SEEDS[0]}: the training loss is nan in epoch 2" in result.failures[0]
    assert search(cell, RANDOM, db) == result
    assert len(asked) == 7


def test_an_interrupt_keeps_the_finished_seeds(cell, db, scored):
    asked = scored(lambda values, seed: 0.5)
    config = replace(RANDOM, seeds=VALIDATION_SEEDS[:3])

    def interrupt(result):
        if len(asked) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(cell, config, db, on_progress=interrupt)
    states = [trial.state.name for trial in in_storage(cell, config, db)]
    assert states == ["COMPLETE", "WAITING", "WAITING", "WAITING"]
    result = search(cell, config, db)
    assert (result.complete, result.retried) == (4, 0)
    assert len(asked) == len(set(asked)) == 12


def test_the_time_limit_stops_between_seeds(cell, db, scored, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("s2gnn.search.workers.time.time", lambda: now[0])

    def score(values, seed):
        now[0] += 10
        return 0.5

    asked = scored(score)
    assert search(cell, RANDOM, db, minutes=0).finished == 0
    result = search(cell, RANDOM, db, minutes=35 / 60)
    assert (result.complete, result.running, len(asked)) == (1, 0, 3)
    assert (search(cell, RANDOM, db).complete, len(asked)) == (4, 8)


def test_another_error_names_the_trial_and_hands_it_back(cell, db, scored):
    def score(values, seed):
        raise RuntimeError("out of memory")

    scored(score)
    with pytest.raises(SeedError, match=r"trial 0 of the search failed with .*lr.*: RuntimeError: out of memory"):
        search(cell, RANDOM, db)
    assert {trial.state.name for trial in in_storage(cell, RANDOM, db)} == {"WAITING"}


def test_a_dead_workers_trial_is_retried_with_its_scores_but_not_for_ever(cell, db, scored):
    trials = open_trials(cell, RANDOM, db, Heartbeat())
    trials.plan(4, {"data": "digits"})

    def die():
        with sqlite3.connect(db) as connection:
            connection.execute("UPDATE trial_heartbeats SET heartbeat = datetime('now', '-61 seconds')")

    first = trials.claim(4)
    first.report(0, 0.75)
    die()
    second = trials.claim(4)
    assert (second.index, second.values, second.scores) == (0, SPACE.draw(0, 0), {0: 0.75})
    with pytest.raises(LostTrialError):
        first.report(1, 0.5)
    first.hand_back()
    assert [trial.state.name for trial in trials.draws()] == ["RUNNING", "WAITING", "WAITING", "WAITING"]
    for _ in range(MAX_RETRIES - 1):
        die()
        assert trials.claim(4).index == 0
    die()
    assert trials.claim(4).index == 1
    trials.close()
    result = search_result(cell, RANDOM, db)
    assert (result.failed, result.retried, result.running) == (1, MAX_RETRIES, 1)
    assert "trial 0: 4 processes died at it" in result.failures[0]


def test_a_copy_that_a_dying_worker_did_not_make_is_made_later(cell, db, monkeypatch):
    trials = open_trials(cell, RANDOM, db, Heartbeat(1, 5))
    trials.plan(1, {})
    trial = trials.claim(1)
    with sqlite3.connect(db) as connection:
        connection.execute("UPDATE trials SET state = 'FAIL'")
    now = [100.0]
    monkeypatch.setattr("s2gnn.search.trials.time.monotonic", lambda: now[0])
    assert trials.claim(1) is None
    now[0] += 6
    again = trials.claim(1)
    assert (again.index, again.values) == (0, trial.values)
    trials.close()


def test_processes_draw_the_same_and_an_interrupt_hands_their_trials_back(cell, db, tmp_path):
    config = replace(RANDOM, trials=5)
    longer = replace(cell, protocol=replace(QUICK, epochs=40))

    def interrupt(result):
        if result.running == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(longer, config, db, jobs=2, on_progress=interrupt)
    assert "RUNNING" not in [trial.state.name for trial in in_storage(longer, config, db)]
    result = search(longer, config, db)
    assert (result.complete, result.retried, result.running) == (5, 0, 0)
    assert [trial.params for trial in in_storage(longer, config, db)] == [SPACE.draw(0, index) for index in range(5)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sampler": "grid"}, "sampler is 'grid', but it must be one of tpe, random"),
        ({"trials": 0}, "trials is 0, but it must be an integer >= 1"),
        ({"seeds": ()}, "at least one seed and each once"),
        ({"seeds": (1, 1)}, "at least one seed and each once"),
        ({"seed": -1}, "seed is -1, but it must be at least 0"),
        ({"max_heads": 0}, "max_heads is 0"),
    ],
)
def test_unusable_configs(arguments, message):
    with pytest.raises(InputError, match=message):
        SearchConfig(**arguments)


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        ("ftp://host/x", r"the storage ftp://host/x cannot be opened \(Can't load plugin"),
        ("postgresql://me:secret@host:port/x", r"the storage postgresql://me:\*\*\*@host:port/x cannot be opened"),
        ("missing/folder/x.db", r"unable to open database file\): give a file such as search.db"),
    ],
)
def test_unusable_storages(cell, storage, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        search(cell, RANDOM, storage)
    assert "secret" not in str(caught.value)


def test_without_optuna_the_error_says_what_to_install(cell, db, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"a search needs Optuna, .*: pip install 's2gnn\[search\]'"):
        search(cell, RANDOM, db)
