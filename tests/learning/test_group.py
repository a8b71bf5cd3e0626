import multiprocessing
import os
import socket
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from s2gnn import S2GNN, InputError, knn_graph
from s2gnn.errors import IdleProcessesWarning, LostProcessError
from s2gnn.graphs import partition
from s2gnn.learning import ALONE, FitConfig, Group, fit, joined_group
from s2gnn.learning.group import StepBuffers, own_device
from s2gnn.nn import Clusters, InParts
from s2gnn.nn.neighbour_sampling import Sampled
from s2gnn.threads import computing_with

Y = np.arange(90) % 3
X = np.random.default_rng(0).normal(size=(90, 2)) + np.array([[4, 0], [-4, 0], [0, 6]])[Y]
GRAPH = knn_graph(X, 8)
TRAIN, VAL = np.arange(15), np.arange(15, 45)
BATCHES = [torch.randn(5, 3, generator=torch.Generator().manual_seed(seed)) + seed for seed in range(3)]
SHARES = [0.5, 0.2, 0.3]


def train(group, on_epoch=None, epochs=15, **richer):
    """Seven parts in steps of three batches: two processes never have the same number of batches."""
    model = S2GNN(2, 8, 3, alpha=2, dropout=0.3, **richer)
    parts = InParts(model, X, GRAPH, Clusters(partition(GRAPH, 7, "random")), batches_per_step=3)
    config = FitConfig(epochs=epochs, lr=0.05, patience=6)
    result = fit(model, parts, None, Y, TRAIN, VAL, config=config, seed=1, group=group, on_epoch=on_epoch)
    return result, torch.cat([tensor.flatten() for tensor in model.state_dict().values()])


def _work(rank, size, port, task, outcome):
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    try:
        with joined_group() as group:
            outcome.put((rank, task(group)))
    except LostProcessError as error:
        outcome.put((rank, str(error)))


