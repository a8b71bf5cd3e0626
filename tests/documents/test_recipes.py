"""The recipes of CONTRIBUTING.md work as they are printed."""

import re
import tomllib
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
import torch
from sklearn.datasets import make_moons

import s2gnn.data.catalogue as catalogue
import s2gnn.data.loading as loading
from s2gnn import S2GNN, SobolevOperator, knn_graph
from s2gnn.data import load_dataset
from s2gnn.experiments.protocols import BUDGETS
from s2gnn.experiments.table import parse_table
from s2gnn.experiments.tasks import load_task
from s2gnn.nn.baselines import registry
from s2gnn.nn.fusion import FUSIONS

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()


def recipe(title, language="python"):
    """The block of a recipe."""
    section = PAGE.split(f"### {title}\n")[1].split("\n##")[0]
    return re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)[1]


def run(title):
    names = {"__name__": "recipe"}
    exec(compile(recipe(title), "CONTRIBUTING.md", "exec"), names)
    return names


def test_add_a_baseline(monkeypatch):
    two_hop = run("Add a baseline")["TwoHop"]
    monkeypatch.setattr(registry, "MODELS", MappingProxyType({**registry.MODELS, "two-hop": two_hop}))
    graph = knn_graph(np.random.default_rng(0).normal(size=(30, 3)), k=5)
    network = registry.make_model("two-hop", 3, 2, hidden_channels=4, num_layers=1)
    x = torch.randn(30, 3)
    S = torch.tensor(SobolevOperator(graph, 1, 1.0).matrix(1).toarray(), dtype=torch.float32)
    linear = network.layers[0].linear
    torch.testing.assert_close(network(*network.prepare(x, graph)), S @ S @ x @ linear.weight.T + linear.bias)


def test_add_a_data_set(monkeypatch, tmp_path):
    info = run("Add a data set")["info"]
    X, y = make_moons(info.rows, random_state=0)
    (tmp_path / "moons").mkdir()
    np.savez(tmp_path / info.file, X=X, y=y, label_names=np.array(["upper", "lower"]))
    monkeypatch.setenv("S2GNN_DATA", str(tmp_path))
    known = MappingProxyType({**catalogue.CATALOGUE, info.name: info})
    for module in (catalogue, loading):
        monkeypatch.setattr(module, "CATALOGUE", known)
    monkeypatch.setattr(loading, "_LOADERS", {**loading._LOADERS, "moons": loading._histology})
    dataset = load_dataset("moons")
    assert (dataset.x.shape, dataset.class_names) == ((200, 2), ("upper", "lower"))


def test_add_a_fusion(monkeypatch):
    monkeypatch.setitem(FUSIONS, "max", run("Add a fusion")["MaxFusion"])
    graph = knn_graph(np.random.default_rng(0).normal(size=(30, 3)), k=5)
    network = S2GNN(3, 4, 2, num_layers=1, alpha=2, dropout=0.0, fusion="max")
    x = torch.randn(30, 3)
    op = SobolevOperator(graph, 2, 1.0)
    branches = [torch.tensor(op.matrix(rho).toarray(), dtype=torch.float32) @ x for rho in range(3)]
    conv = network.convs[0]
    expected = torch.stack([(b @ w + c).relu() for b, w, c in zip(branches, conv.weight, conv.bias, strict=True)])
    torch.testing.assert_close(network(x, op), expected.max(dim=0).values)


def test_add_a_study():
    study = parse_table("digits", tomllib.loads(recipe("Add a study", "toml")))
    assert study.models == ("mlp", "gcn")
    experiment = study.experiment(study.cells[1], study.protocols[1], BUDGETS["smoke"])
    run = load_task(experiment).run(experiment.seeds[0])
    assert run.metrics["test_accuracy"] > 0.3


@pytest.mark.parametrize("package", ["graphs", "operators", "nn", "experiments", "cli"])
def test_the_folders_of_the_page_exist(package):
    assert f"`{package}`" in PAGE
    assert (Path(__file__).parents[2] / "src" / "s2gnn" / package).is_dir()
