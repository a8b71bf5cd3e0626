import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest
import torch

from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.errors import SeedError
from s2gnn.experiments import BUDGETS, Records, load_task, make_experiment
from s2gnn.experiments.experiment import canonical_json
from s2gnn.experiments.jobs import Job, expected_seconds
from s2gnn.experiments.protocols import FAIR, Rung
from s2gnn.experiments.queue import Queue, SearchQueue, missing_jobs
from s2gnn.experiments.records import RecordsFolder, search_records
from s2gnn.experiments.run import run_experiments, run_jobs
from s2gnn.experiments.tasks import Run
from tests.experiments.made_records import append

SHORT = replace(FAIR, epochs=3)


def experiment(model="mlp", seeds=2, protocol=SHORT, **changes):
    return make_experiment("digits", model, protocol, k=10, changes=changes, seeds=seeds)


@dataclass
class Listener:
    """Keeps what a study reports, and stops it after `runs`."""

    runs: int | None = None
    said: list = field(default_factory=list)
    seen: list = field(default_factory=list)

    def __call__(self, event):
        if isinstance(event, str):
            self.said.append(event)
            return
        self.seen.append(event)
        if event.finished == self.runs:
            raise KeyboardInterrupt


@pytest.fixture
def listener():
    return Listener()


@pytest.fixture
def records(tmp_path):
    return RecordsFolder(tmp_path, "study")


def scores(records):
    return {(record.key, record.seed): record.metrics for record in records.read()}


def test_every_run_is_kept_with_what_made_it(records, listener):
    wanted = experiment()
    assert run_experiments([wanted], records, listener) == []
    for record, seed in zip(records.read(), wanted.seeds, strict=True):
        assert (record.key, record.seed, record.experiment) == (wanted.key, seed, wanted.describe())
        assert record.metrics == load_task(wanted).run(seed).metrics
        assert record.budget == {"epochs": 3, "threads": torch.get_num_threads()}
        assert record.versions["torch"] == torch.__version__
    assert listener.said[0] == "timing a few epochs of 1 configuration without records"
    assert listener.said[1].startswith("2 runs to train, about ")
    states = [(progress.description, progress.finished) for progress in listener.seen]
    assert states == [(wanted.title, 0), ("done", 1), (wanted.title, 1), ("done", 2)]
    assert listener.seen[-1].seconds_left == 0


def test_an_interrupt_keeps_finished_runs_and_the_same_call_resumes(records, listener):
    wanted = experiment(seeds=4)
    interrupted = Listener(runs=2)
    with pytest.raises(KeyboardInterrupt):
        run_experiments([wanted], records, interrupted)
    assert [record.seed for record in records.read()] == list(wanted.seeds[:2])
    assert interrupted.said[-1] == "2 of 4 runs finished; rerun the command to resume"
    run_experiments([wanted], records, listener)
    assert listener.said[0].startswith("2 runs to train")
    assert [record.seed for record in records.read()] == list(wanted.seeds)
    finished = Listener()
    run_experiments([wanted, wanted], records, finished, budget=BUDGETS["quick"])
    assert (finished.said, finished.seen) == (["budget quick: all runs of 1 experiments are on record"], [])


def test_processes_give_what_one_process_gives_and_a_failure_does_not_stop_the_others(records, tmp_path):
    wanted = [experiment(lr=1e30, seeds=1), experiment("gcn"), experiment("label-spreading")]
    queue, alone = missing_jobs(wanted, records), RecordsFolder(tmp_path / "alone", "study")
    failures = run_jobs(Queue(queue), records, jobs=2, budget="quick")
    assert run_jobs(Queue(queue), alone) == failures
    (failure,) = failures
    assert failure.startswith(f"digits knn mlp fair, seed {wanted[0].seeds[0]}: NonFiniteLossError: the ")
    assert scores(records) == scores(alone)
    assert {record.key for record in records.read()} == {wanted[1].key, wanted[2].key}
    assert {record.budget["name"] for record in records.read()} == {"quick"}


def test_a_run_that_cannot_be_timed_is_reported_when_it_is_its_turn(records, listener):
    (failure,) = run_experiments([experiment(lr=1e30), experiment("gcn", seeds=1)], records, listener)
    assert "NonFiniteLossError" in failure
    assert [record.experiment["model"] for record in records.read()] == ["gcn"]


