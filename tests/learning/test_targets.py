"""Weights of nodes in the loss: a whole weight is that many copies of the node."""

import numpy as np
import pytest
import torch

from s2gnn import InputError
from s2gnn.learning.targets import checked_targets

RNG = np.random.default_rng(0)
N = 12
TRAIN = np.arange(8)
COPIES = RNG.integers(1, 4, N)
LOGITS = torch.from_numpy(RNG.normal(size=(N, 3)))
CASES = {
    "classes": (RNG.integers(0, 3, N), "cross-entropy", None),
    "weighted classes": (RNG.integers(0, 3, N), "cross-entropy", [1.0, 3.0, 0.5]),
    "several labels": (RNG.integers(0, 2, (N, 3)), "cross-entropy", None),
    "values": (RNG.normal(size=(N, 3)), "squared-error", None),
}


def targets(y, loss, class_weight, sample_weight):
    return checked_targets(N, y, TRAIN, [8, 9], torch.device("cpu"), loss, class_weight, sample_weight)


@pytest.mark.parametrize(("y", "loss", "class_weight"), CASES.values(), ids=CASES)
def test_a_weight_is_a_number_of_copies(y, loss, class_weight):
    plain, weighted = (targets(y, loss, class_weight, weight) for weight in (None, COPIES))
    nodes, repeated = torch.from_numpy(TRAIN), torch.from_numpy(np.repeat(TRAIN, COPIES[TRAIN]))
    torch.testing.assert_close(weighted.loss(LOGITS, nodes), plain.loss(LOGITS, repeated))
    assert weighted.weight(nodes) == pytest.approx(plain.weight(repeated))
    part = weighted.part(torch.tensor([5, 2, 7]), torch.tensor([0, 2]))
    torch.testing.assert_close(part.loss(LOGITS[[5, 2, 7]], part.train), weighted.loss(LOGITS, torch.tensor([5, 7])))
    assert weighted.digest() != plain.digest()


@pytest.mark.parametrize("weights", [np.ones(3), np.zeros(N), np.full(N, np.nan), ["a"] * N])
def test_weights_are_positive_numbers(weights):
    with pytest.raises(InputError, match="sample_weight has shape .* expected 12 numbers, positive and finite at tra"):
        targets(*CASES["classes"], weights)
