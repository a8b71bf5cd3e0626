import gzip
import io
import zipfile

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data import CATALOGUE, load_dataset, load_ogbn_proteins, originals
from s2gnn.data.ogbn_proteins import read_archive

pytest.importorskip("ogb", reason="needs ogb: pip install 's2gnn[ogb]'")

N, LABELS = 12, 112


@pytest.fixture
def content():
    """Random proteins as arrays: edges once, eight channels, 112 labels; the last protein has no edge."""
    rng = np.random.default_rng(0)
    pairs = np.array([(i, j) for i in range(N - 1) for j in range(i)])
    edges = pairs[rng.permutation(len(pairs))[:20]]
    edges[::3] = edges[::3, ::-1]  # either direction
    return edges, rng.integers(1, 1001, (20, 8)) / 1000, rng.integers(0, 2, (N, LABELS))


def raw_files(content):
    """The content as the files of OGB's folder `raw`, by name."""
    edges, channels, y = content
    tables = {
        "edge": (edges, "%d"),
        "edge-feat": (channels, "%.3f"),
        "node-label": (y, "%d"),
        "node_species": (np.full((len(y), 1), 9606), "%d"),
        "num-node-list": ([len(y)], "%d"),
        "num-edge-list": ([len(edges)], "%d"),
    }
    files = {}
    for name, (table, form) in tables.items():
        text = io.StringIO()
        np.savetxt(text, table, fmt=form, delimiter=",")
        files[f"{name}.csv.gz"] = gzip.compress(text.getvalue().encode())
    return files


@pytest.fixture
def folder(content, tmp_path):
    """OGB's folder ogbn_proteins with these files."""
    raw = tmp_path / "ogbn_proteins" / "raw"
    raw.mkdir(parents=True)
    for name, packed in raw_files(content).items():
        (raw / name).write_bytes(packed)
    return raw.parent


def archive(content):
    """OGB's zip file with these files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as found:
        for name, file in raw_files(content).items():
            found.writestr(f"proteins/raw/{name}", file)
        found.writestr("proteins/split/species/train.csv.gz", gzip.compress(b"0\n1\n"))
    return packed.getvalue()


def test_weights_features_and_labels_are_those_of_the_files(content, folder, capfd):
    edges, channels, y = content
    dataset = load_ogbn_proteins(folder)
    A = np.zeros((N, N))
    weight = channels.mean(axis=1) / channels.mean(axis=1).max()
    for (i, j), value in zip(edges, weight, strict=True):
        A[i, j] = A[j, i] = value
    assert np.allclose(dataset.graph.to_scipy().toarray(), A, rtol=1e-6)
    assert dataset.graph.weights.max() == 1
    for node in range(N - 1):
        incident = channels[(edges == node).any(axis=1)]
        assert np.allclose(dataset.x[node], incident.mean(axis=0) if len(incident) else 0)
    assert dataset.x[N - 1].tolist() == [0] * 8
    assert np.array_equal(dataset.y, y)
    assert (dataset.y.dtype, dataset.x.dtype, dataset.several_labels) == (np.int64, np.float64, True)
    assert len(dataset.class_names) == LABELS
    assert capfd.readouterr() == ("", "")


def test_the_first_nodes_have_the_edges_between_them(folder):
    whole, first = load_ogbn_proteins(folder), load_ogbn_proteins(folder, nodes=7)
    assert (first.graph.to_scipy() != whole.graph.to_scipy()[:7, :7]).nnz == 0
    assert np.array_equal(first.x, whole.x[:7])
    assert np.array_equal(first.y, whole.y[:7])
    for nodes in (0, 13):
        with pytest.raises(InputError, match=f"nodes is {nodes}, but the data set has 12"):
            load_ogbn_proteins(folder, nodes=nodes)


def test_it_is_what_ogb_reads(folder):
    """OGB's own data set has both directions of every edge, one after the other."""
    from ogb.io.read_graph_raw import read_csv_graph_raw

    (theirs,) = read_csv_graph_raw(str(folder / "raw"), add_inverse_edge=True)
    ours = load_ogbn_proteins(folder).graph.to_scipy()
    weight = theirs["edge_feat"].mean(axis=1)
    assert theirs["edge_index"].shape[1] == ours.nnz
    assert np.allclose(ours[theirs["edge_index"][0], theirs["edge_index"][1]], weight / weight.max(), rtol=1e-6)


def test_from_the_publishers_archive_to_the_papers_nodes(content, cache, monkeypatch):
    """The archive, put there by hand, is converted and kept; the paper's first nodes are loaded."""
    place = cache / "downloads" / "ogbn_proteins" / "proteins.zip"
    place.parent.mkdir(parents=True)
    place.write_bytes(archive(content))
    with pytest.raises(InputError, match=r"labels of ogbn-proteins have shape \(12, 112\), expected \(132534, 112\)"):
        load_dataset("ogbn-proteins")
    monkeypatch.setattr(originals, "OGBN_PROTEINS_LABELS", (N, LABELS))
    monkeypatch.setattr("s2gnn.data.loading.PAPER_PROTEINS", 9)
    dataset = load_dataset("ogbn-proteins")
    assert dataset.graph.n_nodes == len(dataset.y) == 9
    assert dataset.source == "cache: ogbn_proteins/ogbn_proteins.npz (from snap.stanford.edu, unverified)"
    assert not place.exists()
    assert load_dataset("ogbn-proteins").graph == dataset.graph


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda raw: (raw / "edge-feat.csv.gz").unlink(), "has no edge-feat.csv.gz: give a folder in the layout"),
        (lambda raw: _write(raw / "node-label.csv.gz", "0,1\n"), "node-label.csv.gz has 1 rows, expected 12"),
        (lambda raw: _write(raw / "node-label.csv.gz", "2,1\n" * N), "has 12 rows, expected 12 of 0 and 1"),
        (lambda raw: _write(raw / "edge-feat.csv.gz", "-0.5,1\n" * 20), "rows of associations >= 0"),
    ],
)
def test_damaged_folders(folder, change, text):
    change(folder / "raw")
    with pytest.raises(InputError, match=text):
        load_ogbn_proteins(folder)


def _write(path, text):
    path.write_bytes(gzip.compress(text.encode()))


def test_another_archive_and_a_missing_package(tmp_path, monkeypatch):
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as found:
        found.writestr("cora/raw/edge.csv.gz", b"")
    with pytest.raises(InputError, match=r"other\.zip has 0 files raw/edge-feat\.csv\.gz, expected one"):
        read_archive(path)
    monkeypatch.setitem(__import__("sys").modules, "ogb.io.read_graph_raw", None)
    with pytest.raises(InputError, match=r"install it with pip install 's2gnn\[ogb\]'"):
        load_ogbn_proteins(tmp_path)


def test_the_entry_says_what_the_paper_used():
    found = CATALOGUE["ogbn-proteins"]
    assert (found.rows, found.published.edges, found.kind) == (30_000, 13_251_798, "given")
