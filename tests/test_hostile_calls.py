"""Calls with invalid values raise an `InputError`, not an exception of NumPy, SciPy or torch."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from s2gnn import S2GNN, Graph, InputError, S2GNNRegressor, SobolevOperator, diffuse, knn_graph, smooth_graph
from s2gnn.devices import checked_device
from s2gnn.learning import FitConfig
from s2gnn.learning.config import make_adam
from s2gnn.nn import S2Conv

GRAPH = Graph.from_edge_list([(0, 1), (1, 2), (0, 2)], weights=[0.5, 2.0, 1.0])
H = torch.arange(15.0).reshape(3, 5)
DENSE = "expects a dense, strided tensor"


def nested():
    return torch.nested.nested_tensor([H[0], H[1]])


@pytest.mark.parametrize("make", [H.to_mkldnn, H.to_sparse, H.to_sparse_csr, nested, H.numpy, lambda: None])
@pytest.mark.filterwarnings("ignore::UserWarning")  # torch calls its sparse and nested tensors experimental
def test_only_dense_tensors_reach_a_kernel(make):
    operator = SobolevOperator(GRAPH, alpha=2)
    with pytest.raises(InputError, match=DENSE):
        operator.propagate(make())
    with pytest.raises(InputError, match="a layer takes dense ones|must be a dense tensor"):
        S2Conv(5, 2, alpha=2)(make(), operator)


@pytest.mark.parametrize("make", [H.to_mkldnn, H.to_sparse, H.to_sparse_csr, nested, lambda: H.to("meta")])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_estimators_refuse_tensors_that_numpy_cannot_read(make):
    with pytest.raises(InputError, match="Tensor cannot be read as an array"):
        S2GNNRegressor().fit(make(), [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SobolevOperator(GRAPH, alpha=10**18), "alpha is 1000000000000000000, but it must be at most 1000"),
        (lambda: SobolevOperator(GRAPH, alpha=2**63), "but it must be at most 1000"),
        (lambda: SobolevOperator(GRAPH, epsilon=10**400), "but it must be a finite number >= 0"),
        (lambda: SobolevOperator(GRAPH, epsilon=np.complex128(1)), "but it must be a finite number >= 0"),
        (lambda: SobolevOperator(GRAPH, shift=np.ones(3)), "but it must be one of adjacency, laplacian"),
        (lambda: SobolevOperator(GRAPH).matrix(2**70), "this operator has the powers 0..4"),
        (lambda: Graph.from_edge_list([(0, 2**70)]), "but indices are integers"),
        (lambda: Graph.from_edge_list([(0, 2**63)]), "but indices are integers"),
        (lambda: Graph.from_edge_list([(0, 2**40)]), "there can be at most 2147483647 nodes"),
        (lambda: Graph.from_edge_list(np.array([[0, 2**64 - 1]], np.uint64)), "has the index 18446744073709551615"),
        (lambda: Graph.from_edge_list([(0, 1)], n_nodes=2**63), "n_nodes is 9223372036854775808, but it must be"),
        (lambda: Graph.from_edge_index([[0, 2**70], [2**70, 0]]), "but indices are integers"),
        (lambda: Graph.from_edge_index(torch.eye(2).to_sparse()), "Tensor cannot be read as an array"),
        (lambda: Graph.from_edge_index(torch.eye(2).to_mkldnn()), "Tensor cannot be read as an array"),
        (lambda: Graph.from_edge_index(torch.eye(2, device="meta")), "Tensor cannot be read as an array"),
        (lambda: Graph.from_edge_index([[0, 1], [1, 0]], torch.ones(2).to_sparse()), "cannot be read as an array"),
        (lambda: Graph.from_scipy(sp.coo_array((2**40, 2**40))), "the number of nodes is 1099511627776"),
        (lambda: knn_graph(np.array([[object()], [1]], dtype=object), 1), "X cannot be used as a table of features"),
        (lambda: knn_graph(np.array([[10**400], [1]], dtype=object), 1), "X cannot be used as a table of features"),
        (lambda: knn_graph(sp.coo_array((2**40, 2)), 1), "the number of rows is 1099511627776, but it must be at most"),
        (lambda: knn_graph(sp.csr_array(([np.float16(1)] * 2, [0, 0], [0, 1, 2])), 1), "csr matrix of float16"),
        (lambda: knn_graph(np.ones((3, 2)), 1, sigma=10**400), "but it must be a positive number"),
        (lambda: knn_graph(np.ones((3, 2)), 1, sigma=np.ones(2)), "sigma is array.*but it must be a positive number"),
        (lambda: smooth_graph(np.ones((5, 2)), 2**70), "a graph learned on 5 rows has"),
        (lambda: diffuse(GRAPH, teleport=1e-300), "teleport is 1e-300, but the smallest"),
        (lambda: diffuse(GRAPH, teleport="x"), r"teleport is 'x', but it must lie in \(0, 1\)"),
        (
            lambda: S2GNNRegressor(random_state=2**64).fit(H, [1.0, 2.0, 3.0]),
            "random_state is 18446744073709551616, but",
        ),
        (lambda: diffuse(None), "graph is a NoneType, but it must be a Graph"),
        (lambda: Graph.from_pyg(None), "a NoneType was given, but a Data with an edge_index is needed"),
        (lambda: SobolevOperator(GRAPH).prepare(sp.eye_array(3)), DENSE),
        (lambda: checked_device(2**64), "which is no device"),
        (lambda: checked_device(5), "which is no(t|) (device|available)"),
        (lambda: FitConfig(lr="x"), "lr is 'x', but the learning rate must be positive and finite"),
        (lambda: FitConfig(lr=1e308), "lr is 1e\\+308, but the learning rate must be positive and finite"),
        (lambda: FitConfig(weight_decay=None), "weight_decay is None, but it must be a finite number of at least 0"),
        (lambda: FitConfig(weight_decay=10**400), "but it must be a finite number of at least 0"),
        (lambda: S2GNNRegressor(weight_decay=np.ones(2)).fit(H, [1.0, 2.0, 3.0]), "weight_decay is array"),
        (lambda: S2GNNRegressor(validation_fraction=np.ones(2)).fit(H, [1.0, 2.0, 3.0]), "validation_fraction is"),
        (lambda: S2GNNRegressor(device=np.ones(2)).fit(H, [1.0, 2.0, 3.0]), "device is array.*which is no device"),
        (lambda: S2GNNRegressor(scale=np.ones(2)).fit(H, [1.0, 2.0, 3.0]), "scale is array.*must be True or False"),
        (lambda: S2GNNRegressor(random_state="x").fit(H, [1.0, 2.0, 3.0]), "random_state is 'x', but it must be None"),
        (lambda: S2GNNRegressor(n_networks=np.ones(2)).fit(H, [1.0, 2.0, 3.0]), "n_networks is array"),
        (lambda: S2GNN(3, 4, 2, epsilon=np.ones(2)), "epsilon is array.*but it must be a finite number >= 0"),
        (
            lambda: S2GNN(5, 4, 2)(torch.tensor(1.0), SobolevOperator(GRAPH)),
            r"x has shape \(\), expected one row per node",
        ),
        (lambda: S2GNN(3, 10**24, 2), "hidden_channels is 1000000000000000000000000, but it must be at most"),
        (lambda: S2GNN(3, 4, 2, num_layers=10**29), "num_layers is 100000000000000000000000000000, but it must be"),
        (lambda: S2GNN(3, 4, 2, fusion=2**63), "fusion is 9223372036854775808, but it must be one of"),
        (lambda: S2GNN(3, 4, 2, fusion=np.ones(2)), "but it must be one of linear, mlp, attention"),
        (lambda: S2GNN(3, 4, 2, dropout=10**400), r"but it must be a number in \[0, 1\)"),
    ],
)
def test_absurd_values_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_weight_decay_may_be_an_integer_of_any_size():
    weight = torch.nn.Linear(2, 1)
    assert make_adam(weight, FitConfig(weight_decay=2**70)).param_groups[0]["weight_decay"] == 2.0**70
