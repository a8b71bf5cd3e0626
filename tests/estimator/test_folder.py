import hashlib
import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save
from sklearn.datasets import load_iris

from s2gnn import InputError, S2GNNClassifier, S2GNNRegressor, files, knn_graph
from s2gnn.estimator import CardScore, ModelCard, load_estimator, save_estimator
from s2gnn.estimator.folder import read_folder
from tests.device_arrays import DeviceArrays

QUICK = {"num_layers": 2, "max_epochs": 10, "n_networks": 2, "random_state": 0}
NAMES = np.array(["setosa", "versicolor", "virginica"], dtype=object)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    labels = np.where(np.arange(150) % 5 == 0, NAMES[y], None)
    return X, y, labels


@pytest.fixture(scope="module")
def classifier(iris):
    X, _, labels = iris
    return S2GNNClassifier(class_weight={"setosa": 2.0}, **QUICK).fit(X, labels)


@pytest.fixture
def folder(classifier, tmp_path):
    save_estimator(classifier, tmp_path / "model", {"column": "species"})
    return tmp_path / "model"


def test_a_loaded_classifier_answers_alike(iris, classifier, folder):
    X, _, labels = iris
    loaded, extra = load_estimator(folder)
    assert extra == {"column": "species"}
    assert loaded.get_params() == classifier.get_params()
    assert loaded.graph_ == classifier.graph_
    assert loaded.history_ == classifier.history_
    assert loaded.n_features_in_ == 4
    assert loaded.classes_.tolist() == classifier.classes_.tolist()
    np.testing.assert_array_equal(loaded.label_distributions_, classifier.label_distributions_)
    np.testing.assert_array_equal(loaded.predict(X), classifier.predict(X))
    np.testing.assert_allclose(loaded.predict_proba(X + 0.01), classifier.predict_proba(X + 0.01), atol=1e-6)
    assert loaded.fit(X, labels).score(X, labels) > 0.5


@pytest.mark.parametrize("changes", [{"graph": "smooth"}, {"graph": lambda X: knn_graph(X, 5)}, {"scale": False}])
def test_a_loaded_regressor_answers_alike(iris, tmp_path, changes):
    X, y, _ = iris
    values = np.where(np.arange(150) % 2 == 0, y + 0.5, np.nan)
    regressor = S2GNNRegressor(**QUICK, **changes).fit(X, values)
    save_estimator(regressor, tmp_path / "new" / "model")
    loaded, extra = load_estimator(tmp_path / "new" / "model")
    assert extra == {}
    assert loaded.graph == (regressor.graph_ if callable(regressor.graph) else regressor.graph)
    np.testing.assert_allclose(loaded.predict(X + 0.01), regressor.predict(X + 0.01), atol=1e-5)
    np.testing.assert_array_equal(loaded.transduction_, regressor.transduction_)


def test_layer_options_beyond_the_papers_are_saved_and_on_the_card(iris, tmp_path):
    X, _, labels = iris
    rich = {"epsilon": "learn", "fusion": "attention", "norm": "batch", "residual": True}
    classifier = S2GNNClassifier(**QUICK, **rich).fit(X, labels)
    first, second = (float(network.epsilon) for network in classifier.networks_)
    assert first != second
    save_estimator(classifier, tmp_path / "model")
    loaded, _ = load_estimator(tmp_path / "model")
    assert [float(network.epsilon) for network in loaded.networks_] == [first, second]
    np.testing.assert_allclose(loaded.predict_proba(X + 0.01), classifier.predict_proba(X + 0.01), atol=1e-6)
    page = (tmp_path / "model" / "README.md").read_text()
    assert f"4, {first:.4g} and {second:.4g} (learned), attention" in page
    assert "batch normalisation, residual connections" in page


@pytest.mark.parametrize(
    ("version", "late"), [(1, ("norm", "residual", "initial_epsilon", "network")), (2, ("network",))]
)
def test_folders_of_early_formats_are_still_read(tmp_path, version, late):
    """Before version 3 the networks were alone; those of version 1 lacked the arguments that came later."""
    X, y = load_iris(return_X_y=True)
    estimator = S2GNNClassifier(network="s2gnn", **QUICK).fit(X, np.where(np.arange(150) % 5 == 0, y, -1))
    folder = tmp_path / "model"
    save_estimator(estimator, folder)
    description = json.loads((folder / "estimator.json").read_text())
    assert description["version"] == 3
    network = {name: value for name, value in description["network"].items() if name not in late}
    parameters = {name: value for name, value in description["parameters"].items() if name not in late}
    change(folder, version=version, network=network, parameters=parameters)
    loaded, _ = load_estimator(folder)
    assert loaded.network == "s2gnn"
    np.testing.assert_array_equal(loaded.label_distributions_, estimator.label_distributions_)
    np.testing.assert_array_equal(loaded.predict_proba(X + 0.1), estimator.predict_proba(X + 0.1))