def test_what_any_file_of_the_folder_has_is_not_run_again(records, tmp_path):
    append(tmp_path / "earlier.jsonl", experiment(), [90.0])
    assert [job.seed for job in missing_jobs([experiment(seeds=3)], records)] == list(experiment(seeds=3).seeds[1:])


def test_runs_of_another_budget_are_not_those_after_a_search(records, tmp_path):
    append(tmp_path / "earlier.jsonl", experiment(seeds=3), [90.0] * 3, budget="standard")
    assert len(missing_jobs([experiment(seeds=3)], records)) == 3


def test_the_first_seeds_of_every_experiment_come_before_the_next_of_any(records):
    first, second = experiment(seeds=7), experiment("gcn", seeds=6)
    queue = missing_jobs([first, second, first], records)
    assert [job.experiment.model for job in queue] == ["mlp"] * 5 + ["gcn"] * 5 + ["mlp"] * 2 + ["gcn"]
    assert [job.seed for job in queue[:5]] == list(first.seeds[:5])


def test_no_run_starts_that_would_not_finish_in_time(records, listener, monkeypatch):
    assert run_experiments([experiment()], records, listener, minutes=0) == []
    assert listener.said[1].endswith(", stops after 0 min")
    assert (records.read(), listener.said[-1]) == ([], "0 of 2 runs finished; rerun the command to resume")
    queue = [replace(job, seconds=10.0) for job in missing_jobs([experiment(seeds=9)], records)]
    now, left = [0.0], []
    monkeypatch.setattr("s2gnn.experiments.run.time", SimpleNamespace(monotonic=lambda: now[0]))

    def each_run_takes_ten_seconds(progress):
        now[0] += 10 * (progress.description != "done")
        left.append(progress.seconds_left)

    run_jobs(Queue(queue), records, end=45, report=each_run_takes_ten_seconds)
    assert len(records.read()) == 4
    assert left[0] == 90
    assert all(seconds < 9 for seconds in left[1:])  # they train much faster than expected


def test_a_run_that_took_longer_than_expected_sets_the_time_of_the_next(records, monkeypatch):
    slow = SimpleNamespace(run=lambda seed: Run(seed, {"test_accuracy": 0.9, "epoch": 2}, 100.0))
    monkeypatch.setattr("s2gnn.experiments.jobs.load_task", lambda experiment, device: slow)
    queue = [replace(job, seconds=1.0) for job in missing_jobs([experiment(seeds=3)], records)]
    run_jobs(Queue(queue), records, end=time.monotonic() + 50)
    assert len(records.read()) == 1


def seconds(wanted, records):
    """Of one run."""
    (timed,) = expected_seconds([Job(wanted, wanted.seeds[0])], records.read(), threads=1)
    return timed.seconds


def test_the_time_of_a_run_comes_from_records_of_the_same_model_or_from_a_few_epochs(records):
    assert 0 < seconds(experiment(), records) < 10
    append(records.path, experiment(), [90.0], seconds=6.0)
    assert seconds(experiment(protocol=FAIR, lr=0.02), records) == pytest.approx(500 * 6 / 3)
    assert seconds(experiment(hidden_channels=16), records) != pytest.approx(6)


def test_a_run_that_stopped_early_or_has_no_epochs_is_counted_as_such(records):
    stops = experiment(protocol=replace(FAIR, epochs=40, patience=4))
    append(records.path, stops, [90.0], seconds=16.0)  # its best epoch is the fourth
    assert seconds(stops, records) == pytest.approx(40 * 16 / 8)
    spreading = experiment("label-spreading", protocol=FAIR)
    assert 0 < seconds(spreading, records) < 10
    append(records.path, spreading, [90.0], seconds=2.5)
    assert seconds(spreading, records) == pytest.approx(2.5)


SEARCH = replace(BUDGETS["standard"], seeds=2, epochs=3, rungs=(Rung(4, 1, epochs=2), Rung(2, 1), Rung(1, 2)))