def in_processes(task, size=2):
    """What `task(group)` returns in each process, by rank; nothing of a process that died."""
    context = multiprocessing.get_context("spawn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    outcome = context.Queue()
    processes = [context.Process(target=_work, args=(rank, size, port, task, outcome)) for rank in range(size)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    return dict(outcome.get(timeout=10) for process in processes if process.exitcode == 0)


def _weights_and_history(group):
    result, weights = train(group)
    return weights.numpy(), result.history.train_loss, result.history.val_accuracy, result.best_epoch


def test_two_processes_give_the_result_of_one():
    expected, weights = train(ALONE)
    found = in_processes(_weights_and_history)
    for rank in (0, 1):
        trained, losses, accuracies, best_epoch = found[rank]
        assert np.allclose(trained, weights, atol=1e-5)
        assert losses == pytest.approx(expected.history.train_loss, abs=1e-5)
        assert best_epoch == expected.best_epoch
        assert accuracies == (expected.history.val_accuracy if rank == 0 else [])
    assert np.array_equal(found[0][0], found[1][0])


def _sampled(group):
    """Some batches reach all nodes."""
    model = S2GNN(2, 8, 3, alpha=2, dropout=0.3)
    parts = InParts(model, X, GRAPH, Sampled(GRAPH, (-1,) * 8, batch_size=4), batches_per_step=2)
    config = FitConfig(epochs=4, lr=0.05)
    return fit(model, parts, None, Y, TRAIN, VAL, config=config, seed=1, group=group).history.train_loss


def test_sampled_neighbours_are_the_same_in_all_processes():
    expected = _sampled(ALONE)
    found = in_processes(_sampled)
    assert found[0] == pytest.approx(expected, abs=1e-5)
    assert found[1] == found[0]


def _refused(group):
    def refuse():
        raise InputError("not this")

    try:
        group.from_first(refuse)
    except InputError as error:
        return str(error)
    return None


def test_what_the_first_process_refuses_all_refuse():
    assert in_processes(_refused) == {0: "not this", 1: "not this"}


def _refused_in_the_second(group):
    def load():
        if group.rank == 1:
            raise InputError("no data here")
        return group.rank

    try:
        return group.everywhere(load)
    except InputError as error:
        return str(error)


def test_what_one_process_refuses_all_refuse_and_name_it():
    text = "process 1 of 0 to 1: no data here"
    assert in_processes(_refused_in_the_second) == {0: text, 1: text}
    assert _refused_in_the_second(ALONE) == 0


def _idle(group):
    model = S2GNN(2, 8, 3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for parts, per_batch, per_step in ((1, 1, 2), (4, 1, 1), (4, 4, 2), (4, 2, 2)):
            batches = Clusters(np.arange(90) % parts, per_batch)
            x = InParts(model, X, GRAPH, batches, batches_per_step=per_step)
            fit(model, x, None, Y, TRAIN, config=FitConfig(epochs=1), group=group)
        fit(model, *model.prepare(X, GRAPH), Y, TRAIN, config=FitConfig(epochs=1), group=group)
    return [str(warning.message) for warning in caught if warning.category is IdleProcessesWarning]


def test_idle_processes_give_a_warning():
    found = in_processes(_idle)
    idle = "2 processes share the batches of a step, but a step has at most 1: the other processes wait; "
    in_parts = f"{idle}divide the graph into more clusters, and use more batches in a step"
    whole = f"{idle}only mini-batches, InParts, can be shared, so train with one process"
    assert found[0] == [in_parts, in_parts, in_parts, whole]
    assert found[1] == []
    assert _idle(ALONE) == []


def _killed(group):
    def on_epoch(epoch):
        if epoch == 2 and group.rank == 1:
            os._exit(9)

    train(group, on_epoch)


def test_a_process_that_ends_ends_the_run_with_one_sentence():
    found = in_processes(_killed)
    assert list(found) == [0]
    assert found[0].startswith("another process of the run has ended or does not answer (")
    assert "\n" not in found[0]
    assert ".cc" not in found[0]


def _collectives(group):
    model = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(3))
    model[0](torch.ones(1, 2)).sum().backward()  # both have this gradient
    if group.is_first:
        model[1](torch.ones(1, 2)).sum().backward()
    group.add_up_gradients(model)
    gradients = [None if layer.bias.grad is None else layer.bias.grad.tolist() for layer in model]
    return gradients, group.totals(1.5, group.rank), group.from_first(lambda: f"from {group.rank}")


def test_gradients_are_summed_and_none_stays_none():
    assert _collectives(ALONE) == ([[1.0, 1.0], [1.0, 1.0], None], (1.5, 0), "from 0")
    expected = ([[2.0, 2.0], [1.0, 1.0], None], (3.0, 1.0), "from 0")
    assert in_processes(_collectives) == {0: expected, 1: expected}


def test_every_item_belongs_to_one_process():
    items = list(range(7))
    assert sorted(item for rank in range(3) for item in Group(rank, 3).own(items)) == items
    assert ALONE.own(items) == items


def _with_running_statistics(group):
    result, state = train(group, epochs=5, norm="batch", fusion="attention")
    return state.numpy(), result.history.train_loss, result.history.val_accuracy


def test_running_statistics_of_two_processes_are_those_of_one():
    with computing_with(1):  # as each of the two: Adam turns rounding of a tiny gradient into a step
        expected, losses, accuracies = _with_running_statistics(ALONE)
    found = in_processes(_with_running_statistics)
    assert np.allclose(found[0][0], expected, atol=1e-5)
    assert found[0][1] == pytest.approx(losses, abs=1e-5)
    assert found[0][2] == accuracies
    assert np.array_equal(found[0][0], found[1][0])


def test_half_an_environment_is_refused(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with pytest.raises(InputError, match="but MASTER_ADDR is not: start them with torchrun"), joined_group():
        pass


def test_without_a_launcher_a_process_is_alone(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with joined_group() as group:
        assert group == ALONE


@pytest.fixture
def launched(monkeypatch):
    """Pretend that torchrun started this process as number 1 of 2 on a machine with some GPUs."""

    def on_machine_with(gpus):
        for name, value in {"RANK": 5, "WORLD_SIZE": 8, "LOCAL_RANK": 1, "LOCAL_WORLD_SIZE": 2}.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)

    return on_machine_with


@pytest.mark.parametrize(("gpus", "auto"), [(0, "cpu"), (1, "cpu"), (2, "cuda:1"), (4, "cuda:1")])
def test_each_process_has_its_gpu(launched, gpus, auto):
    launched(gpus)
    assert own_device("auto") == torch.device(auto)
    assert own_device("cpu") == torch.device("cpu")
    if gpus > 1:
        assert own_device("cuda") == torch.device("cuda:1")
        with pytest.raises(InputError, match="device is 'cuda:0', but 2 processes train on this machine, each on its"):
            own_device("cuda:0")
    else:
        with pytest.raises(InputError, match="device is 'cuda:1', which is not available here"):
            own_device("cuda")


def test_nccl_adds_up_gradients_on_gpus_and_gloo_the_rest(launched, monkeypatch):
    launched(2)
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "1")
    called = []
    monkeypatch.setattr(torch.cuda, "set_device", called.append)
    monkeypatch.setattr("torch.distributed.init_process_group", lambda backend, timeout: called.append(backend))
    monkeypatch.setattr("torch.distributed.get_rank", lambda: 5)
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: 8)
    monkeypatch.setattr("torch.distributed.destroy_process_group", lambda: None)
    with joined_group(device=torch.device("cuda:1")) as group:
        assert group == Group(5, 8)
    with joined_group():
        pass
    assert called == [torch.device("cuda:1"), "cpu:gloo,cuda:nccl", "gloo"]


def normalisation():
    norm = nn.BatchNorm1d(3)
    norm(torch.randn(9, 3))
    norm.register_buffer("mask", torch.tensor([True, False]))
    norm.register_buffer("barred", torch.tensor([0.0, -torch.inf]))
    return norm


def test_a_step_leaves_the_mean_of_what_its_batches_make():
    norm = normalisation()
    before = norm.running_mean.clone()
    expected = 0.9 * before + 0.1 * sum(s * batch.mean(0) for s, batch in zip(SHARES, BATCHES, strict=True))
    states = []
    for order in ([0, 1, 2], [2, 0, 1]):
        norm.load_state_dict({**norm.state_dict(), "running_mean": before})
        count = norm.num_batches_tracked.item()
        step = StepBuffers(norm, ALONE)
        for number in order:
            norm(BATCHES[number])
            step.take(SHARES[number])
        step.finish()
        states.append(norm.running_mean.clone())
        assert norm.num_batches_tracked.item() == count + 1
        assert norm.barred.tolist() == [0.0, -torch.inf]
    torch.testing.assert_close(states[0], expected)
    torch.testing.assert_close(states[1], expected)


def test_a_batch_that_counts_nothing_changes_nothing_in_either_order():
    norm = normalisation()
    before = {name: tensor.clone() for name, tensor in norm.state_dict().items()}
    norm(BATCHES[0])
    expected = norm.running_mean.clone()
    for order in ([0, 1], [1, 0]):
        norm.load_state_dict(before)
        step = StepBuffers(norm, ALONE)
        for number in order:
            norm(BATCHES[number])
            step.take(1.0 - number)
        step.finish()
        torch.testing.assert_close(norm.running_mean, expected)


@pytest.mark.parametrize("kind", ["one batch", "none"])
def test_a_step_of_one_batch_leaves_its_bits_and_one_of_none_leaves_all_as_it_was(kind):
    norm = normalisation()
    expected = {name: tensor.clone() for name, tensor in norm.state_dict().items()}
    step = StepBuffers(norm, ALONE)
    if kind == "one batch":
        norm(BATCHES[0])
        expected = {name: tensor.clone() for name, tensor in norm.state_dict().items()}
        step.take(1.0)
    step.finish()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in norm.state_dict().items())
