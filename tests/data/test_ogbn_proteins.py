import gzip
import io
import zipfile

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data import load_dataset, load_ogbn_proteins, originals

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


def test_weights_features_and_labels_are_those_of_the_files(content, folder):
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
    raw_reader = pytest.importorskip("ogb.io.read_graph_raw", reason="needs ogb: pip install 's2gnn[ogb]'")
    (theirs,) = raw_reader.read_csv_graph_raw(str(folder / "raw"), add_inverse_edge=True)
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
    ("name", "table", "text"),
    [
        ("edge-feat", None, r"edge-feat\.csv\.gz cannot be read .*: give a folder in the layout of OGB's"),
        ("edge", "\n", r"edge\.csv\.gz cannot be read"),
        ("node-label", "0,1\n", r"does not have pairs of 1 nodes in edge\.csv\.gz"),
        ("node-label", "2,1\n" * N, r"and 0 or 1 in node-label\.csv\.gz"),
        ("edge-feat", "-0.5,1\n" * 20, "does not have 20 rows of associations >= 0"),
    ],
)
def test_damaged_folders(folder, name, table, text):
    path = folder / "raw" / f"{name}.csv.gz"
    path.unlink()
    if table:
        path.write_bytes(gzip.compress(table.encode()))
    with pytest.raises(InputError, match=text):
        load_ogbn_proteins(folder)
