import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from s2gnn import S2GNN, Graph, InputError, SobolevOperator, knn_graph
from s2gnn.data.splits import Split
from s2gnn.errors import SeedError
from s2gnn.learning import FitConfig, RunConfig, RunData, fit, fit_many, predict_logits

CONFIG = RunConfig(partial(S2GNN, 2, 8, 3, alpha=2), FitConfig(epochs=20))
SEEDS = (3, 4, 5)


def split(seed):
    order = np.random.default_rng(seed).permutation(90)
    return Split(order[:15], order[15:45], order[45:])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) + np.array([[4, 0], [-4, 0], [0, 6]])[y]
    op = SobolevOperator(knn_graph(X, 8), alpha=2)
    return RunData(op.prepare(torch.tensor(X, dtype=torch.float32)), op, y, split)


def fit_alone(data, seed):
    model = CONFIG.model()
    parts = split(seed)
    result = fit(model, data.x, data.op, data.y, parts.train, parts.val, config=CONFIG.fit, seed=seed)
    return model.state_dict(), predict_logits(model, data.x, data.op), result


@pytest.mark.parametrize("jobs", [1, 2])
def test_bits_of_a_run_on_its_own(data, jobs):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    alone = {seed: fit_alone(data, seed) for seed in SEEDS}
    torch.set_num_threads(threads)
    generator = torch.random.get_rng_state()
    runs = {run.seed: run for run in fit_many(CONFIG, data, SEEDS, jobs, threads=1)}
    assert set(runs) == set(SEEDS)
    for seed, (state, logits, result) in alone.items():
        assert runs[seed].state.keys() == state.keys()
        assert all(torch.equal(runs[seed].state[name], state[name]) for name in state)
        assert torch.equal(runs[seed].logits, logits)
        assert runs[seed].result.history == result.history
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), generator)


def total(x, op):
    """A sum over all the data, so that every page of it has been read."""
    return float(x.propagated.sum()) + op.graph.weights.sum() + float(op.powers.b.sum())


class MemoryProbe(nn.Module):
    """Reads all of its input and keeps, as buffers, the memory that only its process has and what it computes with."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(3))
        for name in ("private", "threads", "pid", "total"):
            self.register_buffer(name, torch.zeros((), dtype=torch.float64))

    def reset_parameters(self):
        nn.init.zeros_(self.bias)

    def forward(self, x, op):
        self.total.fill_(total(x, op))
        rollup = Path("/proc/self/smaps_rollup").read_text().split("\n")
        self.private.fill_(1024 * sum(int(line.split()[1]) for line in rollup if line.startswith("Private_")))
        self.threads.fill_(torch.get_num_threads())
        self.pid.fill_(os.getpid())
        return x.x[:, :3] * 0 + self.bias


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux to measure private memory")
def test_processes_share_the_memory_of_the_data():
    def measure(n, seeds):
        ring = np.arange(n)
        pairs = np.concatenate([np.stack([ring, (ring + step) % n], axis=1) for step in range(1, 7)])
        op = SobolevOperator(Graph.from_edge_list(pairs, np.linspace(0.1, 1, len(pairs))))
        x = op.prepare(torch.rand(n, 8))
        nodes = Split(np.array([0]), np.array([1]), np.array([2]))
        data = RunData(x, op, np.zeros(n, dtype=int), dict.fromkeys(seeds, nodes))
        states = [run.state for run in fit_many(RunConfig(MemoryProbe, FitConfig(epochs=1)), data, seeds, jobs=2)]
        assert os.getpid() not in {int(state["pid"]) for state in states}
        assert all(float(state["total"]) == pytest.approx(total(x, op), rel=1e-4) for state in states)
        assert {int(state["threads"]) for state in states} == {max(1, torch.get_num_threads() // 2)}
        graph = op.graph
        size = sum(a.nbytes for a in (x.stacked, op.powers.indices, op.powers.b, graph.indices, graph.weights))
        return size, max(float(state["private"]) for state in states)

    small, private_of_small = measure(100, [1])
    large, private_of_large = measure(100_000, [2])
    assert large - small > 39e6
    assert private_of_large - private_of_small < 0.25 * (large - small)


def fails_for_seed_4():
    if torch.initial_seed() == 4:
        raise ArithmeticError("no such luck")
    return CONFIG.model()


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_names_the_seed(data, jobs):
    runs = fit_many(RunConfig(fails_for_seed_4, CONFIG.fit), data, [4], jobs)
    with pytest.raises(SeedError, match="seed 4 failed: ArithmeticError: no such luck"):
        list(runs)


def test_a_killed_process_is_reported(data):
    with pytest.raises(SeedError, match="run with seed 3 was killed by SIGKILL, as the system does when memory runs"):
        list(fit_many(RunConfig(dies, CONFIG.fit), data, [3], jobs=2))


def test_seeds_are_requested_when_a_process_is_free(data):
    log = []

    def seeds():
        for seed in (1, 2, 3):
            log.append(f"asked {seed}")
            yield seed

    for run in fit_many(CONFIG, data, seeds()):
        log.append(f"done {run.seed}")
    assert log == ["asked 1", "done 1", "asked 2", "done 2", "asked 3", "done 3"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"jobs": 0}, "jobs is 0, but it must be an integer >= 1"),
        ({"threads": 1.5}, "threads is 1.5"),
        ({"config": RunConfig(lambda: S2GNN(2, 8, 3), FitConfig()), "jobs": 2}, "cannot be sent to another process"),
        ({"split": {1: None}}, r"no split for seed 3: `split` has the seeds \[1\]"),
    ],
)
def test_unusable_arguments(data, arguments, message):
    if "split" in arguments:
        data = RunData(data.x, data.op, data.y, arguments.pop("split"))
    with pytest.raises(InputError, match=message):
        list(fit_many(**{"config": CONFIG, "data": data, "seeds": SEEDS, **arguments}))


LONG_RUNS = """
import os, sys
import numpy as np, torch
from s2gnn import S2GNN, SobolevOperator, knn_graph
from s2gnn.data.splits import Split
from s2gnn.learning import FitConfig, RunConfig, RunData, fit_many

