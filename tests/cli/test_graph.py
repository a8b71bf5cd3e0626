import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

from s2gnn import diffuse, knn_graph, smooth_graph
from s2gnn.graphs import load_graph, node_homophily, save_graph
from tests.random_graphs import random_graph


@pytest.fixture
def iris(tmp_path):
    X, y = load_iris(return_X_y=True)
    rows = [",".join([*map(str, x), f"species {label}"]) for x, label in zip(X, y, strict=True)]
    (tmp_path / "iris.csv").write_text("\n".join(["a,b,c,d,species", *rows]))
    return X, y


def test_from_a_table_to_a_described_graph(s2gnn, tmp_path, iris):
    X, y = iris
    table, graph, diffused, picture = (tmp_path / name for name in ("iris.csv", "g.npz", "d.npz", "p.png"))

    code, output, _ = s2gnn("graph", "build", table, "--label", "species", "--k", 5, "--out", graph, "--json")
    assert code == 0
    assert json.loads(output)["edges"] == knn_graph(X, 5).n_edges
    assert load_graph(graph) == knn_graph(X, 5)

    code, output, _ = s2gnn("graph", "diffuse", graph, "--top", 9, "--out", diffused)
    assert code == 0
    assert load_graph(diffused) == diffuse(knn_graph(X, 5), top=9)

    code, output, _ = s2gnn(
        "graph", "info", graph, "--labels", table, "--label", "species", "--picture", picture, "--json"
    )
    summary = json.loads(output)
    assert code == 0
    assert summary["nodes"] == 150
    assert summary["node_homophily"] == pytest.approx(node_homophily(knn_graph(X, 5), y))
    assert picture.read_bytes().startswith(b"\x89PNG")

    code, output, _ = s2gnn("graph", "info", graph)
    assert code == 0
    assert "nodes" in output


def test_smooth_and_chosen_features_and_npz(s2gnn, tmp_path, iris):
    X, y = iris
    out = tmp_path / "g.npz"
    code, output, _ = s2gnn(
        "graph", "build", tmp_path / "iris.csv", "--features", "a, b", "--method", "smooth", "--k", 4, "--out", out
    )
    assert code == 0
    assert "converged" in output
    assert load_graph(out) == smooth_graph(X[:, :2], 4)
    np.savez(tmp_path / "iris.npz", X=X, y=y)
    assert s2gnn("graph", "build", tmp_path / "iris.npz", "--metric", "cosine", "--out", out)[0] == 0
    assert load_graph(out) == knn_graph(X, 30, "cosine")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "iris.csv", "--out", "g.txt"], "g.txt does not end in .npz"),
        (["build", "iris.csv", "--out", "iris.csv/g.npz"], "cannot be written"),
        (["build", "iris.csv", "--out", "g.npz"], "column 'species' of iris.csv is 'species 0' in row 1"),
        (["build", "iris.csv", "--label", "species", "--k", "150", "--out", "g.npz"], "k is 150, but 150 rows"),
        (
            ["build", "iris.csv", "--features", "a", "--method", "smooth", "--metric", "cosine", "--out", "g.npz"],
            "a smooth graph is learned from Euclidean distances",
        ),
        (["build", "iris.csv", "--features", "a,species", "--label", "species", "--out", "g.npz"], "both the label"),
        (["build", "iris.csv", "--features", "", "--out", "g.npz"], "has no column '': its columns are a, b, c"),
        (["diffuse", "iris.csv", "--out", "g.npz"], "iris.csv is damaged or not a graph"),
        (["diffuse", "other.npz", "--teleport", "2", "--out", "g.npz"], "teleport is 2.0"),
        (["info", "other.npz", "--labels", "iris.csv", "--label", "species"], "y has shape (150,), but the graph"),
        (["info", "other.npz", "--picture", "p.svg"], "p.svg does not end in .png"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_exit_code_2(s2gnn, tmp_path, monkeypatch, iris, arguments, message):
    monkeypatch.chdir(tmp_path)
    save_graph(random_graph(5), "other.npz")
    code, output, errors = s2gnn("graph", *arguments)
    assert code == 2
    assert output == ""
    assert message in errors
    assert errors.startswith("s2gnn: ")
    assert errors.count("\n") == 1
    assert not (tmp_path / "g.npz").exists()


@pytest.mark.parametrize("command", [[], ["graph"], ["bench"]])
def test_help_is_shown_without_a_command(s2gnn, command):
    _, output, errors = s2gnn(*command)
    assert "Usage" in output + errors


@pytest.mark.parametrize(
    "command", [["demo"], ["graph", "build"], ["graph", "diffuse"], ["graph", "info"], ["bench", "graphs"]]
)
def test_every_command_has_help_with_an_example(s2gnn, command):
    code, output, _ = s2gnn(*command, "--help")
    assert code == 0
    assert "Example: s2gnn " + " ".join(command) in output