def test_a_search_comes_first_and_its_best_configuration_is_tested(records, listener):
    wanted = experiment("sign")
    assert run_experiments([wanted], records, listener, minutes=0, budget=SEARCH) == []
    assert listener.said[1].startswith("budget standard: 9 runs to train, about ")
    assert listener.said[-1] == "0 of 9 runs finished; rerun the command to resume"
    interrupted = Listener(runs=3)
    with pytest.raises(KeyboardInterrupt):
        run_experiments([wanted], records, interrupted, budget=SEARCH)
    assert run_experiments([wanted], records, listener, budget=SEARCH, jobs=2) == []
    trials = search_records(records).read()
    assert [trial.experiment["protocol"]["epochs"] for trial in trials] == [2, 2, 2, 2, 3, 3, 3]
    assert all(set(trial.metrics) == {"validation", "epoch"} for trial in trials)  # nothing is tested
    alone = RecordsFolder(records.path.parent / "alone", "study")
    run_experiments([wanted], alone, Listener(), budget=SEARCH)
    assert scores(search_records(alone)) == scores(search_records(records))
    assert scores(alone) == scores(records)
    found = records.read()
    assert {(record.seed, record.budget["name"]) for record in found} == {(seed, "standard") for seed in wanted.seeds}
    assert {record.key for record in found} == {trial.key for trial in trials if trial.seed == VALIDATION_SEEDS[1]}
    run_experiments([wanted], records, listener, budget=SEARCH)
    assert listener.said[-1] == "budget standard: all runs of 1 experiments are on record"


def failing_with(error, fails, monkeypatch):
    """Let training raise `error` where `fails(experiment, seed)`."""

    def load(experiment, device):
        task = load_task(experiment)
        kind, fit = type(task), type(task).fit

        def fit_or_fail(self, seed, **options):
            if fails(self.experiment, seed):
                raise error
            return fit(self, seed, **options)

        task.__class__ = type(kind.__name__, (kind,), {"fit": fit_or_fail})
        return task

    monkeypatch.setattr("s2gnn.experiments.jobs.load_task", load)


def test_hyperparameters_found_on_one_graph_are_tested_on_another(records, listener):
    wanted = experiment("sign")
    elsewhere = replace(wanted, k=5)
    assert run_experiments([wanted], records, listener, budget=SEARCH, searched_on={wanted.key: elsewhere}) == []
    trials, tested = search_records(records).read(), records.read()
    assert {trial.experiment["k"] for trial in trials} == {5}
    assert [(record.experiment["k"], record.seed) for record in tested] == [(10, seed) for seed in wanted.seeds]
    best = max((trial for trial in trials if trial.seed == VALIDATION_SEEDS[1]), key=lambda trial: trial.finished)
    assert tested[0].experiment["arguments"] == best.experiment["arguments"]


def test_a_failed_trial_is_recorded_with_its_error_and_the_search_continues(records, listener, monkeypatch):
    wanted = experiment("sign")
    default = SearchQueue([wanted], records, SEARCH, 1, Listener()).next()
    failing_with(TypeError("no such width"), lambda trial, _: trial.key == default.experiment.key, monkeypatch)
    assert run_experiments([wanted], records, listener, budget=SEARCH) == []
    failed = [trial for trial in search_records(records).read() if trial.error]
    assert [(trial.metrics, trial.error) for trial in failed] == [
        ({"validation": 0.0, "epoch": 0.0}, "TypeError: no such width")
    ]
    assert listener.said[-2:] == [
        "1 trial failed, recorded with the lowest score; to train again, delete the line in "
        f"{search_records(records).path}:",
        f"digits knn sign fair, seed {VALIDATION_SEEDS[0]}: TypeError: no such width",
    ]
    assert len(records.read()) == 2
    found = {canonical_json(record.experiment["arguments"]) for record in records.read()}
    assert canonical_json(default.experiment.hyperparameters.model) not in found
    assert run_experiments([wanted], records, listener, budget=SEARCH) == []
    assert listener.said[-1] == "budget standard: all runs of 1 experiments are on record"


def test_a_failed_test_seed_is_reported_and_run_again(records, listener, monkeypatch):
    wanted = experiment("mlp")
    with monkeypatch.context() as broken:
        failing_with(TypeError("no"), lambda _, seed: seed not in VALIDATION_SEEDS, broken)
        failures = run_experiments([wanted, experiment("svm")], records, listener, budget=SEARCH)
    assert [failure.partition(", seed ")[0] for failure in failures] == ["digits knn mlp fair", "digits knn svm fair"]
    assert (records.read(), listener.said[-1]) == ([], "14 of 18 runs finished; rerun the command to resume")
    assert run_experiments([wanted], records, listener, budget=SEARCH) == []
    assert {record.seed for record in records.read()} == set(wanted.seeds)


