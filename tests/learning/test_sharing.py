import multiprocessing

import numpy as np
import scipy.sparse as sp
import torch

from s2gnn import SobolevOperator
from s2gnn.learning.sharing import Shared
from tests.random_graphs import random_graph


def look(shared, sender):
    """In the child: say what arrived, then write into the one tensor that the parent looks at again."""
    value = shared.value
    sender.send(
        {
            "operator is the same object": value["prepared"].operator is value["op"],
            "operator": value["op"].matrix(2).toarray(),
            "propagated": value["prepared"].propagated.numpy(),
            "graph": (value["op"].graph.indptr, value["op"].graph.indices, value["op"].graph.weights),
            "writeable": [array.flags.writeable for array in (value["transposed"], value["op"].graph.weights)],
            "transposed": value["transposed"],
            "same array twice": value["transposed"] is value["again"],
            "names": value["names"],
            "sparse": value["sparse"].toarray(),
            "csr": value["csr"].to_dense().numpy(),
        }
    )
    value["tensor"].fill_(7.0)
    sender.close()


def test_everything_arrives_and_tensors_are_the_same_memory(capfd):
    op = SobolevOperator(random_graph(60), alpha=3)
    prepared = op.prepare(torch.rand(60, 40))
    transposed = np.random.default_rng(0).normal(size=(40, 30)).T
    sparse = sp.random_array((300, 200), density=0.1, rng=np.random.default_rng(0), format="csr")
    csr = torch.sparse_csr_tensor(
        torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.tensor([2.0, 3.0]), size=(2, 2), check_invariants=False
    )
    value = {
        "op": op, "prepared": prepared, "transposed": transposed, "again": transposed, "sparse": sparse, "csr": csr,
        "names": np.array(["ε"] * 2000), "tensor": torch.zeros(5000),
    }  # fmt: skip
    shared = Shared(value)
    receiver, sender = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=look, args=(shared, sender))
    process.start()
    sender.close()
    seen = receiver.recv()
    process.join()
    assert process.exitcode == 0
    assert capfd.readouterr().err == ""
    assert seen["operator is the same object"]
    np.testing.assert_array_equal(seen["operator"], op.matrix(2).toarray())
    np.testing.assert_array_equal(seen["propagated"], prepared.propagated.numpy())
    for given, arrived in zip((op.graph.indptr, op.graph.indices, op.graph.weights), seen["graph"], strict=True):
        np.testing.assert_array_equal(arrived, given)
    assert seen["writeable"] == [False, False]
    np.testing.assert_array_equal(seen["transposed"], transposed)
    assert seen["same array twice"]
    assert list(seen["names"]) == ["ε"] * 2000
    np.testing.assert_array_equal(seen["sparse"], sparse.toarray())
    np.testing.assert_array_equal(seen["csr"], csr.to_dense().numpy())
    assert torch.equal(value["tensor"], torch.full((5000,), 7.0))
