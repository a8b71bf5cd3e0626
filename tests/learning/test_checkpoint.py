import json

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from s2gnn import S2GNN, InputError, knn_graph
from s2gnn.graphs import partition
from s2gnn.learning import Checkpoint, FitConfig, fit
from s2gnn.learning.checkpoint import FORMAT
from s2gnn.nn import Clusters, InParts
from s2gnn.reading import parse_safetensors

Y = np.arange(90) % 3
X = np.random.default_rng(0).normal(size=(90, 2)) + np.array([[4, 0], [-4, 0], [0, 6]])[Y]
GRAPH = knn_graph(X, 8)
TRAIN, VAL = np.arange(15), np.arange(15, 45)


class Interrupted(Exception):
    pass


def train(checkpoint=None, stop=None, epochs=12, seed=3, **config):
    model = S2GNN(2, 8, 3, alpha=2)
    parts = InParts(model, X, GRAPH, Clusters(partition(GRAPH, 5, "random"), per_batch=2))

    def on_epoch(epoch):
        if epoch == stop:
            raise Interrupted

    config = FitConfig(**{"epochs": epochs, "lr": 0.05, "patience": 8, **config})
    result = fit(model, parts, None, Y, TRAIN, VAL, config=config, seed=seed, on_epoch=on_epoch, checkpoint=checkpoint)
    return result, torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("keep", ["best", "last"])
def test_an_interrupted_run_resumes_bit_by_bit(tmp_path, keep):
    expected, weights = train(keep=keep)
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=3)
    with pytest.raises(Interrupted):
        train(checkpoint, stop=7, keep=keep)
    assert checkpoint.epochs() == 6
    result, resumed = train(checkpoint, keep=keep)
    assert result.history == expected.history
    assert result.best_epoch == expected.best_epoch
    assert torch.equal(resumed, weights)
    assert checkpoint.epochs() == len(result.history.train_loss)


def test_a_finished_run_is_not_trained_again_but_may_go_on_for_longer(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.safetensors")
    _, weights = train(checkpoint, epochs=5)
    _, again = train(checkpoint, epochs=5, stop=0)  # would be interrupted if it trained
    assert torch.equal(again, weights)
    longer, _ = train(checkpoint, epochs=9)
    assert longer.history == train(epochs=9)[0].history


def test_the_seconds_of_a_run_are_those_before_it_was_interrupted_too(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=2)
    with pytest.raises(Interrupted):
        train(checkpoint, stop=5)
    assert _description(checkpoint)["seconds"] > 0
    _change(checkpoint, seconds=1000.0)
    assert 1000 < train(checkpoint)[0].seconds < 2000
    assert _description(checkpoint)["seconds"] > 1000


def test_a_file_of_another_version_is_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.safetensors")
    train(checkpoint, epochs=2)
    _change(checkpoint, version=1)
    with pytest.raises(InputError, match="has version 1, this reads 2: take another file, or delete it to start again"):
        train(checkpoint)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"seed": 4}, "is of a run with seed 3, not 4: take another file, or delete it to start again"),
        ({"lr": 0.01}, "is of a run with lr 0.05, not 0.01"),
    ],
)
def test_another_run_does_not_go_on(tmp_path, change, text):
    checkpoint = Checkpoint(tmp_path / "run.safetensors")
    train(checkpoint, epochs=2)
    with pytest.raises(InputError, match=text):
        train(checkpoint, **change)
    with pytest.raises(InputError, match="is of a run with parts None, not 7"):
        train(Checkpoint(tmp_path / "run.safetensors", settings={"parts": 7}))


