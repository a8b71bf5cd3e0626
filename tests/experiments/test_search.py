import multiprocessing
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data import dataset_graph, load_dataset
from s2gnn.data.splits import VALIDATION_SEEDS, dataset_split
from s2gnn.errors import NonFiniteLossError, SeedError
from s2gnn.experiments import make_experiment
from s2gnn.experiments.protocols import TEN_FOLD
from s2gnn.experiments.queue import search_module
from s2gnn.experiments.search import SearchConfig, search, search_result
from s2gnn.experiments.search_space import draw_values
from s2gnn.learning import fit
from s2gnn.nn import make_model
from tests.experiments.searches import EXPERIMENT, RANDOM, SHORT, SPACE, stored_trials


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


def test_without_optuna_the_error_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("s2gnn.experiments.search")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("s2gnn.experiments.search")
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"a search needs Optuna, .*: pip install 's2gnn\[search\]'"):
        search_module("search")
