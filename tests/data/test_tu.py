import zipfile

import numpy as np
import pytest
import torch
from torch_geometric.datasets import TUDataset

from s2gnn import InputError, reading
from s2gnn.data import CATALOGUE, load_collection, load_dataset, read_tu
from s2gnn.errors import TornFileWarning

# Three graphs: one node, two nodes without an edge, a triangle with a repeated edge and a self-loop. The triangle comes
# last because PyG loses graphs without edges at the end.
FILES = {
    "A": "4, 5\n5, 4\n5, 6\n6, 5\n4, 6\n6, 4\n4, 5\n6, 6\n",
    "graph_indicator": "1\n2\n2\n3\n3\n3\n",
    "graph_labels": "5\n-1\n5\n",
    "node_labels": "2, 0\n3, 1\n2, 0\n5, 0\n2, 1\n2, 1\n",
    "node_attributes": "0.5, 1\n1.5, 2\n-2e3, 0\n0, 0\n1, 1\n7.25, 3\n",
    "edge_labels": "0\n" * 8,
}


@pytest.fixture
def folder(tmp_path):
    """A function that writes files in TU's raw layout, some changed or left out, and gives their folder."""

    def write(**changes):
        raw = tmp_path / "SMALL" / "raw"
        raw.mkdir(parents=True, exist_ok=True)
        for part, text in {**FILES, **changes}.items():
            if text is not None:
                (raw / f"SMALL_{part}.txt").write_text(text)
        return raw

    return write


@pytest.mark.parametrize("attributes", [False, True])
def test_graphs_features_and_classes_are_those_of_pyg(folder, tmp_path, attributes):
    collection = read_tu(folder(), "SMALL", attributes=attributes)
    theirs = TUDataset(tmp_path, "SMALL", use_node_attr=attributes)
    assert collection.union.n_graphs == len(theirs) == 3
    np.testing.assert_array_equal(collection.x, torch.cat([data.x for data in theirs]).double().numpy())
    np.testing.assert_array_equal(collection.y, [int(data.y) for data in theirs])
    assert collection.class_names == ("-1", "5")
    for graph, data in zip(collection.union, theirs, strict=True):
        assert graph.n_nodes == data.num_nodes
        np.testing.assert_array_equal(np.stack([graph.rows(), graph.indices]), data.edge_index.numpy())
    assert collection.union.graph.weights.tolist() == [1.0] * 6


@pytest.mark.parametrize("name", ["mutag", "enzymes", "proteins"])
def test_the_real_data_are_those_of_pyg(data_folder, tmp_path, name):
    found = CATALOGUE[name]
    collection = load_collection(name)
    assert collection.source == f"S2GNN_DATA: {found.file}"
    assert (collection.union.n_graphs, *collection.x.shape[1:], len(collection.class_names)) == (
        found.rows,
        found.features,
        found.classes,
    )
    archive = found.file.split("/")[1].removesuffix(".zip")
    with zipfile.ZipFile(data_folder / found.file) as stored:
        stored.extractall(tmp_path)
    (tmp_path / archive).rename(tmp_path / "raw")
    (tmp_path / archive).mkdir()
    (tmp_path / "raw").rename(tmp_path / archive / "raw")
    theirs = TUDataset(tmp_path, archive)
    np.testing.assert_array_equal(collection.x, theirs.x.double().numpy())
    np.testing.assert_array_equal(collection.y, theirs.y.numpy())
    np.testing.assert_array_equal(collection.union.offsets, theirs.slices["x"].numpy())
    assert collection.union.graph.n_edges == theirs.edge_index.shape[1] // 2


def test_attributes_of_the_enzymes_are_standardised(data_folder):
    x = load_collection("enzymes-attributes").x
    assert x.shape == (19_580, CATALOGUE["enzymes-attributes"].features)
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(x.std(axis=0), 1, atol=1e-9)


def test_nodes_without_labels_have_their_number_of_neighbours(folder):
    collection = read_tu(folder(node_labels=None, node_attributes=None), "SMALL")
    assert collection.x.tolist() == [[0.0], [0.0], [0.0], [2.0], [2.0], [2.0]]


def test_no_graph_needs_an_edge_and_one_direction_is_enough(folder):
    assert read_tu(folder(A="", edge_labels=""), "SMALL").union.graph.n_edges == 0
    one_way = read_tu(folder(A="2,3\n6,4\n", edge_labels="0\n1\n"), "SMALL")
    assert [graph.n_edges for graph in one_way.union] == [0, 1, 1]


