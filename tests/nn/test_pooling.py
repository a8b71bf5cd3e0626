import pytest
import torch
from torch_geometric.nn import AttentionalAggregation, global_add_pool, global_max_pool, global_mean_pool

from s2gnn import InputError
from s2gnn.nn.pooling import AttentionPooling, NodeGroups, make_pooling

OFFSETS = torch.tensor([0, 4, 5, 11])
BATCH = torch.repeat_interleave(torch.arange(3), OFFSETS.diff())


def groups():
    return NodeGroups.of(OFFSETS.numpy(), torch.device("cpu"))


def signal():
    return torch.randn(11, 3, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(
    ("name", "pool"), [("mean", global_mean_pool), ("sum", global_add_pool), ("max", global_max_pool)]
)
def test_values_and_gradients_are_those_of_pyg(name, pool):
    h = signal()
    weight = torch.randn(3, 3, dtype=torch.float64)
    ours, theirs = make_pooling(name, 3)(h, groups()), pool(h, BATCH)
    torch.testing.assert_close(ours, theirs, rtol=1e-14, atol=1e-14)
    gradients = [torch.autograd.grad((pooled * weight).sum(), h)[0] for pooled in (ours, theirs)]
    torch.testing.assert_close(*gradients)


def test_attention_is_that_of_pyg_also_for_large_scores():
    pooling = AttentionPooling(3).double()
    theirs = AttentionalAggregation(torch.nn.Linear(3, 1)).double()
    theirs.gate_nn.load_state_dict(pooling.gate.state_dict())
    h = (300 * signal()).detach().requires_grad_()
    ours, expected = pooling(h, groups()), theirs(h, BATCH)
    assert ours.isfinite().all()
    torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(ours[1], h[4])  # the graph of one node
    assert torch.autograd.gradcheck(lambda x: pooling(x, groups()), signal())


def test_all_values_may_be_negative():
    assert make_pooling("max", 1)(-torch.ones(11, 1), groups()).tolist() == [[-1.0]] * 3


def test_an_unknown_pooling_is_named():
    with pytest.raises(InputError, match="pooling is 'median', but it must be one of mean, sum, max, attention"):
        make_pooling("median", 3)
