import numpy as np
import pytest
import scipy.sparse as sp

from s2gnn import InputError, knn_graph
from s2gnn.data import CATALOGUE, load_dataset
from s2gnn.graphs import node_homophily

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
