import numpy as np
import pytest

from s2gnn.bench.cost import Size
from s2gnn.bench.cost_model import evaluation_bytes, training_bytes
from s2gnn.bench.cost_parts import METIS_NUMBER, parts_bytes
from s2gnn.bench.workloads import random_graph
from s2gnn.graphs import partition
from s2gnn.nn import S2GNN, Clusters, InParts
from s2gnn.operators import PreparedInput, kernel

SIZE = Size(nodes=1_000, directions=40_000, alpha=6)


def test_metis_is_given_numbers_of_that_size(monkeypatch):
    pymetis = pytest.importorskip("pymetis", reason="needs the extra parts")
    given = []

    def part_graph(n_parts, adjacency, eweights, options):
        given.extend((adjacency.adj_starts, adjacency.adjacent, eweights))
        return 0, np.arange(len(adjacency.adj_starts) - 1) % n_parts

    monkeypatch.setattr(pymetis, "part_graph", part_graph)
    partition(random_graph(SIZE.nodes, SIZE.directions // 2), 20)
    needs = training_bytes(SIZE, [8, 4])
    copies = sum(np.asarray(array, dtype=pymetis.zero_copy_dtype()).nbytes for array in given)
    assert pymetis.zero_copy_dtype().itemsize == METIS_NUMBER
    assert parts_bytes(SIZE, [8, 4]).dividing == needs.graph + needs.features + copies


@pytest.mark.skipif(kernel.chosen() == kernel.PLAIN, reason="needs the native kernel, whose plan differs")
@pytest.mark.parametrize(("widths", "propagated_once"), [([8, 64, 4], True), ([300, 4, 4], False)])
def test_a_process_holds_what_the_formula_says(widths, propagated_once):
    graph = random_graph(SIZE.nodes, SIZE.directions // 2)
    x = np.zeros((SIZE.nodes, widths[0]), np.float32)
    x[:] = np.random.default_rng(0).normal(size=x.shape)
    model = S2GNN(*widths, alpha=SIZE.alpha)
    parts = InParts(model, x, graph, Clusters(np.arange(SIZE.nodes) % 10), "part")
    needs, whole = parts_bytes(SIZE, widths), training_bytes(SIZE, widths)
    assert needs.part_degrees == whole.graph + x.nbytes + parts._features.nbytes
    prepared, _ = parts.whole
    assert isinstance(prepared, PreparedInput) == propagated_once
    held = prepared.stacked if isinstance(prepared, PreparedInput) else prepared
    given, made = whole.graph + x.nbytes, whole.operator + held.nbytes
    assert needs.whole_degrees == given + max(made, whole.preparing)
    assert needs.evaluation == given + made + evaluation_bytes(SIZE, widths)
    assert needs.building == x.nbytes + whole.building
