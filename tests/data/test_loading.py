import io
import tarfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from s2gnn import InputError, knn_graph
from s2gnn.data import CATALOGUE, load_dataset
from s2gnn.data.loading import GROUPS, interaction_features, read_posts, term_weights
from s2gnn.graphs import node_homophily
from tests.random_graphs import graphs

CLASS_SIZES = {
    "cancer-b": [625] * 2,
    "cancer-m": [625] * 8,
    "cora": [351, 217, 418, 818, 426, 298, 180],
    "citeseer": [264, 590, 668, 701, 596, 508],
    "pubmed": [4103, 7739, 7875],
    "digits": [178, 182, 177, 183, 181, 182, 181, 179, 174, 180],
}


# ogbn-proteins is not among the real data; tests/data/test_ogbn_proteins.py loads a small one. Of many graphs:
# tests/data/test_tu.py.
@pytest.mark.parametrize(
    "name", [name for name, found in CATALOGUE.items() if found.task == "nodes" and name != "ogbn-proteins"]
)
def test_shapes_types_and_classes(data_folder, name):
    found, dataset = CATALOGUE[name], load_dataset(name)
    assert dataset.name == name
    assert dataset.x.shape == (found.rows, found.features)
    assert dataset.x.dtype == np.float64
    assert isinstance(dataset.x, sp.csr_array if name in ("20news", "cora", "citeseer", "pubmed") else np.ndarray)
    assert dataset.y.dtype == np.int64
    assert len(dataset.class_names) == found.classes
    assert (dataset.graph is not None) == (found.kind in ("diffusion", "given"))
    if not dataset.several_labels:
        assert np.array_equal(np.unique(dataset.y), np.arange(found.classes))
    if name in CLASS_SIZES:
        assert np.bincount(dataset.y).tolist() == CLASS_SIZES[name]
    assert (~dataset.labelled).sum() == {"citeseer": 15, "ppi-human": 2_602}.get(name, 0)


# Homophily at k = 10 and at the paper's k as the paper has them, though its rows are not known: between draws it
# varies by up to 0.025. Edges at the paper's k: HAR and Isolet as the paper has them; 20News has some 58,800 whatever
# the draw, 6 % fewer than the paper.
@pytest.mark.parametrize(
    ("name", "homophily", "edges"),
    [
        ("har", {10: 0.8849, 40: 0.8007}, 87_032),
        ("isolet", {10: 0.7346, 20: 0.6851}, 43_330),
        ("20news", {10: 0.5557, 30: 0.4615}, 58_800),
    ],
)
def test_drawn_rows_have_the_homophily_of_the_paper(data_folder, name, homophily, edges):
    dataset = load_dataset(name)
    graphs = {k: knn_graph(dataset.x, k) for k in homophily}
    for k, published in homophily.items():
        assert node_homophily(graphs[k], dataset.y) == pytest.approx(published, abs=0.015)
    assert graphs[CATALOGUE[name].k].n_edges == pytest.approx(edges, rel=0.01)


@pytest.mark.parametrize("name", ["har", "isolet"])
def test_the_draw_takes_training_rows_and_does_not_depend_on_their_order(
    data_folder, cache, tmp_path, monkeypatch, name
):
    with np.load(data_folder / name / f"{name}.npz", allow_pickle=False) as archive:
        stored = {key: archive[key] for key in ("X", "y", "is_test", "label_names")}
    monkeypatch.setenv("S2GNN_DATA", str(data_folder))
    dataset = load_dataset(name)
    training = {
        x.tobytes(): y for x, y in zip(stored["X"][~stored["is_test"]], stored["y"][~stored["is_test"]], strict=True)
    }
    drawn = [training[x.astype(np.float32).tobytes()] for x in dataset.x]
    assert np.array_equal(drawn, dataset.y)
    assert len(np.unique(dataset.x, axis=0)) == 3_000

    shuffled = np.random.default_rng(1).permutation(len(stored["y"]))
    for key in ("X", "y", "is_test"):
        stored[key] = stored[key][shuffled]
    (tmp_path / name).mkdir()
    np.savez(tmp_path / name / f"{name}.npz", **stored)
    monkeypatch.setenv("S2GNN_DATA", str(tmp_path))
    again = load_dataset(name)
    assert np.array_equal(again.x, dataset.x)
    assert np.array_equal(again.y, dataset.y)


def test_bags_of_words_are_as_published(data_folder):
    for name, empty in (("cora", 0), ("citeseer", 15)):
        dataset = load_dataset(name)
        sums = dataset.x.sum(axis=1)
        assert np.sum(sums == 0) == empty
        assert set(dataset.x.data.tolist()) == {1.0}
        assert np.array_equal(sums > 0, dataset.labelled)