@pytest.mark.parametrize(
    "error",
    [MemoryError("no room"), OSError("disk full"), RuntimeError("DefaultCPUAllocator: can't allocate memory: 4 bytes")],
)
def test_an_error_of_the_machine_is_no_failure_of_the_configuration(records, listener, monkeypatch, error):
    with monkeypatch.context() as broken:
        failing_with(error, lambda *_: True, broken)
        failures = run_experiments([experiment("mlp")], records, listener, budget=SEARCH)
    assert len(failures) == 4
    assert all(failure.endswith(f"{type(error).__name__}: {error}") for failure in failures)
    assert search_records(records).read() == []
    run_experiments([experiment("mlp")], records, listener, budget=SEARCH)
    assert len(records.read()) == 2


def test_data_that_cannot_be_loaded_fail_the_run_and_not_the_configuration(records, listener, monkeypatch):
    def load(experiment, device):
        raise ValueError(f"{experiment.data} is damaged")

    monkeypatch.setattr("s2gnn.experiments.jobs.load_task", load)
    failures = run_experiments([experiment("mlp")], records, listener, budget=SEARCH)
    assert all(failure.endswith("ValueError: digits is damaged") for failure in failures)
    assert len(failures) == 4
    assert search_records(records).read() == []


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly(Job):
    """Kills the process that receives it."""

    def __reduce__(self):
        return die, ()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_process_leaves_no_record_of_its_trial(records):
    with pytest.raises(SeedError, match="digits knn mlp fair, seed .* was killed by SIGKILL, as .*: lower jobs"):
        run_jobs(Queue([Deadly(experiment(), VALIDATION_SEEDS[0])]), records, jobs=2)
    assert search_records(records).read() == []


# One process that has imported everything forks the runs, so that ten of them start at once.
KILLED_RUNS = """
import json, os, random, signal, sys, time
from s2gnn.experiments.records import Records
from s2gnn.experiments.queue import Queue, missing_jobs
from s2gnn.experiments.run import run_jobs
from tests.experiments.test_run import KILLED

def run(path):
    process = os.fork()
    if process == 0:
        run_jobs(Queue(missing_jobs([KILLED], Records(path))), Records(path))
        os._exit(0)
    return process

def done(path):
    return len(Records(path).read())

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
KILLED = experiment("gcn", seeds=25, protocol=replace(FAIR, epochs=12))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_ten_times_it_gives_the_records_of_an_undisturbed_run(tmp_path):
    paths = [tmp_path / "undisturbed.jsonl", tmp_path / "disturbed.jsonl"]
    command = [sys.executable, "-c", KILLED_RUNS, *map(str, paths)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert run.returncode == 0, run.stderr
    counts = json.loads(run.stdout)
    assert counts == sorted(counts)
    assert len(set(counts)) > 4
    first, second = (scores(Records(path)) for path in paths)
    assert len(first) == 25
    assert first == second
    assert all(len(path.read_text().splitlines()) == 25 for path in paths)


def test_records_name_a_device_that_is_not_the_cpu(records, listener, monkeypatch):
    places = []
    monkeypatch.setattr(torch.nn.Module, "to", lambda module, device: places.append(str(device)) or module)
    wanted = experiment(seeds=1)
    assert run_experiments([wanted], records, listener, device=torch.device("cuda:1")) == []
    (record,) = records.read()
    assert record.budget == {"epochs": 3, "threads": torch.get_num_threads(), "device": "cuda:1"}
    assert set(places) == {"cuda:1"}
    other = replace(wanted, seeds=wanted.seeds[:1], protocol=replace(SHORT, epochs=4))
    slow = [replace(record, seconds=3000.0)]
    (there,) = expected_seconds([Job(other, 1)], slow, torch.get_num_threads(), device=torch.device("cuda:1"))
    (here,) = expected_seconds([Job(other, 1)], slow, torch.get_num_threads())
    assert there.seconds == 4000.0
    assert here.seconds < 1000.0  # timed, because the record is of another device
