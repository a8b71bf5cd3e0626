import json

import pytest
import torch

from s2gnn import S2GNN, InputError, SobolevOperator
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
        ({"config": config, "version": 99}, "format version 99"),
        ({"version": 1, "format": "other"}, "does not describe an s2gnn model"),
    ]:
        edit(folder, **changes)
        with pytest.raises(InputError, match=message):
            load_model(folder)
    for content in ("{", "[1]", "", "\x80"):
        (folder / "model.json").write_text(content)
        with pytest.raises(InputError, match=r"is not JSON|does not describe"):
            load_model(folder)