def new_model():
    os.write(1, b"training\\n")
    return S2GNN(2, 8, 3, alpha=2)

if __name__ == "__main__":
    X = np.random.default_rng(0).normal(size=(90, 2))
    op = SobolevOperator(knn_graph(X, 8), alpha=2)
    part = np.arange(30)
    split = Split(part, part + 30, part + 60)
    data = RunData(torch.tensor(X, dtype=torch.float32), op, np.arange(90) % 3, {1: split, 2: split})
    def seeds():
        yield 1
        print("first process started", flush=True)
        yield 2
    try:
        list(fit_many(RunConfig(new_model, FitConfig(epochs=10**7, patience=None)), data, seeds(), jobs=2, threads=1))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.exit(130)
"""


def members(session):
    """The processes of a session that are alive."""
    alive = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, sid = status.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(sid) == session and state != "Z":
            alive.append(int(status.parent.name))
    return alive


@contextmanager
def started(script):
    """A separate process group that runs `script`; all its processes are ended."""
    parent = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with parent:
        try:
            yield parent
        finally:
            with suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)


def heeds_interrupts(pid):
    """Whether a process neither blocks nor ignores SIGINT."""
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return not (int(status["SigBlk"], 16) | int(status["SigIgn"], 16)) >> (signal.SIGINT - 1) & 1


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux to list processes")
@pytest.mark.parametrize(("moment", "end"), [("starting", "ctrl-c"), ("training", "ctrl-c"), ("training", "kill")])
def test_the_end_of_the_parent_is_the_end_of_the_children(tmp_path, moment, end):
    script = tmp_path / "runs.py"
    script.write_text(LONG_RUNS)
    with started(script) as parent:
        assert parent.stdout.readline() == "first process started\n"
        if moment == "training":
            assert [parent.stdout.readline() for _ in range(2)] == ["training\n"] * 2
            children = [pid for pid in members(parent.pid) if pid != parent.pid]
            assert len(children) == 3  # two at work and the one that multiprocessing keeps for its own ends
            assert not any(heeds_interrupts(pid) for pid in children)
            assert heeds_interrupts(parent.pid)
        start = time.monotonic()
        if end == "kill":
            parent.kill()
        else:
            os.killpg(parent.pid, signal.SIGINT)
        out, err = parent.communicate(timeout=60)
        while members(parent.pid):
            assert time.monotonic() - start < 60
            time.sleep(0.02)
        seconds = time.monotonic() - start
    assert err == ""
    assert (parent.returncode, out) == ((-signal.SIGKILL, "") if end == "kill" else (130, "interrupted\n"))
    assert seconds < 10