def test_a_folder_is_replaced_whole_and_leaves_no_temporary_files(classifier, folder):
    save_estimator(classifier, folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md", "estimator.json", "evidence.npz", "model.safetensors", "training.npz",
    ]  # fmt: skip
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, PermissionError])
def test_the_old_model_stays_if_the_new_one_cannot_take_its_place(classifier, folder, monkeypatch, failure):
    before = (folder / "estimator.json").read_bytes()
    replace = Path.replace

    def failing(path, target):
        if path.name == "new":
            raise failure
        return replace(path, target)

    monkeypatch.setattr(files, "_swapped", lambda one, other: False)  # as where two folders cannot be swapped
    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(failure):
        save_estimator(classifier, folder, {"column": "other"})
    assert (folder / "estimator.json").read_bytes() == before
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_the_card_names_data_graph_scores_and_command(classifier, tmp_path):
    score = CardScore("accuracy", 0.9312, 0.9, 0.95, 30, "5-fold cross-validation")
    card = ModelCard("Iris", "150 flowers | from a table.", "species", ("a", "b|c"), (score,), "s2gnn fit iris.csv")
    save_estimator(classifier, tmp_path / "model", card=card)
    page = (tmp_path / "model" / "README.md").read_text()
    assert page.startswith("# Iris\n")
    for part in (
        "b\\|c",
        "| accuracy | 93.1 % (95 % interval 90.0 to 95.0) | 30 |",
        "s2gnn fit iris.csv",
        "150 rows are the nodes of a graph with",
        "setosa",
        "| torch |",
    ):
        assert part in page, part


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def rewrite(folder, name, content):
    """Change a file of the folder and its digest, as an attacker would."""
    (folder / name).write_bytes(content)
    description = json.loads((folder / "estimator.json").read_text())
    description["sha256"][name] = hashlib.sha256(content).hexdigest()
    (folder / "estimator.json").write_text(json.dumps(description))


def change(folder, **changes):
    description = json.loads((folder / "estimator.json").read_text())
    (folder / "estimator.json").write_text(json.dumps({**description, **changes}))


def npz_with(folder, name="training.npz", **changes):
    with np.load(folder / name, allow_pickle=False) as archive:
        arrays = {**archive, **changes}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def refused(folder, match):
    with pytest.raises(InputError, match=match) as error:
        load_estimator(folder)
    assert "\n" not in str(error.value)


def test_nothing_in_a_folder_is_executed(folder, tmp_path):
    trap = tmp_path / "sprung"
    bomb = np.array([Trap(trap)], dtype=object)
    rewrite(folder, "training.npz", npz_with(folder, classes=bomb))
    refused(folder, "classes.npy is not a complete array of numbers or text")
    rewrite(folder, "training.npz", pickle.dumps(Trap(trap)))
    refused(folder, "do not fit together")
    rewrite(folder, "model.safetensors", pickle.dumps(Trap(trap)))
    (folder / "estimator.json").write_bytes(pickle.dumps(Trap(trap)))
    refused(folder, "is not JSON")
    refused(tmp_path / "nowhere", "nowhere does not exist")
    assert not trap.exists()
    pickle.loads(pickle.dumps(Trap(trap)))
    assert trap.exists(), "the trap works, so the checks above mean something"


def test_further_arrays_and_files_are_not_looked_at(iris, classifier, folder, tmp_path, monkeypatch):
    trap = tmp_path / "sprung"
    rewrite(folder, "training.npz", npz_with(folder, further=np.array([Trap(trap)], dtype=object)))
    for name in ("__init__.py", "sitecustomize.py", "torch.py", "modeling.py"):
        (folder / name).write_text(f"import os\nos.mkdir({str(trap)!r})\n")
    for name in ("model.pkl", "pytorch_model.bin", "training.npy", "classes.npy"):
        (folder / name).write_bytes(pickle.dumps(Trap(trap)))
    change(folder, auto_map={"AutoModel": "modeling.Model"}, sha256_of=["../../secret"])
    monkeypatch.chdir(folder)
    loaded, _ = load_estimator(folder)
    np.testing.assert_array_equal(loaded.predict(iris[0]), classifier.predict(iris[0]))
    assert not trap.exists()


