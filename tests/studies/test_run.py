import json
import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from s2gnn.data import Dataset, dataset_graph, dataset_split, load_dataset, paper_split
from s2gnn.learning import fit, predict_logits
from s2gnn.learning.metrics import bootstrap_confidence
from s2gnn.learning.protocol import FAIR, RELEASED
from s2gnn.learning.records import Records
from s2gnn.learning.seeding import seeded
from s2gnn.learning.yardsticks import LabelSpreading
from s2gnn.nn import make_model
from s2gnn.studies import make_cell, run_cell

QUICK = replace(FAIR, name="quick", epochs=8)


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """Graphs of these tests are kept apart from the user's."""
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path_factory.getbasetemp() / "studies-cache"))


@pytest.fixture
def records(tmp_path):
    return Records(tmp_path / "runs.jsonl")


def test_a_cell_is_fit_on_the_papers_splits_and_kept(records):
    cell = make_cell("digits", "gcn", QUICK, k=10, seeds=3)
    seen = []
    result = run_cell(cell, records, on_progress=seen.append)
    assert result.complete
    dataset, graph = dataset_graph(load_dataset("digits"), "knn", 10)
    for seed, record in result.records.items():
        model = make_model("gcn", 64, 10, hidden_channels=32, num_layers=2, dropout=0.5)
        x, op = model.prepare(dataset.x, graph)
        split = paper_split(dataset.y, seed)
        trained = fit(model, x, op, dataset.y, split.train, split.val, config=QUICK.fit_config(0.01, 5e-4), seed=seed)
        predicted = predict_logits(model, x, op).argmax(dim=1).numpy()
        assert record.metrics["test_accuracy"] == np.mean(predicted[split.test] == dataset.y[split.test])
        assert record.metrics["val_accuracy"] == max(trained.history.val_accuracy)
        assert record.metrics["epoch"] == trained.best_epoch
        assert record.budget == {"epochs": 8, "threads": torch.get_num_threads()}
        assert record.versions["torch"] == torch.__version__
    assert tuple(result.records) == cell.seeds
    assert result.confidence == bootstrap_confidence([r.metrics["test_accuracy"] for r in result.records.values()])
    assert [(p.running, p.finished) for p in seen] == [
        (running, finished) for i, seed in enumerate(cell.seeds) for running, finished in (((seed,), i), ((), i + 1))
    ]
    assert seen[0].seconds_left is None
    assert seen[-1].seconds_left == 0


def test_finished_seeds_are_skipped_and_an_interrupt_keeps_them(records):
    cell = make_cell("digits", "gcn", QUICK, k=10, seeds=5)

    def interrupt(progress):
        if progress.finished == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cell(cell, records, on_progress=interrupt)
    assert [record.seed for record in records.read()] == list(cell.seeds[:2])
    started = []
    result = run_cell(cell, records, on_progress=lambda progress: started.extend(progress.running))
    assert set(started) == set(cell.seeds[2:])
    assert len(records.path.read_text().splitlines()) == 5
    again = run_cell(cell, records, on_progress=lambda _: pytest.fail("nothing is left to do"))
    assert again == result


def test_the_time_limit_starts_no_run_that_will_not_finish(records, monkeypatch):
    cell = make_cell("digits", "gcn", QUICK, k=10)
    now = [0.0]
    monkeypatch.setattr("s2gnn.studies.run.time", SimpleNamespace(monotonic=lambda: now[0]))
    left = []

    def each_run_takes_ten_seconds(progress):
        now[0] += 10 * len(progress.running)
        left.append(progress.seconds_left)

    assert run_cell(cell, records, minutes=0).records == {}
    result = run_cell(cell, records, minutes=45 / 60, on_progress=each_run_takes_ten_seconds)
    assert tuple(result.records) == cell.seeds[:4]
    assert not result.complete
    assert left == [None, 490, 490, 480, 480, 470, 470, 460]


@pytest.fixture
def several_labels(monkeypatch):
    """The digits with three labels each, of which any may hold, in place of the digits."""
    digits = load_dataset("digits")
    y = np.stack([digits.y % 2, digits.y > 4, digits.y == 0], axis=1).astype(np.int64)
    labelled = np.arange(len(y)) % 3 > 0
    several = Dataset("digits", digits.x, y, ("odd", "large", "zero"), None, "scikit-learn", labelled)
    monkeypatch.setattr("s2gnn.studies.run.load_dataset", lambda name: several)
    return several


@pytest.mark.usefixtures("several_labels")
def test_several_labels_are_scored_by_roc_auc(records):
    result = run_cell(make_cell("digits", "mlp", replace(QUICK, epochs=40), k=10, seeds=2), records)
    assert result.metric == "test_roc_auc"
    for record in result.records.values():
        assert set(record.metrics) == {"test_roc_auc", "val_roc_auc", "epoch"}
        assert record.metrics["test_roc_auc"] > 0.9