def test_a_truncated_list_of_edges_gives_a_warning(folder):
    with pytest.warns(TornFileWarning, match=r"SMALL_A\.txt lists 1 edges in one direction only"):
        found = read_tu(folder(A="4, 5\n5, 4\n4, 6\n", edge_labels="0\n" * 3), "SMALL")
    assert found.union.graph.n_edges == 2


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"A": "1, 7\n"}, r"line 1 of SMALL_A\.txt joins nodes 1 and 7, but nodes are 1\.\.6"),
        ({"A": "1, 2\n0, 1\n"}, r"line 2 of SMALL_A\.txt joins nodes 0 and 1"),
        ({"A": "4, 5\n5, 4\n"}, r"SMALL_A\.txt has 2 lines, but SMALL_edge_labels\.txt has 8: one is truncated"),
        ({"A": "3, 4\n", "edge_labels": "0\n"}, "an edge joins node 2 of graph 1 to node 3 of graph 2"),
        ({"A": "1, 2, 3\n"}, r"SMALL_A\.txt has 3 columns, expected 2"),
        ({"A": "1, x\n"}, r"SMALL_A\.txt is not a table of numbers: could not convert string ' x'"),
        ({"A": "1, 2\n1\n"}, r"SMALL_A\.txt is not a table of numbers"),
        ({"A": None}, r"SMALL has no SMALL_A\.txt"),
        ({"graph_labels": None}, r"SMALL has no SMALL_graph_labels\.txt"),
        ({"graph_labels": " \n"}, r"SMALL_graph_labels\.txt is empty"),
        (
            {"graph_indicator": "1\n2\n2\n4\n4\n4\n"},
            r"line 4 of SMALL_graph_indicator\.txt is 4 after 2: the graphs are",
        ),
        ({"graph_indicator": "0\n2\n2\n3\n3\n3\n"}, r"line 1 of .* is 0 after 0"),
        ({"graph_indicator": "1\n2\n1\n3\n3\n3\n"}, r"line 3 of .* is 1 after 2"),
        ({"graph_indicator": "1\n1\n2\n2\n2\n2\n"}, r"has 2 graphs, but SMALL_graph_labels\.txt has 3 lines"),
        ({"node_labels": "1\n"}, r"SMALL_node_labels\.txt has 1 lines, expected 6"),
        ({"node_attributes": "1\n1\nnan\n1\n1\n1\n"}, r"line 3 of SMALL_node_attributes\.txt has a value that is not"),
    ],
)
def test_errors_name_what_is_wrong(folder, tmp_path, changes, sentence):
    for part in (name for name, text in changes.items() if text is None):
        (tmp_path / "SMALL" / "raw" / f"SMALL_{part}.txt").unlink(missing_ok=True)
    with pytest.raises(InputError, match=sentence):
        read_tu(folder(**changes), "SMALL", attributes=True)


def packed(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in FILES.items():
            archive.writestr(f"SMALL/SMALL_{part}.txt", text)
    return path


def test_an_archive_is_read_like_the_folder(folder, tmp_path, monkeypatch):
    path = packed(tmp_path / "SMALL.zip")
    assert read_tu(path).union.graph == read_tu(folder(), "SMALL").union.graph
    monkeypatch.setattr(reading, "available_bytes", lambda: 20)
    with pytest.raises(InputError, match=r"its arrays take .* bytes, but at most"):
        read_tu(path)


def test_a_damaged_archive_is_one_sentence(tmp_path):
    path = packed(tmp_path / "SMALL.zip")
    content = bytearray(path.read_bytes())
    place = content.index(b"SMALL_graph_indicator.txt") + len("SMALL_graph_indicator.txt")
    content[place : place + 4] = b"\xff" * 4
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"SMALL\.zip cannot be read as an archive of graphs"):
        read_tu(path)
    path.write_bytes(b"text")
    with pytest.raises(InputError, match="cannot be read as an archive of graphs .*: fetch it again"):
        read_tu(path)
    with pytest.raises(InputError, match="absent.zip cannot be read as an archive"):
        read_tu(tmp_path / "absent.zip")


def test_one_graph_and_many_are_not_mixed_up():
    with pytest.raises(InputError, match=r"mutag has 188 graphs, not one: load it with load_collection\('mutag'\)"):
        load_dataset("mutag")
    with pytest.raises(InputError, match="cora has one graph at most: .*; data sets of graphs: mutag, enzymes"):
        load_collection("cora")