@pytest.mark.parametrize("part", ["num_layers", "alpha", "hidden_channels", "in_channels", "out_channels"])
def test_a_network_is_not_larger_than_its_weights(folder, part):
    description = json.loads((folder / "estimator.json").read_text())
    change(folder, network={**description["network"], part: 10**9})
    refused(folder, "do not fit together")


@pytest.mark.parametrize("name", ["os.system", "S2GNNClassifier.__init__", "builtins.eval", ["S2GNNClassifier"], None])
def test_the_class_comes_out_of_a_list(folder, name):
    change(folder, **{"class": name})
    refused(folder, "but this release reads S2GNNClassifier or S2GNNRegressor")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"parameters": {"__class__": "os.system"}}, "unknown field `__class__`"),
        ({"parameters": {"weight_decay": "0.1"}}, "Invalid enum value '0.1' - at `[$].weight_decay`"),
        ({"parameters": {"class_weight": {"pairs": [[[], 1]]}}}, "at `[$].class_weight.pairs"),
        ({"kept_epochs": ["0", 1]}, "Expected `int`, got `str` - at `[$].kept_epochs"),
        ({"histories": [{"train_loss": 1}]}, "Expected `array`, got `int` - at `[$].histories"),
        ({"blends": None}, "it has no blends"),
        ({"blends": {"members": {"weights": [1]}, "learners": None}}, "missing required field `temperatures`"),
        ({"graph_gain": {"value": "1"}}, "at `[$].graph_gain.value`"),
        ({"attachment": {"kind": "os.system", "command": "true"}}, "an attachment of the kind 'os.system'"),
        ({"attachment": {"kind": "gaussian", "k": 3.5, "sigma": 1.0}}, "Expected `int`, got `float` - at `[$].k`"),
        ({"network": {"in_channels": 10**12}}, "do not fit together"),
        ({"attachment": {"kind": "gaussian", "k": -3, "sigma": 1.0}}, "an attachment whose k is -3"),
        ({"n_networks": 3}, "do not fit together"),
        ({"n_networks": 10**9}, "do not fit together .it has logits of shape"),
        ({"histories": []}, "histories of other networks"),
        ({"sha256": {"../model.safetensors": "0"}}, "its sha256 is not that of estimator.json"),
        ({"extra": [1]}, "extra is not an object"),
        ({"version": 4}, "in format version 4"),
        ({"format": "other"}, "lacks format"),
    ],
)
def test_a_changed_description_is_refused(folder, changes, match):
    change(folder, **changes)
    refused(folder, match)


@pytest.mark.parametrize("name", ["logits", "centre", "width", "features", "graph_data"])
def test_numbers_that_are_not_finite_are_refused(folder, name):
    with np.load(folder / "training.npz", allow_pickle=False) as archive:
        numbers = archive[name].copy()
    numbers.flat[-1] = np.nan
    rewrite(folder, "training.npz", npz_with(folder, **{name: numbers}))
    refused(folder, "finite")


@pytest.mark.parametrize(
    ("name", "value", "match"), [("features", 1e200, "beyond 1e.150"), ("width", 5e-324, "scales")]
)
def test_numbers_that_would_overflow_are_refused(folder, name, value, match):
    with np.load(folder / "training.npz", allow_pickle=False) as archive:
        numbers = archive[name].copy()
    numbers.flat[-1] = value
    rewrite(folder, "training.npz", npz_with(folder, **{name: numbers}))
    refused(folder, match)


@pytest.mark.parametrize(
    ("name", "change"), [("groups", lambda old: old + 1), ("digests", lambda old: old[:1].repeat(len(old), axis=0))]
)
def test_equal_rows_that_do_not_fit_their_digests_are_refused(folder, name, change):
    with np.load(folder / "training.npz", allow_pickle=False) as archive:
        changed = change(archive[name])
    rewrite(folder, "training.npz", npz_with(folder, **{name: changed}))
    refused(folder, "equal rows with wrong numbers")


def test_weights_that_are_not_finite_are_refused(folder):
    state = load_file(folder / "model.safetensors")
    state["1.convs.0.bias"][0, 0] = torch.inf
    rewrite(folder, "model.safetensors", save(state))
    refused(folder, "weights that are not finite")


@pytest.mark.parametrize("name", ["training.npz", "evidence.npz"])
def test_links_are_refused(folder, tmp_path, name):
    secret = tmp_path / "elsewhere"
    (folder / name).rename(secret)
    (folder / name).symlink_to(secret)
    refused(folder, "missing or not a plain file")