def test_an_epsilon_learned_from_several_labels_is_recorded(records, several_labels):
    cell = make_cell("digits", "s2gnn", QUICK, k=10, changes={"alpha": 2, "epsilon": "learn"}, seeds=2)
    result = run_cell(cell, records, threads=1)
    _, graph = dataset_graph(several_labels, "knn", 10)
    chosen = cell.hyperparameters
    config = QUICK.fit_config(chosen.lr, chosen.weight_decay, several_labels=True)
    for seed, record in result.records.items():
        with seeded(seed):
            model = cell.new_model(64, 3)
        x, op = model.prepare(several_labels.x, graph)
        split = dataset_split(several_labels, seed)
        fit(model, x, op, several_labels.y, split.train, split.val, config=config, seed=seed)
        assert set(record.metrics) == {"test_roc_auc", "val_roc_auc", "epoch", "epsilon"}
        assert record.metrics["epsilon"] == pytest.approx(float(model.epsilon), rel=1e-4)
        assert abs(record.metrics["epsilon"] - 1) > 1e-3


def test_several_processes_give_the_same_table(records, tmp_path):
    cell = make_cell("digits", "sign", replace(RELEASED, epochs=8), k=10, seeds=3)
    alone = run_cell(cell, records, threads=1)
    together = run_cell(cell, Records(tmp_path / "two.jsonl"), jobs=2, threads=1)
    assert {s: r.metrics for s, r in alone.records.items()} == {s: r.metrics for s, r in together.records.items()}
    assert alone.confidence == together.confidence


def test_another_share_of_the_nodes_trains_and_is_counted(records):
    cell = make_cell("digits", "mlp", QUICK, k=10, seeds=2, share=0.004)
    result = run_cell(cell, records)
    dataset = load_dataset("digits")
    for seed, record in result.records.items():
        split = paper_split(dataset.y, seed, share=0.004)
        assert record.metrics["train_nodes"] == len(split.train) > int(0.004 * len(dataset.y))
        model = make_model("mlp", 64, 10, hidden_channels=32, num_layers=2, dropout=0.5)
        x, op = model.prepare(dataset.x, dataset_graph(dataset, "knn", 10)[1])
        fit(model, x, op, dataset.y, split.train, split.val, config=QUICK.fit_config(0.01, 5e-4), seed=seed)
        predicted = predict_logits(model, x, op).argmax(dim=1).numpy()
        assert record.metrics["test_accuracy"] == np.mean(predicted[split.test] == dataset.y[split.test])


def test_a_yardstick_is_run_and_kept_like_a_model(records):
    cell = make_cell("digits", "label-spreading", QUICK, k=10, seeds=2)
    result = run_cell(cell, records)
    dataset, graph = dataset_graph(load_dataset("digits"), "knn", 10)
    for seed, record in result.records.items():
        split = paper_split(dataset.y, seed)
        predicted = LabelSpreading().fit_predict(None, graph, dataset.y, split.train, seed).argmax(axis=1)
        assert record.metrics["test_accuracy"] == np.mean(predicted[split.test] == dataset.y[split.test])
        assert record.metrics["val_accuracy"] == np.mean(predicted[split.val] == dataset.y[split.val])
    again = run_cell(cell, records, on_progress=lambda _: pytest.fail("nothing is left to do"))
    assert again == result


# One process that has imported everything forks the runs, so that ten of them start in no time.
KILLED_RUNS = """
import json, os, random, signal, sys, time
from dataclasses import replace
from s2gnn.learning.protocol import FAIR
from s2gnn.learning.records import Records
from s2gnn.learning.seeding import seeded
from s2gnn.learning.yardsticks import LabelSpreading
from s2gnn.studies import make_cell, run_cell
from s2gnn.studies.run import cell_result

def run(path):
    process = os.fork()
    if process == 0:
        run_cell(cell, Records(path))
        os._exit(0)
    return process

def done(path):
    return len(cell_result(cell, Records(path)).records)

cell = make_cell("digits", "gcn", replace(FAIR, epochs=12), k=10, seeds=25)
undisturbed, disturbed = sys.argv[1:]
start = time.monotonic()
os.waitpid(run(undisturbed), 0)
seconds = time.monotonic() - start
chance = random.Random(4)
counts = [0]
for _ in range(10):
    process = run(disturbed)
    target = counts[-1] + chance.choice([0, 1])
    while done(disturbed) < target:
        time.sleep(0.002)
    time.sleep(chance.uniform(0, 0.04) * seconds)
    os.kill(process, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(process, 0)[1]), "the run ended before it was killed"
    counts.append(done(disturbed))
os.waitpid(run(disturbed), 0)
print(json.dumps(counts))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_ten_times_it_gives_the_table_of_an_undisturbed_run(tmp_path):
    paths = [tmp_path / "undisturbed.jsonl", tmp_path / "disturbed.jsonl"]
    single = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", KILLED_RUNS, *map(str, paths)]
    run = subprocess.run(command, capture_output=True, text=True, env=single, timeout=300)
    assert run.returncode == 0, run.stderr
    counts = json.loads(run.stdout)
    assert counts == sorted(counts)
    assert len(set(counts)) > 4
    tables = [{record.seed: record.metrics for record in Records(path).read()} for path in paths]
    assert len(tables[0]) == 25
    assert tables[0] == tables[1]
    assert all(len(path.read_text().splitlines()) == 25 for path in paths)