def test_proteins_are_weighted_and_have_several_labels(data_folder):
    dataset = load_dataset("ppi-human")
    assert dataset.graph.n_edges == 545_673
    assert len(np.unique(dataset.graph.weights)) > 1_000
    assert set(np.unique(dataset.y)) == {0, 1}
    assert np.allclose(dataset.x.mean(axis=0), 0, atol=1e-9)
    assert np.allclose(dataset.x.std(axis=0), 1)
    assert not dataset.y[~dataset.labelled].any()
    assert dataset.class_names[0] == "GO:0042592"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("isolet", {"X": np.ones((1, 2), np.float32)}),
        ("isolet", {"y": np.array(["a"] * 5)}),
        ("isolet", {"is_test": np.ones(5, bool)}),
        ("cora", {"x_indptr": np.array([0, 5, 2, 5])}),
        ("cora", {"x_indices": np.array([0, 1, 2, 3, 9])}),
        ("cora", {"x_shape": np.array(3)}),
        ("cora", {"unlabelled": np.array([7])}),
    ],
)
def test_files_whose_arrays_do_not_fit(cache, tmp_path, monkeypatch, name, change):
    rows = {"X": np.ones((5, 2), np.float32), "y": np.zeros(5, np.int8), "is_test": np.zeros(5, bool)}
    words = {
        "x_data": np.ones(5),
        "x_indices": np.arange(5),
        "x_indptr": np.array([0, 2, 4, 5]),
        "x_shape": np.array([3, 5]),
    }
    edges = {"edge_index": np.array([[0, 1], [1, 0]]), "y": np.zeros(3, int), "unlabelled": np.array([2])}
    arrays = rows | {"label_names": np.array(["a"])} if name == "isolet" else words | edges
    path = tmp_path / CATALOGUE[name].file
    path.parent.mkdir()
    monkeypatch.setenv("S2GNN_DATA", str(tmp_path))
    np.savez(path, **{**arrays, **change})
    with pytest.raises(InputError, match=rf"{path.name} is not the file of {name}|a sparse matrix|its indptr"):
        load_dataset(name)


def test_unknown_names_and_damaged_files(cache, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="there is no data set 'mnist': choose from cancer-b, cancer-m, 20news"):
        load_dataset("mnist")
    monkeypatch.setenv("S2GNN_DATA", str(tmp_path))
    for name, message in (("cora", "is damaged or lacks one of"), ("20news", "is damaged or not 20news-bydate")):
        path = tmp_path / CATALOGUE[name].file
        path.parent.mkdir()
        path.write_bytes(b"nonsense")
        with pytest.raises(InputError, match=message):
            load_dataset(name)


def archive(path, posts):
    with tarfile.open(path, "w:gz") as tar:
        for name, text in posts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))


def test_training_posts_of_the_ten_groups_in_order(tmp_path):
    path = tmp_path / "news.tar.gz"
    archive(
        path,
        {
            "20news-bydate-train/sci.space/2": b"moon",
            "20news-bydate-train/sci.space/1": b"caf\xe9",
            "20news-bydate-train/alt.atheism/1": b"another group",
            "20news-bydate-test/sci.space/3": b"of the test part",
            "20news-bydate-train/comp.graphics/9": b"From: me\n\npixels",
        },
    )
    texts, y = read_posts(path)
    assert texts == ["From: me\n\npixels", "café", "moon"]
    assert [GROUPS[group] for group in y] == ["comp.graphics", "sci.space", "sci.space"]


def test_archives_without_posts(tmp_path):
    path = tmp_path / "news.tar.gz"
    archive(path, {"readme": b""})
    with pytest.raises(InputError, match="has no posts in 20news-bydate-train"):
        read_posts(path)
    archive(path, {"20news-bydate-train/sci.space/1": np.random.default_rng(0).bytes(100_000)})
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(InputError, match="is damaged or not 20news-bydate"):
        read_posts(path)


def test_the_real_archive(data_folder):
    texts, y = read_posts(data_folder / "news20" / "20news-bydate.tar.gz")
    assert np.bincount(y).tolist() == [584, 591, 590, 578, 594, 598, 595, 591, 594, 593]
    assert sum(text.startswith(("From:", "Subject:")) for text in texts) > 5_800  # with headers


def test_term_weights_are_those_of_the_formula():
    texts = ["the moon moon moon rises", "a red moon", "red red planet", "planet earth"]
    weights = term_weights(texts)
    terms = sorted({"moon", "rises", "red", "planet", "earth"})
    counts = np.array([[text.split().count(term) for term in terms] for text in texts])
    frequency = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0)
    rarity = np.log((1 + len(texts)) / (1 + (counts > 0).sum(axis=0))) + 1
    expected = frequency * rarity
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.allclose(weights.toarray(), expected)


@given(graphs())
def test_interaction_features_against_numpy_node_by_node(g):
    features = interaction_features(g)
    assert features.shape == (g.n_nodes, 8)
    for node in range(g.n_nodes):
        weights = g.weights[g.indptr[node] : g.indptr[node + 1]]
        expected = np.zeros(8)
        if len(weights):
            quantiles = np.quantile(weights, [0, 0.2, 0.4, 0.6, 0.8, 1])
            expected = np.r_[np.log(1 + len(weights)), weights.sum(), quantiles]
        assert np.allclose(features[node], expected)