def test_other_nodes_and_other_batches_do_not_go_on(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.safetensors")
    train(checkpoint, epochs=2)
    model = S2GNN(2, 8, 3, alpha=2)
    clusters = Clusters(partition(GRAPH, 5, "random"), per_batch=2)
    others_parts = Clusters(partition(GRAPH, 5, "random", seed=1), per_batch=2)
    config = FitConfig(epochs=4, lr=0.05, patience=8)
    for given, text in (
        ((InParts(model, X, GRAPH, clusters), VAL, TRAIN, None), "is of a run with targets '"),
        ((InParts(model, X, GRAPH, clusters), TRAIN, VAL, [1, 2, 1]), "is of a run with targets '"),
        (
            (InParts(model, X, GRAPH, clusters, "part"), TRAIN, VAL, None),
            "is of a run with degrees 'whole', not 'part'",
        ),
        ((InParts(model, X, GRAPH, clusters, batches_per_step=2), TRAIN, VAL, None), "with batches_per_step 1, not 2"),
        ((InParts(model, X, GRAPH, others_parts), TRAIN, VAL, None), "is of a run with partition '"),
    ):
        x, nodes, others, class_weight = given
        with pytest.raises(InputError, match=text):
            fit(
                model, x, None, Y, nodes, others,
                config=config, seed=3, checkpoint=checkpoint, class_weight=class_weight,
            )  # fmt: skip


def test_fewer_epochs_than_are_finished_are_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.safetensors")
    train(checkpoint, epochs=4)
    with pytest.raises(InputError, match="has finished 4 epochs, more than the 3 asked for"):
        train(checkpoint, epochs=3)


def _description(checkpoint):
    return json.loads(parse_safetensors(checkpoint.path.read_bytes())[1][FORMAT])


def _change(checkpoint, lost=None, **changes):
    """Write the file again without what is `lost`, and with other descriptions."""
    saved = load(checkpoint.path.read_bytes())
    tensors = {name: tensor for name, tensor in saved.items() if lost is None or not name.startswith(lost)}
    description = _description(checkpoint) | changes
    description.pop(lost, None)
    checkpoint.path.write_bytes(save(tensors, {FORMAT: json.dumps(description)}))


@pytest.mark.parametrize("lost", ["version", "history", "best_epoch", "seconds", "rng", "adam/"])
def test_an_incomplete_file_is_refused(tmp_path, lost):
    checkpoint = Checkpoint(tmp_path / "run.safetensors")
    train(checkpoint, epochs=2)
    _change(checkpoint, lost)
    with pytest.raises(InputError, match="is not a checkpoint of a training run, or is damaged"):
        train(checkpoint)


@pytest.mark.parametrize(
    "changes",
    [
        {"best_score": "high"}, {"best_epoch": -1}, {"best_epoch": 10**9}, {"best_epoch": 0.5}, {"seconds": None},
        {"seconds": -1}, {"settings": None}, {"history": []}, {"history": {"train_loss": [1.0, "x"]}},
        {"history": {"train_loss": [1.0, 2.0], "val_loss": [1.0]}}, {"version": None},
    ],
)  # fmt: skip
def test_wrong_values_are_refused(tmp_path, changes):
    checkpoint = Checkpoint(tmp_path / "run.safetensors")
    train(checkpoint, epochs=2)
    _change(checkpoint, **changes)
    with pytest.raises(InputError, match="is not a checkpoint of a training run, or is damaged"):
        train(checkpoint)


@pytest.mark.parametrize("name", ["rng", "model/", "best/", "adam/0/step", "adam/0/exp_avg"])
def test_tensors_of_other_shapes_are_refused(tmp_path, name):
    checkpoint = Checkpoint(tmp_path / "run.safetensors")
    train(checkpoint, epochs=2)
    saved, description = load(checkpoint.path.read_bytes()), json.dumps(_description(checkpoint))
    changed = {key: torch.ones(7) if key.startswith(name) else tensor for key, tensor in saved.items()}
    checkpoint.path.write_bytes(save(changed, {FORMAT: description}))
    with pytest.raises(InputError, match="is of another model"):
        train(checkpoint)


def test_another_model_does_not_go_on(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.safetensors")
    train(checkpoint, epochs=2)
    model = S2GNN(2, 16, 3, alpha=2)
    parts = InParts(model, X, GRAPH, Clusters(partition(GRAPH, 5, "random"), per_batch=2))
    config = FitConfig(epochs=4, lr=0.05, patience=8)
    with pytest.raises(InputError, match="is of another model"):
        fit(model, parts, None, Y, TRAIN, VAL, config=config, seed=3, checkpoint=checkpoint)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"\x02\x00\x00\x00\x00\x00\x00\x00{}"])
def test_a_file_that_is_no_checkpoint(tmp_path, content):
    path = tmp_path / "run.safetensors"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"run\.safetensors is not a checkpoint of a training run, or is damaged"):
        train(Checkpoint(path))


def test_a_torn_file_is_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.safetensors")
    train(checkpoint, epochs=2)
    whole = checkpoint.path.read_bytes()
    for length in (5, 100, len(whole) - 1):
        checkpoint.path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="or is damaged"):
            train(checkpoint)


def test_wrong_arguments(tmp_path):
    with pytest.raises(InputError, match="every is 0"):
        Checkpoint(tmp_path / "run.safetensors", every=0)
    with pytest.raises(InputError, match="cannot be read"):
        train(Checkpoint(tmp_path))
