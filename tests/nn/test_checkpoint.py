import json

import numpy as np
import pytest
import torch

from s2gnn import S2GNN, InputError, SobolevOperator
from s2gnn.nn import S2GNN as PlainS2GNN
from s2gnn.nn import load_model, save_model
from tests.random_graphs import random_graph


@pytest.fixture
def model():
    return S2GNN(3, 4, 2, num_layers=3, alpha=2, epsilon=1.5, fusion="linear", shift="laplacian").eval()


@pytest.fixture
def folder(tmp_path, model):
    save_model(model, tmp_path / "new" / "model")
    return tmp_path / "new" / "model"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_round_trip(tmp_path, model, dtype):
    model = model.to(dtype)
    save_model(model, tmp_path)
    loaded = load_model(tmp_path)
    op = SobolevOperator(random_graph(6), 2, 1.5, "laplacian", dtype=dtype)
    x = torch.randn(6, 3, dtype=dtype)
    assert loaded.config == model.config
    assert torch.equal(loaded(x, op), model(x, op))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.json", "weights.safetensors"]


RICH = {"norm": "batch", "residual": True, "fusion": "attention", "epsilon": "learn", "initial_epsilon": 0.7}


def test_round_trip_of_everything_that_a_layer_can_have(tmp_path):
    model, g, x = S2GNN(3, 4, 2, num_layers=3, **RICH), random_graph(6), torch.randn(6, 3)
    family = model.prepare(x, g)[1]
    model(x, family)  # gives batch normalisation something to remember
    with torch.no_grad():
        model.epsilon.log.fill_(0.3)
    save_model(model.eval(), tmp_path)
    loaded = load_model(tmp_path)
    assert loaded.config == model.config
    assert float(loaded.epsilon) == float(model.epsilon)
    assert torch.equal(loaded(x, family), model(x, family))
    assert all(tensor.device.type == "cpu" for tensor in loaded.state_dict().values())


def test_numpy_numbers_can_be_saved_and_loading_draws_no_random_number(tmp_path):
    save_model(S2GNN(np.int64(3), np.int32(4), np.int64(2), epsilon=np.float32(0.5), dropout=np.float32(0.5)), tmp_path)
    before = torch.random.get_rng_state()
    loaded = load_model(tmp_path)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert loaded.config.in_channels == 3
    assert all(p.requires_grad and p.device.type == "cpu" for p in loaded.parameters())


def test_what_cannot_be_saved(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file, but a model is saved into a folder"):
        save_model(S2GNN(3, 4, 2), tmp_path / "file")
    with pytest.raises(InputError, match="the model is a Linear, but save_model saves an S2GNN"):
        save_model(torch.nn.Linear(2, 2), tmp_path)


def edit(folder, **changes):
    path = folder / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_damaged_or_foreign_files(folder, tmp_path):
    weights = folder / "weights.safetensors"
    original = weights.read_bytes()
    config = json.loads((folder / "model.json").read_text())["config"]

    with pytest.raises(InputError, match=r"model.json cannot be read \(No such file"):
        load_model(tmp_path)
    for damaged in (original[:-4], original[:-1] + b"\x00\x00", b"", b"PK\x03\x04 not weights"):
        weights.write_bytes(damaged)
        with pytest.raises(InputError, match="damaged or belongs to another model"):
            load_model(folder)
    weights.unlink()
    with pytest.raises(InputError, match="weights.safetensors cannot be read"):
        load_model(folder)
    weights.write_bytes(original)
    for changes, message in [
        ({"config": {**config, "hidden_channels": 9}}, "size mismatch"),
        ({"config": {**config, "unknown": 1}}, "unexpected keyword argument 'unknown'"),
        ({"config": {**config, "alpha": -1}}, "alpha is -1"),
        ({"config": {**config, "shift": "../../etc"}}, "shift is '../../etc'"),
        ({"config": {**config, "hidden_channels": "9"}}, "hidden_channels is '9'"),
        ({"config": {**config, "hidden_channels": 10**6}}, "size mismatch"),
        ({"config": [1]}, "can rebuild"),
        ({"config": config, "version": 99}, "format version 99"),
        ({"version": 1, "format": "other"}, "does not describe an s2gnn model"),
    ]:
        edit(folder, **changes)
        with pytest.raises(InputError, match=message):
            load_model(folder)
    for content in ("{", "[1]", "", "\x80", "[" * 100_000):
        (folder / "model.json").write_text(content)
        with pytest.raises(InputError, match=r"is not JSON|does not describe"):
            load_model(folder)


def test_a_model_is_loaded_onto_a_device(folder, monkeypatch):
    assert next(load_model(folder, "auto").parameters()).device.type in ("cpu", "cuda")
    with pytest.raises(InputError, match="device is 'gpu', which is no device: choose 'auto' or one of cpu"):
        load_model(folder, "gpu")
    monkeypatch.setattr("s2gnn.nn.checkpoint.checked_device", torch.device)
    assert all(parameter.is_meta for parameter in load_model(folder, "meta").parameters())


def test_a_network_of_pyg_is_saved_like_the_plain_one(tmp_path, model):
    network = pytest.importorskip("s2gnn.pyg").S2GNN.from_config(model.config)
    network.load_state_dict(model.state_dict())
    save_model(network, tmp_path / "pyg")
    save_model(model, tmp_path / "plain")
    for file in ("weights.safetensors", "model.json"):
        assert (tmp_path / "pyg" / file).read_bytes() == (tmp_path / "plain" / file).read_bytes()
    loaded = load_model(tmp_path / "plain")
    assert type(loaded) is type(network)
    assert type(load_model(tmp_path / "pyg", cls=PlainS2GNN)) is PlainS2GNN
    assert all(map(torch.equal, loaded.parameters(), network.parameters()))
