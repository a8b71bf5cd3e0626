"""What holds for every model of the registry."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.datasets import load_digits
from torch.nn import functional as F

from s2gnn import Graph, InputError, knn_graph
from s2gnn.nn import MODELS, GraphNetwork, hyperparameters, make_model, model_defaults
from s2gnn.nn.baselines.filters import FilterNetwork
from s2gnn.operators import PreparedInput, SparseInput
from tests.random_graphs import random_graph

NAMES = [
    "s2gnn", "s2gnn+", "gcn", "cheby", "gat", "sgc", "clustergcn", "sign", "supergat", "transformer", "gatv2", "mlp",
    "no-hadamard", "regular-sobolev",
]  # fmt: skip
BASELINES = NAMES[2:]


def test_the_registry_has_the_agreed_names():
    assert list(MODELS) == NAMES
    assert all(issubclass(model, GraphNetwork) for model in MODELS.values())


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_receives_a_gradient_and_reset_redraws_all(name):
    torch.manual_seed(0)
    x = np.random.default_rng(0).normal(size=(40, 6))
    model = make_model(name, 6, 3, hidden_channels=16, num_layers=3, dropout=0.1)
    logits = model(*model.prepare(x, random_graph(40, 0.1)))
    assert logits.shape == (40, 3)
    F.cross_entropy(logits, torch.arange(40) % 3).backward()
    for label, parameter in model.named_parameters():
        assert parameter.grad is not None, label
        assert parameter.grad.abs().sum() > 0, label
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(7)
    model.reset_parameters()
    assert all((parameter != 7).all() for parameter in model.parameters())


def test_what_is_off_by_default_is_no_part_of_a_configuration():
    """Records are found by their configuration: an argument that came later must not change those of before."""
    assert model_defaults("s2gnn") == {"num_layers": 2, "alpha": 4, "epsilon": 1.0, "fusion": "mlp", "dropout": 0.5}
    assert set(hyperparameters("s2gnn")) >= {"norm", "residual", "initial_epsilon"}


@pytest.mark.parametrize(
    "options", [{"fusion": "attention"}, {"epsilon": "learn"}, {"norm": "batch", "residual": True}]
)
def test_the_parts_that_the_paper_names_learn_too(options, digits):
    torch.manual_seed(0)
    model = make_model("s2gnn", 64, 4, hidden_channels=16, num_layers=3, **options)
    X, y, graph = digits
    x, op = model.prepare(X, graph)
    before = F.cross_entropy(model(x, op), y)
    before.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(10):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, op), y)
        loss.backward()
        optimizer.step()
    assert loss < 0.8 * before


@pytest.mark.parametrize("name", BASELINES)
def test_sparse_dense_and_prepared_features_give_the_same_logits_and_gradients(name):
    X = sp.random_array((80, 300), density=0.02, rng=np.random.default_rng(0), format="csr")
    model = make_model(name, 300, 3, hidden_channels=8, dropout=0.0).double()
    x, op = model.prepare(X, random_graph(80, 0.02))
    assert isinstance(x, SparseInput)
    forms = [x, torch.tensor(X.toarray())]
    if isinstance(model, FilterNetwork):
        forms.append(PreparedInput(torch.stack(model.layers[0].filters(forms[1], op), dim=1), op))
    results = []
    for form in forms:
        model.zero_grad()
        logits = model(form, op)
        logits.square().sum().backward()
        results.append([logits.detach(), *(p.grad.clone() for p in model.parameters())])
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            torch.testing.assert_close(first, second)


@pytest.mark.parametrize("name", BASELINES)
def test_prepared_and_plain_input_give_the_same_logits_in_either_precision(name):
    graph, x = random_graph(30, 0.1), torch.randn(30, 5, dtype=torch.float64)
    for dtype in (torch.float32, torch.float64):
        model = make_model(name, 5, 3, hidden_channels=8).to(dtype).eval()
        prepared, op = model.prepare(x, graph)
        logits = model(prepared, op)
        assert logits.dtype == dtype
        torch.testing.assert_close(logits, model(x.to(dtype), op), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("share", [0.02, 1.0])
def test_float32_features_give_what_the_same_numbers_in_float64_give_to_the_bit(name, share):
    X = sp.random_array((80, 60), density=share, rng=np.random.default_rng(0)).toarray().astype(np.float32)
    graph, model = random_graph(80, 0.1), make_model(name, 60, 3, hidden_channels=8).eval()
    for x in (X, np.asfortranarray(X), torch.from_numpy(X)):
        wide = x.double() if isinstance(x, torch.Tensor) else x.astype(np.float64)
        assert torch.equal(model(*model.prepare(x, graph)), model(*model.prepare(wide, graph)))


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("edges", [[(0, 1)], []])
def test_isolated_nodes_and_graphs_of_one_edge_or_none(name, edges):
    graph = Graph.from_edge_list(edges, [0.5] * len(edges), n_nodes=4)
    model = make_model(name, 3, 2, hidden_channels=4)
    logits = model(*model.prepare(torch.randn(4, 3), graph))
    assert torch.isfinite(logits).all()
    logits.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


@pytest.fixture(scope="module")
def digits():
    images, y = load_digits(n_class=4, return_X_y=True)
    X, y = images[:300] / 16, y[:300]
    return X, torch.from_numpy(y), knn_graph(X, k=8)


@pytest.mark.parametrize("name", NAMES)
def test_learns_handwritten_digits(name, digits):
    X, y, graph = digits
    torch.manual_seed(0)
    model = make_model(name, X.shape[1], 4, hidden_channels=16, dropout=0.2)
    x, op = model.prepare(X, graph)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(50):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, op)[:60], y[:60])
        loss = loss + model.auxiliary_loss()
        loss.backward()
        optimizer.step()
    model.eval()
    accuracy = (model(x, op)[60:].argmax(dim=1) == y[60:]).double().mean()
    assert accuracy > 0.7  # chance is 0.25


def test_hyperparameters_are_checked_against_the_model():
    assert hyperparameters("cheby") == ("hidden_channels", "num_layers", "dropout", "K", "head")
    assert hyperparameters("regular-sobolev") == (
        "hidden_channels", "num_layers", "alpha", "epsilon", "fusion", "dropout", "head",
    )  # fmt: skip
    with pytest.raises(
        InputError, match="gcn has no hyperparameter 'heads': allowed are hidden_channels, num_layers, dropout, head"
    ):
        make_model("gcn", 2, 2, heads=3)
    for name, meant in {"gatv3": "gatv2", "gcm": "gcn", "GCN": "gcn", "S2-GNN": "s2gnn"}.items():
        with pytest.raises(InputError, match=f"there is no model '{name}': did you mean '{meant}'"):
            make_model(name, 2, 2)
    with pytest.raises(InputError, match="there is no model 'xyz': choose from s2gnn, s2gnn\\+, gcn"):
        make_model("xyz", 2, 2)
    with pytest.raises(InputError, match="num_layers is 0"):
        make_model("sgc", 2, 2, num_layers=0)


@pytest.mark.parametrize("name", NAMES)
def test_every_model_takes_a_head(name):
    for head in ("plain", "released"):
        model = make_model(name, 3, 2, head=head)
        assert getattr(model, "head", "plain") == (head if "head" in vars(model) and name != "sign" else "plain")
    with pytest.raises(InputError, match="head is 'x', but it must be one of plain, released"):
        make_model(name, 3, 2, head="x")
