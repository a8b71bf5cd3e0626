import pytest
import torch

from s2gnn.bench.memory import measure_workload
from s2gnn.bench.tasks import Workload, random_graph


@pytest.fixture(scope="module")
def uses():
    graph = random_graph(2_000, 100_000)
    return measure_workload(Workload("medium", graph, torch.empty(0), 1, 1, 1, 1), (1, 4, 8))


def test_the_operator_stays_below_its_bound_and_the_alternatives_grow(uses):
    for use in uses:
        assert (use.workload, use.nodes, use.directions) == ("medium", 2_000, 200_000)
        assert use.operator < use.bound
        assert use.graph == 200_000 * 12 + 2_001 * 4
    assert [use.alpha for use in uses] == [1, 4, 8]
    assert uses[2].operator - uses[0].operator == 7 * 4 * 2_000
    assert uses[2].csr == 8 * uses[0].csr == 8 * (202_000 * 8 + 2_001 * 4)
    assert uses[2].edge_list == 202_000 * (16 + 4 * 8)
    assert uses[2].edge_lists == 8 * 202_000 * 20


def test_the_resident_memory_grows_by_about_the_tensors(uses):
    for use in uses:
        assert 0.5 * use.operator < use.resident < 2 * use.operator