def test_an_oversized_header_takes_no_memory(folder):
    rewrite(folder, "model.safetensors", (2**62).to_bytes(8, "little") + b"{}")
    refused(folder, "do not fit together")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117) + "\n"
        archive.writestr("logits.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    rewrite(folder, "training.npz", buffer.getvalue())
    refused(folder, "do not fit together")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, logits=np.zeros(10**6))
    rewrite(folder, "training.npz", buffer.getvalue())
    refused(folder, "a compressed array")


FILES = ("estimator.json", "model.safetensors", "training.npz")


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        *((name, damage) for name in FILES for damage in ("missing", "empty", "cut", "flipped")),
        *(("evidence.npz", damage) for damage in ("empty", "cut")),
    ],
)
def test_damage_is_one_sentence(folder, name, damage):
    path = folder / name
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    else:
        content[len(content) // 3] ^= 0xFF
        path.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "flipped": content}[damage])
    refused(folder, "missing or not a plain file|damaged|not JSON")


def test_what_is_no_model_folder_is_left_alone(classifier, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="holds files that are not a model"):
        save_estimator(classifier, tmp_path)
    with pytest.raises(InputError, match="is a file or a symlink"):
        save_estimator(classifier, tmp_path / "thesis.txt")
    with pytest.raises(InputError, match="cannot be stored as JSON"):
        save_estimator(classifier, tmp_path / "new", {"x": {1, 2}})
    with pytest.raises(InputError, match="the estimator is a list"):
        save_estimator([], tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    refused(tmp_path, "give a folder written by s2gnn fit or save_estimator")


@pytest.fixture
def evaluated(iris, tmp_path):
    """The folder of a model with six labels, an evaluation and a card."""
    X, y, _ = iris
    estimator = S2GNNClassifier(max_epochs=2, n_networks=1).fit(X, np.where(np.arange(150) % 50 < 2, y, -1))
    estimator.evaluate(2)
    card = ModelCard(source="iris.csv", missing={"a": 3}, left_out={"": "names"}, command="s2gnn fit", commit=None)
    save_estimator(estimator, tmp_path / "model", card=card)
    return tmp_path / "model", estimator, card


def test_labels_evaluation_and_origin_come_back(evaluated):
    folder, estimator, card = evaluated
    loaded, _, origin = read_folder(folder)
    assert origin == card
    np.testing.assert_array_equal(loaded.labelled_, [0, 1, 50, 51, 100, 101])
    np.testing.assert_array_equal(loaded.targets_, estimator.targets_)
    for name in ("rows", "folds", "answers", "targets"):
        np.testing.assert_array_equal(getattr(loaded.evaluation_, name), getattr(estimator.evaluation_, name))
    (folder / "evidence.npz").unlink()
    older, _, origin = read_folder(folder)
    assert origin is older.labelled_ is older.targets_ is older.evaluation_ is None


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"labelled": np.array([0, 1, 50, 51, 100, 150])}, "rows outside 0..149"),
        ({"labelled": np.array([1, 0, 50, 51, 100, 101])}, "rows outside"),
        ({"labelled": np.zeros((2, 3))}, "a list that is not of rows"),
        ({"targets": np.array([0, 0, 1, 1, 2, 3])}, "labels of another model"),
        ({"targets": np.array([0, 1])}, "labels of another model"),
        ({"hidden": np.array([0, 1, 2, 50, 51, 100])}, "an evaluation of another model"),
        ({"folds": np.array([0])}, "an evaluation of another model"),
        ({"answers": np.full((6, 3), np.nan)}, "an evaluation of another model"),
        ({"description": np.array("{}")}, "missing required field `version`"),
        ({"description": np.array('{"version": 2}')}, "its evidence has version 2, but this release reads version 1"),
    ],
)
def test_evidence_of_another_model_is_refused(evaluated, changes, match):
    folder, *_ = evaluated
    (folder / "evidence.npz").write_bytes(npz_with(folder, "evidence.npz", **changes))
    refused(folder, match)


def test_new_rows_are_predicted_on_a_device(folder, iris, monkeypatch):
    """Networks move, and what they compute comes back before it becomes an array."""
    places = []
    monkeypatch.setattr(
        "s2gnn.estimator.folder.checked_device", lambda name: places.append(name) or torch.device("cpu")
    )
    there, _ = load_estimator(folder, "cuda:1")
    assert places == ["cuda:1"]
    new = iris[0][:20] + 0.01
    with DeviceArrays():
        found = there.predict_proba(new)
    assert np.array_equal(found, load_estimator(folder)[0].predict_proba(new))


def test_a_device_that_is_not_available(folder):
    with pytest.raises(InputError, match="device is 'cuda:99', which is not available here"):
        load_estimator(folder, "cuda:99")
