import pytest
import torch
from torch import nn

from s2gnn.learning import ALONE
from s2gnn.learning.step_buffers import StepBuffers

BATCHES = [torch.randn(5, 3, generator=torch.Generator().manual_seed(seed)) + seed for seed in range(3)]
SHARES = [0.5, 0.2, 0.3]


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
